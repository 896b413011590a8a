"""Draws a frame as a picture with Pillow, in the colours of the site's player."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from PIL import Image, ImageDraw

from games.board_frames import BoardFrame, Cell, Token

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
    """The colour of a seat, or of a thing that belongs to nobody."""
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
