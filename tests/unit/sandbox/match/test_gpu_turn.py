"""The turns of loans that share a GPU, on real locks of the kernel."""

from __future__ import annotations

import fcntl
import math
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from sandbox.match.loans import GpuTurn, GpuTurns
from sandbox.match.questions import StopReached

HOLDER = """
import math, sys, time
from sandbox.match.loans import GpuTurn
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


def test_a_loan_that_asks_again_at_once_overtakes_nobody() -> None:
    files = GpuTurns()
    watcher, one, two = files.open("0"), GpuTurn(files.open("0")), GpuTurn(files.open("0"))
    order: list[str] = []

    def take_turn() -> None:
        with two.held(math.inf):
            order.append("two")

    waiting = threading.Thread(target=take_turn, daemon=True)
    until = time.monotonic() + 60
    with one.held(math.inf):
        waiting.start()
        while not is_queue_taken(watcher):
            assert time.monotonic() < until
            time.sleep(0.001)
    with one.held(math.inf):
        order.append("one")
    waiting.join(60)
    assert not waiting.is_alive()
    assert order == ["two", "one"]
    for turn in (one, two, GpuTurn(watcher)):
        turn.close()


def is_queue_taken(descriptor: int) -> bool:
    """Whether another loan of the device holds the lock of the queue: byte 0 of the file."""
    asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
    found = struct.unpack("hhqqi", fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, asked))
    return bool(found[0] != fcntl.F_UNLCK)
