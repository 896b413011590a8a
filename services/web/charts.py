"""Charts as SVG from the server: lines over time, placements by seat, slowest moves.

Each chart comes twice, for wide and for narrow windows; the style sheet shows one. Lines differ by
colour, by dashes and by a letter at their end, so that no reader depends on colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from markupsafe import Markup

from ladder.reports.season_charts import MoveTime, SeatResults
from services.web import chart_texts, formatting
from services.web.rating_curve import DrawingFrame, axis_ticks

MOST_LINES: Final = 8
"""Lines that the style sheet tells apart."""
LETTERS: Final = "ABCDEFGH"
LARGE: Final = DrawingFrame(760, 280, "large", left=56, right=30)
SMALL: Final = DrawingFrame(340, 230, "small", left=56, right=24)
BARS_LARGE: Final = DrawingFrame(760, 0, "large", left=64, top=4)
BARS_SMALL: Final = DrawingFrame(340, 0, "small", left=56, right=8, top=4)
BAR: Final = 26
"""Height of a bar, with the space below it."""
LETTER_SPACE: Final = 13


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a chart. Its place in the list decides its colour and letter."""

    name: str
    points: tuple[tuple[datetime, float], ...]


def draw_lines(lines: Sequence[ChartLine], what: str, *, is_rank: bool = False) -> Markup:
    """Lines over one axis of time. ``is_rank``: the values are ranks, and 1 is at the top."""
    label = chart_texts.lines_label(what, [line.name for line in lines if line.points])
    return Markup("").join(
        _draw_lines(lines, label, frame, is_rank=is_rank) for frame in (LARGE, SMALL)
    )


def _draw_lines(
    lines: Sequence[ChartLine], label: str, frame: DrawingFrame, *, is_rank: bool
) -> Markup:
    every = [point for line in lines for point in line.points]
    first, last = min(at for at, _ in every), max(at for at, _ in every)
    low, high = min(value for _, value in every), max(value for _, value in every)
    pad = 0.5 if is_rank else max(1.0, 0.05 * (high - low))
    low, high = low - pad, high + pad
    inner_width = frame.width - frame.left - frame.right
    inner_height = frame.height - frame.top - frame.bottom
    span = max((last - first).total_seconds(), 1.0)

    def x(at: datetime) -> float:
        return round(frame.left + inner_width * (at - first).total_seconds() / span, 1)

    def y(value: float) -> float:
        part = (value - low) / (high - low) if is_rank else (high - value) / (high - low)
        return round(frame.top + inner_height * part, 1)

    parts = [_open_drawing(frame, frame.height, label)]
    for value in rank_ticks(low, high) if is_rank else axis_ticks(low, high):
        parts.append(_grid_line(frame, y(value), formatting.score_text(value)))
    ends: list[tuple[float, int]] = []
    for place, line in enumerate(lines[:MOST_LINES]):
        if not line.points:
            continue
        path = " ".join(f"{x(at)},{y(value)}" for at, value in line.points)
        parts.append(Markup('<polyline class="series-{}" points="{}"/>').format(place, path))
        at, value = line.points[-1]
        parts.append(
            Markup('<circle class="end-{}" cx="{}" cy="{}" r="3.5"/>').format(
                place, x(at), y(value)
            )
        )
        ends.append((y(value), place))
    for height, place in spread_letters(sorted(ends), frame.height - frame.bottom):
        parts.append(
            Markup('<text class="letter-{}" x="{}" y="{}">{}</text>').format(
                place, frame.width - frame.right + 8, round(height + 4, 1), LETTERS[place]
            )
        )
    form = "%H:%M" if last - first < timedelta(days=1) else "%d %b"
    foot = frame.height - 7
    begin = f"{first:{form}}"
    parts.append(Markup('<text x="{}" y="{}">{}</text>').format(frame.left, foot, begin))
    parts.append(
        Markup('<text x="{}" y="{}" text-anchor="end">{} UTC</text></svg>').format(
            frame.width - frame.right, foot, f"{last:{form}}"
        )
    )
    return Markup("").join(parts)


def rank_ticks(low: float, high: float) -> list[float]:
    """Whole ranks between ``low`` and ``high``, with the best one. All of them up to 6."""
    best, worst = math.ceil(low), math.floor(high)
    if worst - best < 6:
        return [float(rank) for rank in range(best, worst + 1)]
    return sorted({float(best), *(tick for tick in axis_ticks(low, high) if tick == round(tick))})


