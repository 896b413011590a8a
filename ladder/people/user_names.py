"""Checks the names that people choose: reserved names, and names that look like another one."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from confusable_homoglyphs import confusables

from ladder.errors import Invalid

RESERVED: Final = (
    *("admin", "administrator", "anonymous", "everybody", "host", "me", "moderator", "nobody"),
    *("operator", "owner", "peck", "pecking-order", "root", "security", "staff", "support"),
    *("new", "reference agents"),
    *("demo", "player", "system", "team", "user"),
)
SPACES: Final = re.compile(r"[\s._-]+")
SHAPES: Final = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l"})
"""Characters of one shape. A capital I looks like l, so i and l are one in all names."""
LATIN: Final = re.compile(
    r"LATIN (?:SMALL LETTER|CAPITAL LETTER|LETTER SMALL CAPITAL) ([A-Z])(?: WITH .+)?"
)
FILLERS: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
)
"""Characters without a shape that Unicode does not class as formats."""


def look_alike_key(name: str) -> str:
    """Returns the same text for names that people would confuse: ``Аda`` and ``ada``.

    Case, spaces, dots and invisible characters do not count, nor do accents of Latin and Greek
    letters. Letters of other scripts become the Latin letters that they look like (the confusables
    of Unicode TR39). So do small capitals. By the same list ``0`` is o, ``1``, I and l are one, and
    ``rn`` is m.
    """
    shown = "".join(
        character for character in unicodedata.normalize("NFKC", name) if not _is_unseen(character)
    )
    latin = "".join(_latin_letter(character) for character in shown).casefold()
    again = "".join(_latin_letter(_without_accents(character)) for character in latin)
    plain = SPACES.sub("", again).casefold()
    return plain.translate(SHAPES).replace("rn", "m") or shown.casefold()


def refuse_reserved_name(name: str) -> None:
    """Raises Invalid if the name, or one that looks like it, belongs to the service."""
    if look_alike_key(name) in {look_alike_key(reserved) for reserved in RESERVED}:
        raise Invalid("name", f"{name!r} is reserved; choose another name")


def _is_unseen(character: str) -> bool:
    """Whether people do not see this character: formats, variation selectors, fillers."""
    return unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn") or character in FILLERS


def _without_accents(letter: str) -> str:
    """The base of a Latin or Greek letter. In other scripts a mark can make another letter."""
    parts = unicodedata.normalize("NFKD", letter)
    is_plain = unicodedata.name(parts[0], "").startswith(("LATIN", "GREEK"))
    if is_plain and all(unicodedata.combining(mark) for mark in parts[1:]):
        return parts[0]
    return "" if unicodedata.name(letter, "").startswith("COMBINING") else letter


def _latin_letter(letter: str) -> str:
    if letter.isascii():
        return letter
    confusable = confusables.is_confusable(letter, greedy=True, preferred_aliases=[])
    alike = [character["c"] for character in confusable[0]["homoglyphs"]] if confusable else []
    latin = [character for character in alike if character.isascii()]
    names = (
        unicodedata.name(character, "") for character in (letter, *alike) if len(character) == 1
    )
    bases = [base[1].lower() for name in names if (base := LATIN.fullmatch(name))]
    return next(iter((*latin, *bases)), letter)
