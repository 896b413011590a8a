"""The exact report about an agent that crashed, flooded or forged: its end and its log."""

from __future__ import annotations

import pytest

from tests.integration.sandbox.nodes import Bench, failing


@pytest.mark.same_in_every_launcher
def test_an_exception_in_a_move_shows_the_agents_own_lines(bench: Bench) -> None:
    with bench.seat(bench.bundle("def agent(obs):\n    return 1 / obs.step\n")) as player:
        player.start()
        trace = player.act(step=0)["trace"]
        assert "ZeroDivisionError" in trace
        assert "main.py" in trace
        assert "peckbox" not in trace
        assert player.move(step=1) == 1.0


def test_an_exit_is_reported_with_its_code(bench: Bench) -> None:
    for body, code in (("sys.exit(3)", 3), ("os._exit(4)", 4), ("raise SystemExit", 0)):
        ending = failing(bench, f"def agent(obs):\n    {body}\n").loan.end()
        assert (ending.exit_code, ending.signal, ending.clean) == (code, None, True)


def test_a_crash_is_reported_with_its_signal(bench: Bench) -> None:
    for body, number in (
        ("ctypes.string_at(0)", 11),
        ("os.abort()", 6),
        ("os.kill(os.getpid(), 9)", 9),
    ):
        ending = failing(bench, f"def agent(obs):\n    {body}\n").loan.end()
        assert (ending.exit_code, ending.signal, ending.clean) == (None, number, True)
        assert not ending.out_of_memory


@pytest.mark.same_in_every_launcher
def test_a_flood_of_output_is_truncated(bench: Bench) -> None:
    source = """
import os, sys
def agent(obs):
    for _ in range(200):
        os.write(1, b"x" * 65536)
    sys.stderr.write("e" * 50_000)
    return "done"
"""
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        assert [player.move(step=step) for step in range(3)] == ["done"] * 3
        log = player.loan.end().log
    assert [(entry.step, len(entry.stdout), len(entry.stderr)) for entry in log] == [
        (step, 10_000, 10_000) for step in (1, 2, 3)
    ]


@pytest.mark.same_in_every_launcher
def test_a_log_is_bounded_for_a_whole_match(bench: Bench) -> None:
    source = "def agent(obs):\n    print('y' * 9_999)\n    return 1\n"
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        for step in range(130):
            player.move(step=step)
        log = player.loan.end().log
    assert sum(len(entry.stdout) for entry in log) <= 1 << 20
    assert len(log) > 100


@pytest.mark.same_in_every_launcher
def test_a_forged_log_marker_changes_only_the_agents_own_log(bench: Bench) -> None:
    source = """
import gc, os
def agent(obs):
    import sys
    frame = sys._getframe()
    while frame is not None and "mark" not in frame.f_locals:
        frame = frame.f_back
    mark = frame.f_locals["mark"]
    os.write(1, mark + b"77\\0" + b"forged" + mark + b"-5\\0" + mark + b"9" * 30)
    return 1
"""
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        player.move(step=0)
        ending = player.loan.end()
    assert ending.clean
    assert any("forged" in entry.stdout for entry in ending.log)
    assert all(0 <= entry.step <= 100_000 for entry in ending.log)
