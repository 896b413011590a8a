"""Picture cards of 1200 x 630 pixels, the size that other sites show beside a link."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageDraw

from games.board_frames import BoardFrame
from workers.pictures.board_drawing import draw_board, seat_colour
from workers.pictures.lettering import draw_text, font, join_titles

SIZE: Final = (1200, 630)
MARGIN: Final = 40
BOARD: Final = (560, 550)
PAPER: Final = "#ffffff"
INK: Final = "#11212a"
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
    """What a card says."""

    above: str
    title: str
    lines: Sequence[CardLine]
    below: str
    board: BoardFrame | None = None
    within: Sequence[str] = ()
    """Titles before ``above``, such as those of league and tournament."""


def draw_card(card: Card) -> bytes:
    """The card as PNG."""
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
