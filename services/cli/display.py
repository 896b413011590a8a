"""Output of commands: tables for people, JSON for programs.

It does not use rich, whose import and layout take 0.1 s of a command's 0.15 s.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Self

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print the API's JSON instead of a table.")]

WIDE: Final = 200
"""Width in columns of output that is piped or written to a file."""
NARROWEST: Final = 8
"""Least width of a column whose texts are folded."""
KEPT: Final = frozenset("\n\t\u200c\u200d")
"""Characters that a terminal shows without harm, although Python calls them unprintable: the last
two join letters or keep them apart."""
GAP: Final = "  "
STYLES: Final = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}
"""Codes of a terminal."""


@dataclass(frozen=True, slots=True)
class _Stream:
    """Prints texts on stdout or stderr without control characters."""

    name: str

    def print(self, text: str = "", end: str = "\n") -> None:
        print(printable(text), end=end, file=getattr(sys, self.name))


class ProgressLine:
    """One line of a terminal's stderr, which each text replaces. Silent without a terminal."""

    def __init__(self, text: str = "") -> None:
        self._is_shown = sys.stderr.isatty()
        self._next_at = 0.0
        self._width = 0
        self.show(text)

    def show(self, text: str) -> None:
        """Replaces the line, at most ten times a second."""
        if self._is_shown and text and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + 0.1
            self._write(printable(text)[: shutil.get_terminal_size().columns - 1])

    def clear(self) -> None:
        """Empties the line. The next text begins it again."""
        if self._width:
            self._write("")
            self._next_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def _write(self, line: str) -> None:
        print(f"\r{line:{self._width}}\r{line}", end="", file=sys.stderr, flush=True)
        self._width = len(line)


stdout: Final = _Stream("stdout")
stderr: Final = _Stream("stderr")


def printable(text: str) -> str:
    """The text without control characters, characters that reverse it or cannot be encoded.

    Texts come from other people, agents and the service.
    """
    if text.isascii() and text.isprintable():
        return text
    spaced = "".join(" " if one.isspace() and one not in "\r\n\t" else one for one in text)
    return "".join(one for one in spaced if one.isprintable() or one in KEPT)


def print_json(value: Any) -> None:
    """Prints JSON on stdout."""
    print(json.dumps(value, indent=2))


def print_nothing(next_step: str = "") -> None:
    """Prints "(nothing)", and on stderr the next command."""
    stdout.print("(nothing)")
    if next_step:
        stderr.print(f"next: {next_step}")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], next_step: str = "") -> None:
    """Prints a table. Numbers are aligned right, None is empty.

    ``next_step`` is the command that helps if there are no rows.
    """
    listed = [list(row) for row in rows]
    if not listed:
        print_nothing(next_step)
        return
    head, *lines = table_lines(columns, listed)
    print("\n".join([styled(head, "bold"), *lines]))


def styled(text: str, style: str) -> str:
    """The text in a style of STYLES on a terminal, else as it is."""
    is_plain = not sys.stdout.isatty() or os.environ.get("TERM") in (None, "dumb", "unknown")
    return text if is_plain else f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def available_columns(most: int | None = None) -> int:
    """The width of the output in columns, or ``most``."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDE
    return width if most is None else min(width, most)


def show_list(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str | Callable[[Mapping[str, Any]], object]],
    as_json: bool,
    next_step: str = "",
) -> None:
    """Prints rows of the API: each column is a field, or computed. Times are in UTC."""
    if as_json:
        print_json(rows)
    else:
        shown = [[_column(row, source) for source in columns.values()] for row in rows]
        table(list(columns), shown, next_step)


def _column(row: Mapping[str, Any], source: str | Callable[[Mapping[str, Any]], object]) -> object:
    if not isinstance(source, str):
        return source(row)
    return timestamp_text(row[source]) if source.endswith("_at") else row[source]


def show_done(answer: Any, sentence: str, as_json: bool) -> None:
    """Prints the API's answer, or a sentence."""
    if as_json:
        print_json(answer)
    else:
        stdout.print(sentence)


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """The lines of a table. Long texts are folded if it does not fit, but no number and no id."""
    texts = [[cell_text(value) for value in row] for row in [columns, *rows]]
    places = range(len(columns))
    numeric = [_is_numeric(rows, place) for place in places]
    widths = [max(text_width(line[place]) for line in texts) for place in places]
    flexible = {p for p in places if not numeric[p] and not any(is_id(row[p]) for row in rows)}
    over = sum(widths) + len(GAP) * (len(columns) - 1) - available_columns()
    while over > 0 and (wide := [p for p in flexible if widths[p] > NARROWEST]):
        widths[max(wide, key=widths.__getitem__)] -= 1
        over -= 1
    lines = []
    for line in texts:
        cells = [folded(text, width) for text, width in zip(line, widths, strict=True)]
        for part in range(max(map(len, cells))):
            shown = [cell[part] if part < len(cell) else "" for cell in cells]
            padding = [" " * (widths[p] - text_width(shown[p])) for p in places]
            ordered = [
                padding[p] + shown[p] if numeric[p] else shown[p] + padding[p] for p in places
            ]
            lines.append(GAP.join(ordered))
    return lines


def text_width(text: str) -> int:
    """The columns of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF")
        for sign in text
    )


def folded(text: str, width: int) -> list[str]:
    """The text in lines of at most this width, broken between words where possible."""
    if text_width(text) <= width:
        return [text]
    if not text.isascii():  # a character may take two columns
        width = max(1, width * len(text) // text_width(text))
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def show_checks(checks: Iterable[tuple[str, str, str, str]]) -> None:
    """Prints checks: the state, its style, the name, and a text with lines."""
    listed = list(checks)
    states, names = (max(len(check[place]) for check in listed) for place in (0, 2))
    indent = states + names + 2 * len(GAP)
    width = max(available_columns() - indent, 20)
    for state, style, name, text in listed:
        lines = [line for part in printable(text).split("\n") for line in folded(part, width)]
        start = GAP.join((styled(f"{state:{states}}", style), styled(f"{name:{names}}", "bold")))
        print(f"\n{' ' * indent}".join([f"{start}{GAP}{lines[0]}", *lines[1:]]))


def _is_numeric(rows: Sequence[Sequence[object]], place: int) -> bool:
    return all(isinstance(row[place], int | float | Decimal | None) for row in rows)


def cell_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.1f}"
    return printable(str(value)).replace("\n", " ")


def is_id(value: object) -> bool:
    """Whether a value is an id. Ids are never broken over lines, so that they can be copied."""
    return isinstance(value, str) and len(value) == 30 and value[3] == "_"


def timestamp_text(text: str | None) -> str | None:
    """A timestamp for a table, in UTC."""
    return text[:16].replace("T", " ") if text else None


def duration_text(value: float | None) -> str:
    """A duration in words."""
    if value is None:
        return "unknown"
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"
