"""Makes slugs from names, and compares names."""

from __future__ import annotations

import re
import unicodedata


def slug_of(name: str, most: int = 40) -> str:
    """The slug of a name, of at most ``most`` characters: ``Über Goose`` becomes ``uber-goose``.

    Empty if the name has no Latin letters or digits.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:most].strip("-")


def is_named(name: str, text: str) -> bool:
    """Whether the text is this name. Ignores case; ``a_b`` equals ``a-b``."""
    slug = slug_of(text)
    return name.lower() == text.lower() or (slug != "" and slug == slug_of(name))
