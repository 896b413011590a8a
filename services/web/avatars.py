"""Draws a small picture for a name: the same name always gives the same picture."""

from __future__ import annotations

import hashlib
from typing import Final

from markupsafe import Markup

SIDE: Final = 5
HUES: Final = 24


def draw_avatar(name: str) -> Markup:
    """A symmetric pattern of squares as SVG, for agents and teams. Hidden from screen readers."""
    digest = hashlib.sha256(name.encode()).digest()
    hue = digest[0] % HUES
    half = (SIDE + 1) // 2
    cells = [
        (column, row)
        for row in range(SIDE)
        for column in range(SIDE)
        if digest[1 + row * half + min(column, SIDE - 1 - column)] % 2
    ]
    path = "".join(f"M{column} {row}h1v1h-1z" for column, row in cells)
    return Markup(
        '<svg class="avatar hue-{}" viewBox="-1 -1 7 7" aria-hidden="true">'
        '<rect x="-1" y="-1" width="7" height="7"/><path d="{}"/></svg>'
    ).format(hue, path)
