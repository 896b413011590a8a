"""Output of commands: tables for people, JSON for programs.

Importing rich and laying out a table take 0.1 s or more. So plain lines, and tables that fit, are
printed without it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print the API's JSON instead of a table.")]

WIDE: Final = 200
"""Width in columns of output that is piped or written to a file."""
KEPT: Final = frozenset("\n\t\u200c\u200d")
"""Characters that a terminal shows without harm, although Python calls them unprintable: the last
two join letters or keep them apart."""
GAP: Final = "  "
FORCED: Final = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables by which rich decides on colours."""


class _Stdout:
    """Prints on stdout without markup, so that texts of others cannot format the output."""

    def print(self, printed: object = "", **options: Any) -> None:
        if isinstance(printed, str):
            print(printable(printed), end=options.get("end", "\n"))
        else:
            _rich_stdout().print(printed, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(_rich_stdout(), name)


class _Stderr:
    """The same on stderr. In a terminal rich breaks long lines between words."""

    def print(self, printed: object = "", **options: Any) -> None:
        if isinstance(printed, str) and not sys.stderr.isatty():
            print(printable(printed), file=sys.stderr)
        elif isinstance(printed, str):
            _rich_stderr().print(printable(printed), **options)
        else:
            _rich_stderr().print(printed, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(_rich_stderr(), name)


def _rich_stdout() -> Console:
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    return Console(highlight=False, markup=False, soft_wrap=True, width=width)


@cache
def _rich_stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False)


stdout = cast("Console", _Stdout())
stderr = cast("Console", _Stderr())


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
    listed, columns = [list(row) for row in rows], [cell_text(column) for column in columns]
    if not listed:
        print_nothing(next_step)
        return
    width = available_columns()
    head, *lines = plain_lines(columns, listed) or [""]
    if not head or len(head) > width or any(map(os.environ.get, FORCED)):
        stdout.print(rich_table(columns, listed))
        return
    is_bold = sys.stdout.isatty() and os.environ.get("TERM") not in (None, "dumb", "unknown")
    print("\n".join([f"\x1b[1m{head}\x1b[0m" if is_bold else head, *lines]))


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


def plain_lines(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """The lines of a table. Empty if a text has characters whose width only rich knows."""
    texts = [list(columns), *([cell_text(value) for value in row] for row in rows)]
    if not all(text.isascii() and text.isprintable() for line in texts for text in line):
        return []
    made = []
    for place in range(len(columns)):
        width = max(len(line[place]) for line in texts)
        align = str.rjust if _is_numeric(rows, place) else str.ljust
        made.append([align(line[place], width) for line in texts])
    return [GAP.join(line) for line in zip(*made, strict=True)]


def rich_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> object:
    """The table for rich, which folds texts that do not fit."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, header_style="bold", pad_edge=False)
    for place, column in enumerate(columns):
        numeric = _is_numeric(rows, place)
        ids = any(is_id(row[place]) for row in rows)
        shown.add_column(
            column, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric or ids
        )
    for row in rows:
        shown.add_row(*(Text(cell_text(value)) for value in row))
    return shown


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
