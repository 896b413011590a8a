"""SQL is written out: an f-string in it holds only named constants and conditions of visibility."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("ladder", "workers", "services")
UNFINISHED = (
    "ladder/entries/",
    "ladder/leagues/",
    "ladder/matches/history.py",
    "ladder/matches/match_search.py",
    "ladder/reports/feed.py",
    "ladder/reports/site_search.py",
    "ladder/scrims/",
)
"""Places that still build SQL from other texts."""
STATEMENT = re.compile(r"\s*(select|insert into|update|delete from|with \w+ as)\b")
READERS = {"execute", "executemany", "exists", "fetch", "fetch_one", "fetch_optional"}


def test_sql_is_built_from_named_constants_alone() -> None:
    places = [
        f"{path.relative_to(ROOT)}:{line}: {part}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if not str(path.relative_to(ROOT)).startswith(UNFINISHED)
        for line, part in built_parts(ast.parse(path.read_text()))
    ]
    assert places == []


def test_text_of_an_argument_in_a_statement_is_found() -> None:
    sources = (
        'conn.execute(f"select 1 where {condition}")',
        'fetch(conn, int, f"{SELECT} {tail}")',
        'text = "delete from users where " + condition',
        'text = "select 1 from %s" % table',
        'text = "select 1 from {}".format(table)',
    )
    for source in sources:
        assert list(built_parts(ast.parse(source))), source


def test_named_constant_and_condition_of_visibility_are_allowed() -> None:
    source = """
def read(conn, viewer):
    seen, values = visibility.visible_leagues(viewer)
    return conn.execute(f"{SELECT} where {roles.ROLE} = 'host' and {seen}", values)
"""
    assert list(built_parts(ast.parse(source))) == []


def built_parts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of each part of a statement that is no named constant."""
    queries = {
        argument
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in READERS
        for argument in node.args
    }
    conditions = {
        node.targets[0].elts[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.targets[0].elts[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and "visible_" in ast.unparse(node.value.func)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and (node in queries or begins_statement(node)):
            for value in node.values:
                if isinstance(value, ast.FormattedValue):
                    name = ast.unparse(value.value)
                    if not is_constant(value.value) and name not in conditions:
                        yield node.lineno, name
        elif isinstance(node, ast.BinOp) and begins_statement(node.left):
            if not isinstance(node.right, ast.Constant) and not is_constant(node.right):
                yield node.lineno, ast.unparse(node.right)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
            and begins_statement(node.func.value)
        ):
            yield node.lineno, ast.unparse(node)


def begins_statement(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and STATEMENT.match(node.value) is not None
    )


def is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return is_constant(node.body) and is_constant(node.orelse)
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return bool(re.fullmatch(r"[A-Z][A-Z0-9_]*", name))
