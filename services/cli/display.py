"""Output of commands: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

AsJson = Annotated[bool, typer.Option("--json", help="Print the API's JSON instead of a table.")]

WIDE = None if sys.stdout.isatty() else 200
"""Width in columns of output that is piped or written to a file."""
stdout = Console(highlight=False, markup=False, soft_wrap=True, width=WIDE)
stderr = Console(stderr=True, highlight=False, markup=False)
"""Prints without markup, so that texts of others cannot format the output."""


def print_json(value: Any) -> None:
    """Prints JSON on stdout."""
    print(json.dumps(value, indent=2))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table. Numbers are aligned right, None is empty."""
    listed = [list(row) for row in rows]
    if not listed:
        stdout.print("(nothing)")
        return
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for place, column in enumerate(columns):
        numeric = all(isinstance(row[place], int | float | None) for row in listed)
        ids = any(is_id(row[place]) for row in listed)
        shown.add_column(
            column, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric or ids
        )
    for row in listed:
        shown.add_row(*(Text(cell_text(value)) for value in row))
    stdout.print(shown)


def cell_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.1f}"
    return str(value)


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
