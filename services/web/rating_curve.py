"""The rating curve as SVG: a line, a band of two sigmas, and a tooltip for each match."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from estimates.intervals import half_width
from services.web import chart_texts, formatting


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


LARGE = DrawingFrame(760, 250, "large")
SMALL = DrawingFrame(340, 210, "small", left=40, right=8)


def draw_curves(points: Sequence[CurvePoint], start: CurvePoint) -> Markup:
    """Two drawings of the same curve, for wide and for narrow windows. The style sheet shows one.

    ``start`` is the rating before the first point.
    """
    return Markup("").join(_draw_curve(points, start, frame) for frame in (LARGE, SMALL))


def axis_ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """About ``wanted`` round values between ``low`` and ``high``."""
    step = 10 ** math.floor(math.log10(max(high - low, 1) / wanted))
    step *= next(
        factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (step * factor) <= wanted
    )
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
    label = chart_texts.curve_label(len(points), start.score, last.score, half_width(last.sigma))
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
