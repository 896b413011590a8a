"""Samples, and the tables that benchmarks print."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


def quantile(samples: Sequence[float], share: float) -> float:
    """The sample below which this share lies; for few samples the largest."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@dataclass(frozen=True)
class Target:
    """A measured figure beside its target; the target is None if there is none.

    ``unit`` follows every number of the row. ``floor`` states the lower limit of every
    implementation in words.
    """

    what: str
    measured: Sequence[float] | str
    """Samples, or a reason for their absence."""
    unit: str
    median: float | None = None
    p99: float | None = None
    floor: str = ""
    better: Literal["less", "more"] = "less"

    def cells(self) -> tuple[str, ...]:
        """The columns: what, measured, best tenth (without neighbours), target, met?, floor."""
        if isinstance(self.measured, str):
            return (self.what, self.measured, "-", self._aim(), "-", self.floor)
        middle = statistics.median(self.measured)
        late = quantile(self.measured, 0.99)
        count = len(self.measured)
        shown = _number(middle) if count == 1 else f"{_number(middle)} / {_number(late)}"
        shown = f"{shown} {self.unit}" + (f" (n={count})" if count > 1 else "")
        share = 0.1 if self.better == "less" else 0.9
        best = "-" if count == 1 else _number(quantile(self.measured, share))
        return (self.what, shown, best, self._aim(), self._met(middle, late), self.floor)

    def _aim(self) -> str:
        if self.median is None:
            return "-"
        sign = "<=" if self.better == "less" else ">="
        p99 = "" if self.p99 is None else f" / {_number(self.p99)}"
        return f"{sign} {_number(self.median)}{p99} {self.unit}"

    def _met(self, middle: float, late: float) -> str:
        if self.median is None:
            return "-"
        holds = middle <= self.median if self.better == "less" else middle >= self.median
        if self.p99 is None:
            return "yes" if holds else "NO"
        if holds and late > self.p99:
            return "median"
        return "yes" if holds else "NO"


HEAD = ("what", "measured", "best tenth", "target", "met?", "floor")


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """The lines with aligned columns; the first line is the header."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([rows[0], "-" * max(map(len, rows)), *rows[1:]])


def describe_machine() -> str:
    """The machine and its other load, for a table's heading."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{os.cpu_count()} cores, Linux {platform.release()}, load average {load}"


def _number(value: float) -> str:
    if value == int(value) or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
