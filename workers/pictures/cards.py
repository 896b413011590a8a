"""Draws picture cards of 1200 x 630 pixels, the size that other sites show beside a link.

Text has one font, and names are cut to the room that there is. A frame is drawn with Pillow, in the
colours of the site's player.
"""

from __future__ import annotations

import io
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from games.frames import BoardFrame, Cell, Token

FONTS: Final = (
    ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("/usr/share/fonts/dejavu/DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
)
"""Regular and bold, where the machine has them. Pillow's own font has Latin letters alone."""
MOST_CHARACTERS: Final = 200


@cache
def font(size: int, *, is_bold: bool = False) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
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


SEATS: Final = (
    *("#0072b2", "#d55e00", "#009e73", "#b8548b"),
    *("#56b4e9", "#e69f00", "#6f6f6f", "#8c6d00"),
)
"""By seat, the colours of player.css."""
NOBODY: Final = "#50636e"
GROUND: Final = "#e3f0f3"
TILE: Final = "#d9eaee"
EDGE: Final = "#9cbcc6"
WHITE: Final = "#ffffff"
INK: Final = "#11212a"
BAD: Final = "#a92a22"
HAZARD: Final = "#d9b3b3"
Point = tuple[float, float]


def seat_colour(seat: int | None) -> str:
    return NOBODY if seat is None else SEATS[seat % len(SEATS)]


def draw_board(frame: BoardFrame, width: int, height: int, smooth: int = 2) -> Image.Image:
    """The board as a picture of at most this size in pixels; ``smooth`` times finer before."""
    cell = max(1, min(width * smooth // frame.columns, height * smooth // frame.rows))
    size = (cell * frame.columns, cell * frame.rows)
    picture = Image.new("RGB", size, GROUND)
    pen = ImageDraw.Draw(picture)
    for row in range(frame.rows):
        for column in range((row + 1) % 2, frame.columns, 2):
            pen.rectangle(_box((column, row), cell, 0), fill=TILE)
    for token in frame.tokens:
        _draw_token(pen, frame, token, cell)
    pen.rectangle((0, 0, size[0] - 1, size[1] - 1), outline=EDGE, width=max(1, smooth))
    if smooth == 1:
        return picture
    return picture.resize((size[0] // smooth, size[1] // smooth), Image.Resampling.BOX)


def _draw_token(pen: ImageDraw.ImageDraw, frame: BoardFrame, token: Token, cell: int) -> None:
    colour = seat_colour(token.seat)
    if token.shape == "body":
        _draw_body(pen, frame, token, cell)
        return
    place = token.cells[0]
    match token.shape:
        case "food":
            pen.ellipse(_box(place, cell, 0.24), fill="#f0e442", outline="#6b6100", width=2)
        case "hazard":
            pen.rectangle(_box(place, cell, 0), fill=HAZARD)
        case "wall":
            pen.rectangle(_box(place, cell, 0), fill=NOBODY)
        case "square":
            pen.rectangle(_box(place, cell, 0.16), fill=colour)
        case "ring":
            pen.ellipse(_box(place, cell, 0.12), outline=colour, width=max(2, cell // 9))
        case "cross":
            left, top, right, bottom = _box(place, cell, 0.25)
            thick = max(2, cell // 9)
            pen.line((left, top, right, bottom), fill=BAD, width=thick)
            pen.line((left, bottom, right, top), fill=BAD, width=thick)
        case _:
            pen.ellipse(_box(place, cell, 0.12), fill=colour)
    if token.text:
        ink = WHITE if token.shape in ("disc", "square", "wall") else INK
        middle = ((place[0] + 0.5) * cell, (place[1] + 0.5) * cell)
        pen.text(middle, token.text, fill=ink, anchor="mm", font_size=cell * 0.4)


def _draw_body(pen: ImageDraw.ImageDraw, frame: BoardFrame, token: Token, cell: int) -> None:
    for thick, colour in ((0.78, WHITE), (0.64, seat_colour(token.seat))):
        radius = thick * cell / 2
        for start, end in _segments(frame, token.cells, cell):
            pen.line((start, end), fill=colour, width=max(1, round(2 * radius)))
        for part in token.cells:
            _disc(pen, _middle(part, cell), radius, colour)
    head = _middle(token.cells[0], cell)
    _disc(pen, head, 0.42 * cell, WHITE)
    _disc(pen, head, 0.37 * cell, seat_colour(token.seat))
    across, down = _direction(frame, token.cells)
    for side in (-1, 1):
        eye = (
            head[0] + cell * (0.12 * across - side * 0.17 * down),
            head[1] + cell * (0.12 * down + side * 0.17 * across),
        )
        _disc(pen, eye, 0.11 * cell, WHITE)
        _disc(pen, (eye[0] + 0.04 * cell * across, eye[1] + 0.04 * cell * down), 0.055 * cell, INK)


def _segments(frame: BoardFrame, cells: Sequence[Cell], cell: int) -> Iterator[tuple[Point, Point]]:
    """Lines between neighbours. A step over an edge is drawn up to the edge on both sides."""
    for index in range(1, len(cells)):
        before, after = cells[index - 1], cells[index]
        step = _step(frame, before, after)
        start, end = _middle(before, cell), _middle(after, cell)
        if step == (after[0] - before[0], after[1] - before[1]):
            yield start, end
        else:
            yield start, (start[0] + step[0] * cell, start[1] + step[1] * cell)
            yield end, (end[0] - step[0] * cell, end[1] - step[1] * cell)


def _direction(frame: BoardFrame, cells: Sequence[Cell]) -> Cell:
    """Where the head looks: away from the next cell, or upwards."""
    if len(cells) < 2 or cells[0] == cells[1]:
        return 0, -1
    return _step(frame, cells[1], cells[0])


def _step(frame: BoardFrame, start: Cell, end: Cell) -> Cell:
    """One step from a cell to its neighbour, over an edge if need be."""

    def fold(difference: int, size: int) -> int:
        if size > 2 and abs(difference) == size - 1:
            return -1 if difference > 0 else 1
        return difference

    return fold(end[0] - start[0], frame.columns), fold(end[1] - start[1], frame.rows)


def _middle(place: Cell, cell: int) -> Point:
    return (place[0] + 0.5) * cell, (place[1] + 0.5) * cell


def _box(place: Cell, cell: int, inset: float) -> tuple[float, float, float, float]:
    left, top, gap = place[0] * cell, place[1] * cell, inset * cell
    return left + gap, top + gap, left + cell - 1 - gap, top + cell - 1 - gap


def _disc(pen: ImageDraw.ImageDraw, middle: Point, radius: float, colour: str) -> None:
    x, y = middle
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


SIZE: Final = (1200, 630)
MARGIN: Final = 40
BOARD: Final = (560, 550)
PAPER: Final = "#ffffff"
MUTED: Final = "#50636e"
ACCENT: Final = "#0a666e"
MOST_LINES: Final = 6
LINE: Final = 46
BELOW: Final = SIZE[1] - 76
"""Top of the last line."""


@dataclass(frozen=True, slots=True)
class CardLine:
    """A line of a card: an agent with what it has."""

    name: str
    beside: str = ""
    """Such as a score, at the right end."""
    seat: int | None = None
    """Its seat, whose colour marks the line."""


@dataclass(frozen=True, slots=True)
class Card:
    above: str
    title: str
    lines: Sequence[CardLine]
    below: str
    board: BoardFrame | None = None
    within: Sequence[str] = ()
    """Titles before ``above``, such as those of league and tournament."""


def draw_card(card: Card) -> bytes:
    picture = Image.new("RGB", SIZE, PAPER)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, SIZE[0], 12), fill=ACCENT)
    left = MARGIN
    if card.board is not None and card.board.columns:
        board = draw_board(card.board, *BOARD)
        top = 12 + (SIZE[1] - 12 - board.height) // 2
        picture.paste(board, (MARGIN, top))
        left += board.width + MARGIN
    room = SIZE[0] - left - MARGIN
    above = join_titles(pen, (*card.within, card.above), size=26, room=room, lines=2)
    y = draw_text(pen, (left, 52), above, size=26, room=room, colour=MUTED, lines=2)
    y = draw_text(
        pen, (left, y + 8), card.title, size=44, room=room, colour=INK, is_bold=True, lines=3
    )
    y += 18
    for line in card.lines[: min(MOST_LINES, (BELOW - y) // LINE)]:
        indent = 0
        if line.seat is not None:
            pen.rounded_rectangle(
                (left, y + 5, left + 34, y + 25), radius=10, fill=seat_colour(line.seat)
            )
            indent = 50
        wide = pen.textlength(line.beside, font=font(28, is_bold=True))
        beside = round(wide) + 30 if line.beside else 0
        draw_text(
            pen, (left + indent, y), line.name, size=28, room=room - indent - beside, colour=INK
        )
        if line.beside:
            draw_text(
                pen,
                (left + room - beside + 30, y),
                line.beside,
                size=28,
                room=beside,
                colour=ACCENT,
                is_bold=True,
            )
        y += LINE
    draw_text(pen, (left, BELOW), card.below, size=24, room=room, colour=MUTED)
    return to_png(picture)


def to_png(picture: Image.Image) -> bytes:
    """Few colours: a palette makes the file three times smaller."""
    content = io.BytesIO()
    picture.quantize(96, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        content, "PNG", optimize=False, compress_level=6
    )
    return content.getvalue()
