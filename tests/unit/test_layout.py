"""Size limits: packages of the contest, modules, and arguments of functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("egress", "games", "ladder", "sandbox", "services", "workers")
MOST_DOMAINS = 15
MOST_ARGUMENTS = 12
COMMAND_LINE = CHECKOUT / "services" / "cli"
"""The options of a command are the arguments of its function."""


def functions() -> Iterator[tuple[str, int]]:
    """Each function outside the command line with the number of its arguments."""
    for package in PACKAGES:
        for file in (CHECKOUT / package).rglob("*.py"):
            if COMMAND_LINE in file.parents:
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    given = node.args
                    count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
                    yield f"{file.relative_to(CHECKOUT)}:{node.name}", count


def test_no_function_has_too_many_arguments() -> None:
    found = dict(functions())
    assert len(found) > 1000
    assert {name: count for name, count in found.items() if count > MOST_ARGUMENTS} == {}


def test_ladder_has_few_domains() -> None:
    domains = [path for path in (CHECKOUT / "ladder").iterdir() if (path / "__init__.py").exists()]
    assert 10 <= len(domains) <= MOST_DOMAINS
