"""Shows a comparison in the terminal: the running picture, the verdict and the analysis."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from estimates.comparison import Picture, Rule
from services.cli.display import stdout, table

BAR_COLUMNS: Final = 31
SENTENCES: Final = {
    "better": "The new version is better.",
    "not_better": "The new version is not better by the margin.",
    "cannot_tell": "Cannot tell.",
    None: "No verdict yet.",
}


def bar(low: float, high: float, difference: float | None, margin: float) -> str:
    """Draws the interval on a scale from -1 to 1, with 0 as ``|`` and the margin as ``+``."""

    def column(value: float) -> int:
        return round((value + 1) / 2 * (BAR_COLUMNS - 1))

    cells = ["."] * BAR_COLUMNS
    for place in range(column(low), column(high) + 1):
        cells[place] = "="
    cells[column(0)] = "|"
    cells[column(margin)] = "+"
    if difference is not None:
        cells[column(difference)] = "o"
    return f"-1 {''.join(cells)} +1"


def picture_line(report: Mapping[str, Any]) -> str:
    """Describes the state of a comparison in one line."""
    drawn = bar(report["low"], report["high"], report["difference"], report["margin"])
    return (
        f"{drawn}  {report['pairs']} of at most {report['most_pairs']} pairs:"
        f" {interval_text(report)}"
    )


def interval_text(report: Mapping[str, Any]) -> str:
    """The mean difference and its bounds."""
    if report["difference"] is None:
        return "no pair yet"
    return (
        f"difference {report['difference']:+.3f},"
        f" between {report['low']:+.3f} and {report['high']:+.3f}"
    )


def short_line(report: Mapping[str, Any]) -> str:
    """The same in less than 80 columns."""
    drawn = bar(report["low"], report["high"], report["difference"], report["margin"])
    return (
        f"{drawn}  {report['pairs']}/{report['most_pairs']} pairs"
        f" {report['difference']:+.3f} ({report['low']:+.2f} to {report['high']:+.2f})"
    )


class RunningPicture:
    """The running picture on stderr. Without a terminal, a line after 1, 2, 4, 8, ... pairs."""

    def __init__(self, rule: Rule, quiet: bool) -> None:
        self._rule = rule
        self._terminal = sys.stderr.isatty()
        self._quiet = quiet and not self._terminal
        self._next = 1

    def show(self, picture: Picture) -> None:
        """Shows the state after a pair."""
        report = asdict(picture) | asdict(self._rule)
        if self._terminal:
            columns = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r" + short_line(report)[:columns].ljust(columns))
        elif not self._quiet and picture.pairs >= self._next:
            self._next = 2 * picture.pairs
            sys.stderr.write(picture_line(report) + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Removes the line from a terminal."""
        if self._terminal:
            sys.stderr.write("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r")
            sys.stderr.flush()


def print_report(report: Mapping[str, Any]) -> None:
    """Prints verdict and analysis as text."""
    stdout.print(SENTENCES[report["verdict"]])
    stdout.print(picture_line(report))
    stdout.print(
        f"margin {report['margin']:g}; better: the lower bound is above 0; not better: the upper"
        " bound is below the margin"
    )
    if report["variants"] > 1:
        stdout.print(f"one of {report['variants']} variants that you compare")
    if report["replayed_pairs"]:
        stdout.print(f"{report['replayed_pairs']} pairs were played again because a machine failed")
    ratio = report["log_likelihood_ratio"]
    if ratio is not None:
        stdout.print(
            f"log-likelihood ratio of normalised Elo [0, 2]: {ratio:.2f} (it decides nothing)"
        )
    if report["old"] is None:
        return
    table(
        ["version", "opponents beaten", "own faults", "a move", "longest move"],
        [
            (
                name,
                f"{side['score']:.1%}",
                side["faults"],
                _milliseconds(side["mean_move_seconds"]),
                _milliseconds(side["longest_move_seconds"]),
            )
            for name, side in (("old", report["old"]), ("new", report["new"]))
        ],
    )
    seats = [{**gain, "name": _seat_name(gain["name"])} for gain in report["seats"]]
    _print_gains("seat", seats)
    _print_gains("opponent", report["opponents"])
    _print_first_differences(report["first_differences"])


def _seat_name(name: str) -> str:
    """``seat 1`` for ``seat 0`` of a report, because commands count seats from 1."""
    return f"seat {int(name.split()[1]) + 1}"


def _print_gains(what: str, gains: Sequence[Mapping[str, Any]]) -> None:
    if len(gains) < 2:
        return
    table(
        [what, "pairs", "old", "new", "gain", "95 % interval"],
        [
            (
                gain["name"],
                gain["games"],
                f"{gain['old']:.1%}",
                f"{gain['new']:.1%}",
                f"{gain['new'] - gain['old']:+.3f}",
                None if gain["low"] is None else f"{gain['low']:+.3f} to {gain['high']:+.3f}",
            )
            for gain in gains
        ],
    )


def _print_first_differences(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        return
    stdout.print("first different moves of the pairs with the largest differences:")
    for one in found:
        stdout.print(
            f"  pair {one['pair']} ({one['difference']:+.3f}), seat {one['seat'] + 1}, step"
            f" {one['step']}: {one['old_replay']} {one['new_replay']}"
        )


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:.1f} ms"
