"""Functions of SQL stand once, and each has a caller."""

from __future__ import annotations

import re
from pathlib import Path

from ladder.database import migrate

CHECKOUT = Path(__file__).resolve().parents[4]
DEFINITION = re.compile(r"^create or replace function (\w+)", re.MULTILINE)


def test_every_function_has_one_copy() -> None:
    texts = [re.sub(r"--[^\n]*", "", text) for _, text in migrate.function_files()]
    heads = [
        " ".join(head.split())
        for text in texts
        for head in re.findall(r"(?i)\bcreate (?:or replace )?function (\w+\([^)]*\))", text)
    ]
    defined = [name for text in texts for name in DEFINITION.findall(text)]
    assert len(heads) == len(defined), "begin a line with `create or replace function`"
    assert len(heads) == len(set(heads))


def test_every_function_has_a_caller() -> None:
    texts = [text for _, text in migrate.function_files()]
    no_call = re.compile(r"--[^\n]*|^(?:revoke|grant) [^;]*;|create or replace function \w+", re.M)
    called = "".join(no_call.sub("", text) for text in texts)
    for folder in ("ladder", "workers", "services"):
        called += "".join(file.read_text() for file in (CHECKOUT / folder).rglob("*.py"))
    defined = {name for text in texts for name in DEFINITION.findall(text)}
    uncalled = {name for name in defined if not re.search(rf"\b{name}\(", called)}
    assert uncalled == set()