def spread_letters(ends: Sequence[tuple[float, int]], floor: float) -> list[tuple[float, int]]:
    """Moves letters at the ends of lines apart. ``ends`` are heights from top to bottom. Pure."""
    placed: list[tuple[float, int]] = []
    for height, place in ends:
        above = placed[-1][0] + LETTER_SPACE if placed else 0.0
        placed.append((max(height, above), place))
    limit = floor
    for at in range(len(placed) - 1, -1, -1):
        placed[at] = (min(placed[at][0], limit), placed[at][1])
        limit = placed[at][0] - LETTER_SPACE
    return placed


def draw_seats(rows: Sequence[SeatResults]) -> Markup:
    """A bar for each seat: the shares of first, second and further places."""
    label = chart_texts.seats_label(len(rows))
    return Markup("").join(_draw_seats(rows, label, frame) for frame in (BARS_LARGE, BARS_SMALL))


def _draw_seats(rows: Sequence[SeatResults], label: str, frame: DrawingFrame) -> Markup:
    inner_width = frame.width - frame.left - frame.right
    parts = [_open_drawing(frame, frame.top + BAR * len(rows), label)]
    for number, row in enumerate(rows):
        top = frame.top + BAR * number
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
                frame.left - 8, top + 14, chart_texts.seat_text(row.seat)
            )
        )
        at = float(frame.left)
        for place, count in enumerate(row.placements, start=1):
            width = inner_width * count / row.games
            parts.append(
                Markup(
                    '<rect class="place-{}" x="{}" y="{}" width="{}" height="20">'
                    "<title>{}</title></rect>"
                ).format(
                    place,
                    round(at, 1),
                    top,
                    round(max(0.0, width - 1), 1),
                    chart_texts.place_share_text(row.seat, place, count, row.games),
                )
            )
            at += width
    return Markup("").join([*parts, Markup("</svg>")])


def draw_move_times(rows: Sequence[MoveTime], free_seconds: float) -> Markup:
    """A dot for the slowest move of each match, and a line at the free time of a move."""
    label = chart_texts.move_times_label(
        len(rows), max(row.slowest_seconds for row in rows), free_seconds
    )
    return Markup("").join(
        _draw_move_times(rows, free_seconds, label, frame) for frame in (LARGE, SMALL)
    )


def _draw_move_times(
    rows: Sequence[MoveTime], free_seconds: float, label: str, frame: DrawingFrame
) -> Markup:
    high = 1.1 * max(free_seconds, *(row.slowest_seconds for row in rows)) or 1.0
    inner_width = frame.width - frame.left - frame.right
    inner_height = frame.height - frame.top - frame.bottom

    def y(value: float) -> float:
        return round(frame.top + inner_height * (1 - value / high), 1)

    parts = [_open_drawing(frame, frame.height, label)]
    for part in (0.0, 0.5, 1.0):
        value = part * free_seconds
        parts.append(_grid_line(frame, y(value), formatting.seconds_text(value)))
    parts.append(
        Markup('<line class="limit" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            frame.left, frame.width - frame.right, y(free_seconds), y(free_seconds)
        )
    )
    for number, row in enumerate(rows):
        late = row.slowest_seconds > free_seconds
        parts.append(
            Markup(
                '<circle class="move{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>'
            ).format(
                " late" * late,
                round(frame.left + inner_width * (number + 0.5) / len(rows), 1),
                y(row.slowest_seconds),
                4 if late else 3,
                formatting.seconds_text(row.slowest_seconds),
            )
        )
    parts.append(
        Markup('<text x="{}" y="{}">{}</text></svg>').format(
            frame.left, frame.height - 7, formatting.plural(len(rows), "match", "matches")
        )
    )
    return Markup("").join(parts)


def _open_drawing(frame: DrawingFrame, height: int, label: str) -> Markup:
    return Markup('<svg class="curve {}" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        frame.name, frame.width, height, label
    )


def _grid_line(frame: DrawingFrame, height: float, text: str) -> Markup:
    return Markup(
        '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text x="{}" y="{}" text-anchor="end">{}</text>'
    ).format(
        frame.left, frame.width - frame.right, height, height, frame.left - 8, height + 4, text
    )
