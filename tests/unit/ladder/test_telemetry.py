"""Log lines: one JSON object each, with a level and what is bound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

from ladder.telemetry import bound, emit

FORKS = 20


def lines(capfd: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capfd.readouterr().err.splitlines()]


def test_a_line_has_its_level_and_its_fields(capfd: pytest.CaptureFixture[str]) -> None:
    emit("match", seconds=1.5)
    emit("node_away", level="warning", error=OSError("away"))
    usual, alarm = lines(capfd)
    assert (usual["event"], usual["level"], usual["seconds"]) == ("match", "info", 1.5)
    assert (alarm["level"], alarm["error"], alarm["pid"]) == ("warning", "away", os.getpid())


def test_bound_fields_are_in_every_line_until_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    with bound(match="mat_1"):
        with bound(attempt=2):
            emit("within")
        emit("between")
    emit("after")
    found = [(line.get("match"), line.get("attempt")) for line in lines(capfd)]
    assert found == [("mat_1", 2), ("mat_1", None), (None, None)]


def test_bound_fields_are_of_one_thread(capfd: pytest.CaptureFixture[str]) -> None:
    with bound(match="mat_1"):
        other = threading.Thread(target=lambda: emit("elsewhere"))
        other.start()
        other.join()
    assert "match" not in lines(capfd)[0]


def test_a_closed_pipe_stops_nobody() -> None:
    script = "import os; from ladder.telemetry import emit; os.close(2); emit('x'); print('on')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "on\n")


def test_a_child_forked_while_a_thread_writes_can_write() -> None:
    """A worker's threads write while its pool forks; the child must not inherit a held lock."""
    script = f"""
import os, signal, threading
from ladder.telemetry import emit
def write():
    while True:
        emit("thread", text="x" * 2000)
threading.Thread(target=write, daemon=True).start()
for _ in range({FORKS}):
    if (pid := os.fork()) == 0:
        signal.alarm(60)
        emit("child")
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", script], stderr=subprocess.DEVNULL, check=False)
    assert done.returncode == 0
