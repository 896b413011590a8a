"""Parts of a house start again when a source file changes."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ladder.settings import Settings
from services import reload
from services.children import Child, spawn
from services.parts import Part
from services.up import House, Options


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Parts that do nothing, and a site that only listens, over a tree with one source file."""
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "rules.py").write_text("RATE = 40\n")
    monkeypatch.setattr(reload, "CHECKOUT", tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = House(Options(), lambda _: None)
    made.settings = Settings(port=port)

    def part(name: str) -> Part:
        module = ["http.server", str(port)] if name == "api" else ["http.server", "0"]
        command = [sys.executable, "-m", *module]
        return Part(name, lambda: spawn(name, command, log=tmp_path / f"{name}.log"))

    made.parts = [part(name) for name in (*reload.PARTS, "node")]
    for one in made.parts:
        one.begin()
    yield made
    for one in made.parts:
        child(one).process.kill()
        child(one).process.wait()


def child(part: Part) -> Child:
    assert part.child is not None
    return part.child


def pids(house: House) -> dict[str, int]:
    return {part.name: child(part).process.pid for part in house.parts}


def test_a_change_restarts_the_parts_that_hold_code_and_waits_for_the_site(
    house: House, tmp_path: Path
) -> None:
    reloader = reload.Reloader(house)
    before = pids(house)
    reloader.look()
    assert pids(house) == before
    (tmp_path / "games" / "rules.py").write_text("RATE = 400\n")
    reloader.look()
    after = pids(house)
    assert {name for name in before if before[name] != after[name]} == set(reload.PARTS)
    socket.create_connection(("127.0.0.1", house.settings.port), 1.0).close()


def test_a_new_file_is_a_change(house: House, tmp_path: Path) -> None:
    reloader = reload.Reloader(house)
    before = pids(house)
    (tmp_path / "games" / "more.py").touch()
    reloader.look()
    assert pids(house)["api"] != before["api"]
