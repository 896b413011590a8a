"""The turns of loans that share a GPU, on real locks of the kernel."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from sandbox.match.gpu_turn import GpuTurn, GpuTurns
from sandbox.match.questions import StopReached

HOLDER = """
import math, sys, time
from sandbox.match.gpu_turn import GpuTurn
with GpuTurn(int(sys.argv[1])).held(math.inf):
    print("held", flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def turns() -> Iterator[tuple[GpuTurn, GpuTurn, GpuTurn]]:
    """Two loans of one device, and one of another."""
    files = GpuTurns()
    opened = (GpuTurn(files.open("0")), GpuTurn(files.open("0")), GpuTurn(files.open("1")))
    yield opened
    for turn in opened:
        turn.close()


def is_free(turn: GpuTurn) -> bool:
    try:
        with turn.held(time.monotonic()):
            return True
    except StopReached:
        return False


def test_only_one_loan_of_a_device_has_its_turn(turns: tuple[GpuTurn, GpuTurn, GpuTurn]) -> None:
    one, two, other_device = turns
    with one.held(math.inf):
        assert not is_free(two)
        assert is_free(other_device)
    assert is_free(two)


def test_a_loan_that_ends_gives_up_its_turn(turns: tuple[GpuTurn, GpuTurn, GpuTurn]) -> None:
    one, two, _ = turns
    with one.held(math.inf):
        one.close()
        assert is_free(two)


def test_a_killed_worker_gives_up_its_turn() -> None:
    files = GpuTurns()
    theirs, ours = files.open("0"), GpuTurn(files.open("0"))
    command = [sys.executable, "-c", HOLDER, str(theirs)]
    with subprocess.Popen(command, pass_fds=(theirs,), stdout=subprocess.PIPE) as worker:
        GpuTurn(theirs).close()
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"held\n"
        assert not is_free(ours)
        worker.kill()
        worker.wait()
        assert is_free(ours)
    ours.close()


def test_a_loan_that_asks_again_at_once_overtakes_nobody(
    turns: tuple[GpuTurn, GpuTurn, GpuTurn],
) -> None:
    one, two, _ = turns
    order: list[str] = []

    def take(name: str, turn: GpuTurn) -> None:
        for _ in range(20):
            with turn.held(math.inf):
                order.append(name)
                time.sleep(0.002)  # the other one begins to wait

    threads = [threading.Thread(target=take, args=pair) for pair in (("1", one), ("2", two))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    changes = sum(before != after for before, after in itertools.pairwise(order))
    assert changes >= 20
