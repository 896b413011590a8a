"""Determines the phase of a migration and checks its statements.

A roll-out replaces processes one by one, so versions N and N-1 use one database together.
Migrations before the roll-out may only add; those after it may remove. Migrations that fill old
rows take no lock on a whole table, for which workers would wait. ``phase_violations`` reads the SQL
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

FIRST: Final = "0001_schema.sql"
NAME: Final = re.compile(r"\d{4}_(before|fill|after)_[a-z0-9_]+\.sql")


class Phase(Enum):
    """When a migration runs."""

    BEFORE = "before"
    """Before the roll-out, while the previous version still runs."""
    FILL = "fill"
    """As BEFORE, but with the functions of the new version: gives old rows values."""
    AFTER = "after"
    """After the roll-out, when all processes have the new version."""


LATER: Final = "move it to a file NNNN_after_*.sql"
ANEW: Final = (
    "add a new column, fill both, and drop the old one a version later in NNNN_after_*.sql"
)
FILLED: Final = (
    "the previous version writes rows without a value: give a default, or move it"
    " to a file NNNN_after_*.sql"
)
OUTSIDE: Final = (
    "others would wait until all rows are filled: move it to a file NNNN_before_*.sql or _after_*"
)
FILLING: Final = re.compile(r"(?:set\s+local|update|insert\s+into)\b|$", re.IGNORECASE)
CURRENT: Final = "write it in a .sql file of its domain"
FLAGS: Final = re.IGNORECASE | re.DOTALL
COLUMN: Final = r'(?:if\s+exists\s+)?(?!(?:constraint|not|expression|identity)\b)[\w"]+'
DESTRUCTIVE: Final = [
    (re.compile(pattern, FLAGS), remedy)
    for pattern, remedy in (
        (rf"\balter\s+table\b.*?\bdrop\s+(?:column\s+)?{COLUMN}", LATER),
        (
            r"\bdrop\s+(?:table|type|domain|view|materialized\s+view|sequence|schema|function|"
            r"procedure|routine|trigger|role|owned|extension)\b",
            LATER,
        ),
        (r"\balter\s+(?:column\s+)?[\w\"]+\s+(?:set\s+data\s+)?type\b", ANEW),
        (r"\brename\b", ANEW),
        (r"\bdelete\s+from\b", LATER),
        (r"\btruncate\b", LATER),
        (r"\brevoke\b", LATER),
    )
]
SET_NOT_NULL: Final = re.compile(r"\balter\s+(?:column\s+)?([\w\"]+)\s+set\s+not\s+null", FLAGS)
CLAUSE: Final = r"(?:[^,()]|\([^()]*(?:\([^()]*\)[^()]*)*\))"  # ends at a comma outside brackets
ADD_COLUMN: Final = re.compile(rf"\badd\s{CLAUSE}*?\bnot\s+null\b{CLAUSE}*", FLAGS)
OWN_VALUE: Final = re.compile(r"\b(?:default|generated)\b", FLAGS)
FUNCTION: Final = re.compile(
    r"\bcreate\s+(?:or\s+replace\s+)?(?:constraint\s+)?(?:function|procedure|trigger)\b", FLAGS
)
DROPPED: Final = re.compile(r"\bdrop\s+function\s+(?:if\s+exists\s+)?(\w+)", FLAGS)
NO_STATEMENT: Final = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)


def phase_of(name: str) -> Phase:
    """Returns the phase that a file's name gives. Raises ValueError for another form of name."""
    if name == FIRST:
        return Phase.BEFORE
    found = NAME.fullmatch(name)
    if found is None:
        raise ValueError(
            f"{name}: name the file NNNN_before_*.sql, NNNN_fill_*.sql or NNNN_after_*.sql"
        )
    return Phase(found.group(1))


def dropped_functions(name: str, text: str) -> list[str]:
    """Returns the names of the functions that an ``after`` file drops."""
    return (
        DROPPED.findall(_without_comments_and_strings(text))
        if phase_of(name) is Phase.AFTER
        else []
    )


def phase_violations(name: str, text: str) -> list[str]:
    """Returns the forbidden statements of a migration: ``file:line: statement; remedy``."""
    found = [(at, what, CURRENT) for at, what in _find_in_statements(FUNCTION, text)]
    if phase_of(name) is Phase.FILL:
        found += [(at, what, OUTSIDE) for at, what in _other_statements(text)]
    elif phase_of(name) is Phase.BEFORE:
        found += [
            (at, what, remedy)
            for pattern, remedy in DESTRUCTIVE
            for at, what in _find_in_statements(pattern, text)
        ]
        found += [(at, what, FILLED) for at, what in _required_columns_without_default(text)]
    lines = [(text.count("\n", 0, at) + 1, what, remedy) for at, what, remedy in sorted(found)]
    return [f"{name}:{line}: {' '.join(what.split())}; {remedy}" for line, what, remedy in lines]


def _without_comments_and_strings(text: str) -> str:
    """Replaces comments and strings by blanks; positions stay the same."""
    return NO_STATEMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yields each statement and its position."""
    for found in re.finditer(r"[^;]+", _without_comments_and_strings(text)):
        yield found.start(), found.group()


def _find_in_statements(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    for start, statement in _statements(text):
        for found in pattern.finditer(statement):
            yield start + found.start(), found.group()


def _other_statements(text: str) -> Iterator[tuple[int, str]]:
    """Yields the statements that a file which fills old rows must not have."""
    for start, statement in _statements(text):
        stripped = statement.strip()
        if not FILLING.match(stripped):
            yield start + statement.index(stripped), stripped


def _required_columns_without_default(text: str) -> Iterator[tuple[int, str]]:
    """Yields required columns that have no default."""
    for start, statement in _statements(text):
        if not re.match(r"\s*alter\s+table\b", statement, FLAGS):
            continue
        for found in ADD_COLUMN.finditer(statement):
            if not OWN_VALUE.search(found.group()):
                yield start + found.start(), found.group()
        for found in SET_NOT_NULL.finditer(statement):
            default = rf"\balter\s+(?:column\s+)?{re.escape(found[1])}\s+set\s+default\b"
            if not re.search(default, statement, FLAGS):
                yield start + found.start(), found.group()
