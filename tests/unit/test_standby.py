"""The process beside a worker tells its errors."""

from __future__ import annotations

import os

import pytest

from workers.standby import _fork, ask_while_needed


def test_an_error_of_the_reason_is_logged_and_ends_no_questions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pauses = iter([True, True, False])
    reasons = iter([1 / 4, 0])
    asked: list[str] = []

    def reason() -> str:
        return str(1 / next(reasons))  # the second raises ZeroDivisionError

    ask_while_needed(lambda: next(pauses), reason, lambda: asked.append("asked"))
    assert asked == ["asked"]
    log = capsys.readouterr().err
    assert '"ask_failed"' in log
    assert "ZeroDivisionError" in log


def test_an_error_in_a_process_beside_the_worker_is_logged(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise RuntimeError("no room to fork")

    _, status = os.waitpid(_fork(fail), 0)
    assert os.waitstatus_to_exitcode(status) == 1
    log = capfd.readouterr().err
    assert '"process_failed"' in log
    assert "no room to fork" in log
