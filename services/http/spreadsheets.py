"""Writes CSV for spreadsheets. No name may become a formula."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

FORMULA: Final = ("=", "+", "-", "@", "\r")
"""First characters of a spreadsheet formula."""
SPLITS: Final = re.compile(r"([;\t])")
"""Separators of some countries' spreadsheets: a cell may begin after one, quoted or not."""


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A header and one line for each row, with escaped formulas."""
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(value) for value in row])
    return written.getvalue()


def csv_cell(value: object) -> object:
    """The value as a cell: lists with spaces between, moments in ISO 8601, formulas escaped."""
    if isinstance(value, list):
        value = " ".join(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return "".join(map(without_formula, SPLITS.split(value))) if isinstance(value, str) else value


def without_formula(text: str) -> str:
    """The text, escaped if a spreadsheet would read a formula."""
    is_formula = unicodedata.normalize("NFKC", text).lstrip(" ").startswith(FORMULA)
    return f"'{text}" if is_formula else text
