"""The course of a comparison as SVG: the mean difference and its bounds after each pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from estimates.comparison import Picture
from services.web.formatting import signed_text
from services.web.rating_curve import DrawingFrame

LARGE: Final = DrawingFrame(760, 230, "large", left=66)
SMALL: Final = DrawingFrame(340, 210, "small", left=62, right=8)
LEAST_RANGE: Final = 0.2


def draw_course(course: Sequence[Picture], margin: float) -> Markup:
    """Two drawings of the same course, for wide and for narrow windows. Empty without pairs."""
    if not course:
        return Markup("")
    return Markup("").join(_draw(course, margin, frame) for frame in (LARGE, SMALL))


def _draw(course: Sequence[Picture], margin: float, frame: DrawingFrame) -> Markup:
    last = course[-1]
    largest = min(1.0, max(LEAST_RANGE, 2 * margin, 1.6 * max(abs(last.low), abs(last.high))))
    inner_width = frame.width - frame.left - frame.right
    inner_height = frame.height - frame.top - frame.bottom

    def x(pairs: float) -> float:
        return round(frame.left + inner_width * pairs / last.pairs, 1)

    def y(value: float) -> float:
        inside = max(-largest, min(largest, value))
        return round(frame.top + inner_height * (largest - inside) / (2 * largest), 1)

    def path(points: Sequence[tuple[int, float]]) -> str:
        return " ".join(f"{x(pairs)},{y(value)}" for pairs, value in points)

    mean = last.difference or 0.0
    label = (
        f"After {last.pairs} pairs the mean difference is {signed_text(mean, 3)},"
        f" between {signed_text(last.low, 3)} and {signed_text(last.high, 3)}"
    )
    parts = [
        Markup('<svg class="curve {}" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
            frame.name, frame.width, frame.height, label
        )
    ]
    apart = max(0.0, 14 - (y(0) - y(margin))) / 2  # so that the two labels do not touch
    lines = (
        (largest, signed_text(largest), 0.0),
        (margin, "margin", -apart),
        (0.0, "0", apart),
        (-largest, signed_text(-largest), 0.0),
    )
    for value, name, shift in lines:
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
                round(y(value) + 4 + shift, 1),
                name,
            )
        )
    upper = [(0, 1.0), *((one.pairs, one.high) for one in course)]
    lower = [(0, -1.0), *((one.pairs, one.low) for one in course)]
    parts.append(Markup('<polygon class="band" points="{}"/>').format(path(upper + lower[::-1])))
    middle = [(one.pairs, one.difference or 0.0) for one in course]
    parts.append(Markup('<polyline class="line" points="{}"/>').format(path(middle)))
    parts.append(
        Markup('<circle class="last" cx="{}" cy="{}" r="4.5"/>').format(x(last.pairs), y(mean))
    )
    foot = frame.height - 7
    parts.append(Markup('<text x="{}" y="{}">start</text>').format(frame.left, foot))
    parts.append(
        Markup('<text x="{}" y="{}" text-anchor="end">{} pairs</text></svg>').format(
            frame.width - frame.right, foot, last.pairs
        )
    )
    return Markup("").join(parts)
