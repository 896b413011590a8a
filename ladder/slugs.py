"""Makes slugs from names, and compares names.

Keyboards and systems write ``É`` as one character or as two. Stored texts have one (NFC).
"""

from __future__ import annotations

import re
import unicodedata


def normal_text(text: str) -> str:
    """The form in which names are stored: each letter with its accents is one character."""
    return unicodedata.normalize("NFC", text)


def normal_cell(text: str) -> str:
    """The form in which values of a table are stored: also with one kind of space between words."""
    return " ".join(normal_text(text).split())


def name_key(name: str) -> str:
    """The same text for spellings of one name.

    Case, width and composition of letters do not count, nor do the kind and number of spaces.
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return normal_cell(unicodedata.normalize("NFKC", folded))


def slug_of(name: str, most: int = 40) -> str:
    """The slug of a name, of at most ``most`` characters: ``Über Goose`` becomes ``uber-goose``.

    Empty if the name has no Latin letters or digits.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:most].strip("-")


def is_named(name: str, text: str) -> bool:
    """Whether the text is this name. Ignores case; ``a_b`` equals ``a-b``."""
    slug = slug_of(text)
    return name_key(name) == name_key(text) or (slug != "" and slug == slug_of(name))
