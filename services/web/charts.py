"""Charts as SVG from the server: lines over time, rating curves, placements by seat, slowest moves.

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

from estimates.intervals import half_width
from ladder.reports.season_charts import MoveTime, SeatResults
from services.web import formatting
from services.web.formatting import plural, score_text, seconds_text


def curve_label(matches: int, first: float, last: float, margin: float) -> str:
    """The description of a rating curve for screen readers. All but ``matches`` in points."""
    return (
        f"Rating over {plural(matches, 'match', 'matches')}: from {score_text(first)} to "
        f"{score_text(last)}, now plus or minus {score_text(margin)}."
    )


def lines_label(what: str, names: list[str]) -> str:
    """The description of a chart of lines for screen readers."""
    return f"{what} over time of {', '.join(names)}. The table below has the numbers."


def seats_label(seats: int) -> str:
    """The description of the chart of seats for screen readers."""
    return f"Placements in each of {plural(seats, 'seat')}. The table below has the numbers."


def seat_text(seat: int) -> str:
    """The name of a seat; people count from 1."""
    return f"Seat {seat + 1}"


def place_share_text(seat: int, place: int, count: int, games: int) -> str:
    """What a part of a seat's bar shows."""
    return f"{seat_text(seat)}, place {place}: {count:,} of {games:,} ({count / games:.0%})"


def move_times_label(matches: int, slowest: float, free: float) -> str:
    """The description of the chart of slowest moves for screen readers. Times in seconds."""
    return (
        f"Slowest move of each of {plural(matches, 'match', 'matches')}: at most "
        f"{seconds_text(slowest)}, {seconds_text(free)} a move are free."
        " The table below has the numbers."
    )


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The rating after one match, in points of the leaderboard."""

    score: float
    sigma: float
    change: float
    match_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class DrawingFrame:
    """Size and margins of a drawing, in its own pixels."""

    width: int
    height: int
    name: str
    left: int = 46
    right: int = 14
    top: int = 12
    bottom: int = 26


MOST_LINES: Final = 8
"""Lines that the style sheet tells apart."""
LETTERS: Final = "ABCDEFGH"
LARGE: Final = DrawingFrame(760, 280, "large", left=56, right=30)
SMALL: Final = DrawingFrame(340, 230, "small", left=56, right=24)
CURVE_LARGE: Final = DrawingFrame(760, 250, "large")
CURVE_SMALL: Final = DrawingFrame(340, 210, "small", left=40, right=8)
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
    label = lines_label(what, [line.name for line in lines if line.points])
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
    label = seats_label(len(rows))
    return Markup("").join(_draw_seats(rows, label, frame) for frame in (BARS_LARGE, BARS_SMALL))


def _draw_seats(rows: Sequence[SeatResults], label: str, frame: DrawingFrame) -> Markup:
    inner_width = frame.width - frame.left - frame.right
    parts = [_open_drawing(frame, frame.top + BAR * len(rows), label)]
    for number, row in enumerate(rows):
        top = frame.top + BAR * number
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
                frame.left - 8, top + 14, seat_text(row.seat)
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
                    place_share_text(row.seat, place, count, row.games),
                )
            )
            at += width
    return Markup("").join([*parts, Markup("</svg>")])


def draw_move_times(rows: Sequence[MoveTime], free_seconds: float) -> Markup:
    """A dot for the slowest move of each match, and a line at the free time of a move."""
    label = move_times_label(len(rows), max(row.slowest_seconds for row in rows), free_seconds)
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


def draw_curves(points: Sequence[CurvePoint], start: CurvePoint) -> Markup:
    """Two drawings of the same curve, for wide and for narrow windows. The style sheet shows one.

    ``start`` is the rating before the first point.
    """
    return Markup("").join(
        _draw_curve(points, start, frame) for frame in (CURVE_LARGE, CURVE_SMALL)
    )


def axis_ticks(low: float, high: float) -> list[float]:
    """About four round values between ``low`` and ``high``."""
    step = 10 ** math.floor(math.log10(max(high - low, 1) / 4))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (step * factor) <= 4)
    first = math.ceil(low / step)
    return [index * step for index in range(first, math.floor(high / step) + 1)]


def _draw_curve(points: Sequence[CurvePoint], start: CurvePoint, frame: DrawingFrame) -> Markup:
    line = [start, *points]
    low = min(point.score - half_width(point.sigma) for point in line)
    high = max(point.score + half_width(point.sigma) for point in line)
    inner_width = frame.width - frame.left - frame.right
    inner_height = frame.height - frame.top - frame.bottom

    def x(index: float) -> float:
        return round(frame.left + inner_width * index / max(1, len(line) - 1), 1)

    def y(value: float) -> float:
        return round(frame.top + inner_height * (high - value) / max(high - low, 1), 1)

    def path(values: Sequence[tuple[int, float]]) -> str:
        return " ".join(f"{x(index)},{y(value)}" for index, value in values)

    upper = [(index, point.score + half_width(point.sigma)) for index, point in enumerate(line)]
    lower = [(index, point.score - half_width(point.sigma)) for index, point in enumerate(line)]
    middle = [(index, point.score) for index, point in enumerate(line)]
    last = line[-1]
    label = curve_label(len(points), start.score, last.score, half_width(last.sigma))
    parts = [
        Markup('<svg class="curve {}" viewBox="0 0 {} {}" role="group" aria-label="{}">').format(
            frame.name, frame.width, frame.height, label
        )
    ]
    for value in axis_ticks(low, high):
        parts.append(
            Markup(
                '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
                '<text x="{}" y="{}" text-anchor="end">{}</text>'
            ).format(
                frame.left,
                frame.width - frame.right,
                y(value),
                y(value),
                frame.left - 8,
                y(value) + 4,
                formatting.score_text(value),
            )
        )
    parts.append(Markup('<polygon class="band" points="{}"/>').format(path(upper + lower[::-1])))
    parts.append(Markup('<polyline class="line" points="{}"/>').format(path(middle)))
    width = max(4.0, min(24.0, inner_width / len(line)))
    for index, point in enumerate(points, start=1):
        title = (
            f"Match {index}, {formatting.date_text(point.at)}:"
            f" {formatting.score_text(point.score)} "
            f"± {formatting.score_text(half_width(point.sigma))} ({point.change:+.0f})"
        )
        parts.append(
            Markup(
                '<a href="/matches/{}" tabindex="-1" aria-hidden="true"><rect class="hit" x="{}"'
                ' y="{}" width="{}" height="{}" rx="3"><title>{}</title></rect></a>'
            ).format(
                point.match_id,
                round(x(index) - width / 2, 1),
                frame.top,
                round(width, 1),
                inner_height,
                title,
            )
        )
    end = len(line) - 1
    parts.append(
        Markup('<circle class="last" cx="{}" cy="{}" r="4.5"/>').format(x(end), y(last.score))
    )
    foot = frame.height - 7
    parts.append(Markup('<text x="{}" y="{}">start</text>').format(frame.left, foot))
    parts.append(
        Markup('<text x="{}" y="{}" text-anchor="end">{}</text></svg>').format(
            frame.width - frame.right, foot, formatting.plural(len(points), "match", "matches")
        )
    )
    return Markup("").join(parts)
