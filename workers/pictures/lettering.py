"""Text on pictures: the font, and names cut to the room that there is."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from PIL import ImageDraw, ImageFont

FONTS: Final = (
    ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("/usr/share/fonts/dejavu/DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
)
"""Regular and bold, where the machine has them. Pillow's own font has Latin letters alone."""
MOST_CHARACTERS: Final = 200


@cache
def font(size: int, *, is_bold: bool = False) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font in this size in pixels."""
    for regular, bold in FONTS:
        path = Path(regular).with_name(bold) if is_bold else Path(regular)
        if path.is_file():
            return ImageFont.truetype(path, size)
    return ImageFont.load_default(size)


def clean(text: str) -> str:
    """The text on one line, without characters that draw nothing or turn the direction."""
    short = "".join(
        " " if unicodedata.category(one).startswith("Z") else one
        for one in text[:MOST_CHARACTERS]
        if not unicodedata.category(one).startswith("C")
    )
    return " ".join(short.split())


def draw_text(
    pen: ImageDraw.ImageDraw,
    place: tuple[int, int],
    text: str,
    *,
    size: int,
    room: int,
    colour: str,
    is_bold: bool = False,
    lines: int = 1,
) -> int:
    """Draws the text in ``lines`` lines of at most ``room`` pixels. Returns the y below."""
    chosen = font(size, is_bold=is_bold)
    x, y = place
    for line in _wrap(clean(text), _fitting(pen, chosen, room), lines):
        pen.text((x, y), line, fill=colour, font=chosen)
        y += round(size * 1.25)
    return y


def join_titles(
    pen: ImageDraw.ImageDraw, titles: Sequence[str], *, size: int, room: int, lines: int
) -> str:
    """Joins the titles with commas. Cuts the longest ones until the text fits.

    Never cuts the last one.
    """
    *first, last = map(clean, titles)
    fits = _fitting(pen, font(size), room)

    def cut(most: int) -> str:
        short = [one if len(one) <= most else f"{one[:most].rstrip()}…" for one in first]
        return ", ".join(one for one in (*short, last) if one)

    def is_too_long(most: int) -> bool:
        return " ".join(_wrap(clean(cut(most)), fits, lines)) != cut(most)

    sizes = range(1, max(map(len, first), default=1) + 1)
    return cut(max(1, bisect_left(sizes, True, key=is_too_long)))


def _fitting(
    pen: ImageDraw.ImageDraw, chosen: ImageFont.FreeTypeFont | ImageFont.ImageFont, room: int
) -> Callable[[str], bool]:
    """Returns a function that says whether a text fits on one line."""
    return lambda text: pen.textlength(text, font=chosen) <= room


def _wrap(text: str, fits: Callable[[str], bool], lines: int) -> list[str]:
    found: list[str] = []
    words = text.split(" ")
    while words and len(found) < lines:
        line = words.pop(0)
        while words and fits(f"{line} {words[0]}"):
            line = f"{line} {words.pop(0)}"
        found.append(line)
    if words:
        found[-1] = f"{found[-1]} {words[0]}…"
    return [line if fits(line) else _cut(line, fits) for line in found]


def _cut(line: str, fits: Callable[[str], bool]) -> str:
    while len(line) > 1 and not fits(f"{line}…"):
        line = line[:-1]
    return f"{line.rstrip('…')}…"
