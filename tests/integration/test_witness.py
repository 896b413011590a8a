"""The process that sees cores go away, on this machine's real cores."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.witness import Witness, is_allowed, most_lost, size_of

pytestmark = pytest.mark.skipif(
    not is_allowed(), reason="no thread may run above all others here (it takes CAP_SYS_NICE)"
)


@contextlib.contextmanager
def watching() -> Iterator[Witness]:
    made = Witness()
    try:
        yield made
    finally:
        made.close()


def _losses(witness: Witness) -> bytes:
    return os.pread(witness.descriptor, size_of(witness.descriptor), 0)


def _until_awake(witness: Witness, awake: bool = True) -> None:
    give_up_at = time.monotonic() + 30
    while witness.is_awake != awake:
        assert time.monotonic() < give_up_at
        time.sleep(0.01)
    time.sleep(0.1)


def _takes_a_core(core: int, seconds: float) -> None:
    """Nobody else runs on it meanwhile, the witness neither: as if a hypervisor had it."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        os._exit(0)
    os.waitpid(pid, 0)


def test_a_core_that_is_taken_away_is_seen_by_as_much_as_it_was_gone() -> None:
    core = min(os.sched_getaffinity(0))
    with watching() as witness:
        witness.begins()
        _until_awake(witness)
        before = _losses(witness)
        _takes_a_core(core, 0.1)
        time.sleep(0.02)
        assert most_lost(before, _losses(witness)) > 0.09
        witness.ends()


def test_it_rests_when_nothing_is_lent_and_wakes_for_the_next_match() -> None:
    core = min(os.sched_getaffinity(0))
    with watching() as witness:
        for _ in range(2):
            witness.begins()
            _until_awake(witness)
            witness.ends()
            _until_awake(witness, False)
            before = _losses(witness)
            _takes_a_core(core, 0.1)
            time.sleep(0.02)
            assert _losses(witness) == before
        witness.begins()
        _until_awake(witness)
        before = _losses(witness)
        _takes_a_core(core, 0.1)
        time.sleep(0.02)
        assert most_lost(before, _losses(witness)) > 0.09


def test_a_killed_witness_is_replaced_with_the_next_match_and_what_it_had_seen_stays() -> None:
    core = min(os.sched_getaffinity(0))
    with watching() as witness:
        witness.begins()
        _until_awake(witness)
        _takes_a_core(core, 0.1)
        time.sleep(0.02)
        before = _losses(witness)
        assert most_lost(bytes(len(before)), before) > 0.09
        assert witness._process is not None
        os.kill(witness._process.pid, signal.SIGKILL)
        witness._process.wait()
        witness.begins()
        _until_awake(witness)
        start = _losses(witness)
        _takes_a_core(core, 0.1)
        time.sleep(0.02)
        assert most_lost(start, _losses(witness)) > 0.09


def test_what_is_lent_of_it_can_only_be_read() -> None:
    with watching() as witness, pytest.raises(OSError, match="Bad file descriptor"):
        os.pwrite(witness.descriptor, b"x", 0)


def test_it_ends_with_the_node_however_that_ends() -> None:
    ours, theirs = os.pipe()
    node = os.fork()
    if node == 0:
        made = Witness()
        made.begins()
        assert made._process is not None
        os.write(theirs, str(made._process.pid).encode())
        time.sleep(60)
        os._exit(0)
    pid = int(os.read(ours, 16))
    os.kill(node, signal.SIGKILL)
    os.waitpid(node, 0)
    give_up_at = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < give_up_at
        time.sleep(0.01)
