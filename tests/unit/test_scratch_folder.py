"""Temporary folders of commands that start a node."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from sandbox.process_guard import lock_file
from services.cli.local_node import scratch_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def made(place: Path, name: str, *locks: str, age_seconds: float = 3600.0) -> Path:
    folder = place / name
    (folder / "node").mkdir(parents=True)
    for lock in locks:
        (folder / lock).touch()
    at = folder.stat().st_mtime - age_seconds
    os.utime(folder, (at, at))
    return folder


def test_folders_of_killed_commands_are_removed(temporary: Path) -> None:
    made(temporary, "peck-run-killed", "command.lock", "node/guard.lock")
    made(temporary, "peck-run-nodeless", "command.lock")
    with scratch_folder("run") as own:
        assert list(temporary.iterdir()) == [own]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("held", ["command.lock", "node/guard.lock"])
def test_folder_of_a_running_command_or_node_stays(temporary: Path, held: str) -> None:
    folder = made(temporary, "peck-run-running", "command.lock", "node/guard.lock")
    lock = lock_file(folder / held, "held")
    try:
        with scratch_folder("run"):
            assert folder.exists()
    finally:
        os.close(lock)


def test_other_folders_stay(temporary: Path) -> None:
    others = {
        made(temporary, "peck-run-unlocked"),
        made(temporary, "peck-run-young", "command.lock", age_seconds=0.0),
        made(temporary, "peck-fork-killed", "command.lock"),
    }
    linked = temporary / "peck-run-link"
    linked.symlink_to(made(temporary, "elsewhere", "command.lock"))
    with scratch_folder("run") as own:
        assert {*temporary.iterdir()} == {*others, linked, temporary / "elsewhere", own}
