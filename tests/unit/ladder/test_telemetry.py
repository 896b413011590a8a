"""Log lines: one JSON object each, with a level and what is bound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

from ladder.telemetry import bind_fields, log_event


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_log_line_has_level_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    log_event("match", seconds=1.5)
    log_event("node_unreachable", level="warning", error=OSError("away"))
    usual, alarm = lines(capsys)
    assert (usual["event"], usual["level"], usual["seconds"]) == ("match", "info", 1.5)
    assert (alarm["level"], alarm["error"], alarm["pid"]) == ("warning", "away", os.getpid())


def test_bound_fields_appear_in_every_line_of_the_block(capsys: pytest.CaptureFixture[str]) -> None:
    with bind_fields(match="mat_1"):
        with bind_fields(attempt=2):
            log_event("within")
        log_event("between")
    log_event("after")
    found = [(line.get("match"), line.get("attempt")) for line in lines(capsys)]
    assert found == [("mat_1", 2), ("mat_1", None), (None, None)]


def test_bound_fields_belong_to_one_thread(capsys: pytest.CaptureFixture[str]) -> None:
    with bind_fields(match="mat_1"):
        other = threading.Thread(target=lambda: log_event("elsewhere"))
        other.start()
        other.join()
    assert "match" not in lines(capsys)[0]


def test_a_closed_pipe_does_not_stop_the_process() -> None:
    script = (
        "import os; from ladder.telemetry import log_event as log;"
        " os.close(2); log('x'); print('on')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "on\n")
