"""Makes slugs from names."""

from __future__ import annotations

import re
import unicodedata


def slug_of(name: str, most: int = 40) -> str:
    """The slug of a name, of at most ``most`` characters: ``Über Goose`` becomes ``uber-goose``.

    Empty if the name has no Latin letters or digits.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:most].strip("-")
