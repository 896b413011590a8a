"""The process that measures lost cores, on this machine's real cores."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.match.steal_monitor import (
    OWN_BYTES,
    StealMonitor,
    gone_seconds,
    losses_size,
    may_run_above_others,
    most_lost_seconds,
)

pytestmark = pytest.mark.skipif(
    not may_run_above_others(),
    reason="no thread may run above all others here (it takes CAP_SYS_NICE)",
)


@contextlib.contextmanager
def watching() -> Iterator[StealMonitor]:
    made = StealMonitor()
    try:
        yield made
    finally:
        made.close()


def _losses(steal_monitor: StealMonitor) -> bytes:
    return os.pread(steal_monitor.descriptor, losses_size(steal_monitor.descriptor), OWN_BYTES)


def _until_awake(steal_monitor: StealMonitor, awake: bool = True) -> None:
    give_up_at = time.monotonic() + 120
    while steal_monitor.is_awake != awake:
        assert time.monotonic() < give_up_at
        time.sleep(0.01)
    time.sleep(0.1)


def _until_lost(steal_monitor: StealMonitor, before: bytes) -> None:
    """Wait until the monitor has measured that a core was taken."""
    give_up_at = time.monotonic() + 60
    while most_lost_seconds(before, _losses(steal_monitor)) <= 0.09:
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


def _takes_a_core(core: int, seconds: float) -> None:
    """Block the core for all other processes, the steal monitor included, as a hypervisor would."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        os._exit(0)
    os.waitpid(pid, 0)


def test_the_steal_monitor_measures_a_lost_core() -> None:
    core = min(os.sched_getaffinity(0))
    with watching() as steal_monitor:
        steal_monitor.add_match()
        _until_awake(steal_monitor)
        before = _losses(steal_monitor)
        _takes_a_core(core, 0.1)
        _until_lost(steal_monitor, before)
        steal_monitor.remove_match()


def test_a_core_that_is_gone_shows_before_it_is_back() -> None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("the other core must read while one is gone")
    with watching() as steal_monitor:
        steal_monitor.add_match()
        _until_awake(steal_monitor)
        size = losses_size(steal_monitor.descriptor)
        taker = threading.Thread(target=_takes_a_core, args=(cores[0], 0.5))
        os.sched_setaffinity(0, {cores[1]})
        taker.start()
        most, until = 0.0, time.monotonic() + 60
        while most < 0.1 and time.monotonic() < until:
            now = time.monotonic()
            moments = os.pread(steal_monitor.descriptor, size, OWN_BYTES + size)
            most = max(most, gone_seconds(moments, now))
            time.sleep(0.01)
        taker.join()
        os.sched_setaffinity(0, set(cores))
        assert most >= 0.1
        steal_monitor.remove_match()


def test_the_steal_monitor_rests_between_matches() -> None:
    core = min(os.sched_getaffinity(0))
    with watching() as steal_monitor:
        for _ in range(2):
            steal_monitor.add_match()
            _until_awake(steal_monitor)
            steal_monitor.remove_match()
            _until_awake(steal_monitor, False)
            before = _losses(steal_monitor)
            _takes_a_core(core, 0.1)
            time.sleep(0.02)
            assert _losses(steal_monitor) == before
        steal_monitor.add_match()
        _until_awake(steal_monitor)
        before = _losses(steal_monitor)
        _takes_a_core(core, 0.1)
        _until_lost(steal_monitor, before)


def _kill(steal_monitor: StealMonitor) -> None:
    assert steal_monitor._process is not None
    os.kill(steal_monitor._process.pid, signal.SIGKILL)
    steal_monitor._process.wait()


def test_losses_measured_before_a_steal_monitor_is_killed_stay() -> None:
    core = min(os.sched_getaffinity(0))
    with watching() as steal_monitor:
        steal_monitor.add_match()
        _until_awake(steal_monitor)
        _takes_a_core(core, 0.1)
        none = bytes(len(_losses(steal_monitor)))
        _until_lost(steal_monitor, none)
        _kill(steal_monitor)
        steal_monitor.add_match()
        _until_awake(steal_monitor)
        assert most_lost_seconds(none, _losses(steal_monitor)) > 0.09


def test_a_killed_steal_monitor_is_replaced_with_the_next_match() -> None:
    core = min(os.sched_getaffinity(0))
    with watching() as steal_monitor:
        steal_monitor.add_match()
        _until_awake(steal_monitor)
        _kill(steal_monitor)
        steal_monitor.add_match()
        _until_awake(steal_monitor)
        start = _losses(steal_monitor)
        _takes_a_core(core, 0.1)
        _until_lost(steal_monitor, start)


def test_the_shared_steal_record_is_read_only() -> None:
    with watching() as steal_monitor:
        steal_monitor.add_match()
        before = _losses(steal_monitor)
        anew = os.open(f"/proc/self/fd/{steal_monitor.descriptor}", os.O_RDWR)
        for act in (
            lambda: os.pwrite(anew, b"x", OWN_BYTES),
            lambda: os.ftruncate(anew, 0),
            lambda: os.ftruncate(anew, 1 << 20),
            lambda: mmap.mmap(anew, OWN_BYTES, mmap.MAP_SHARED),
        ):
            with pytest.raises(PermissionError):
                act()
        os.close(anew)
        _until_awake(steal_monitor)
        assert len(_losses(steal_monitor)) == len(before)


def test_matches_continue_without_a_steal_monitor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "no more processes")

    with watching() as steal_monitor:
        _kill(steal_monitor)
        with monkeypatch.context() as crowded:
            crowded.setattr(subprocess, "Popen", full)
            steal_monitor.add_match()
            assert not steal_monitor.is_awake
            steal_monitor.remove_match()
        steal_monitor.add_match()
        _until_awake(steal_monitor)


def test_the_steal_monitor_ends_with_its_node() -> None:
    source = (
        "import time; from sandbox.match.steal_monitor import StealMonitor as M; made = M();"
        " made.add_match();"
        "print(made._process.pid, flush=True); time.sleep(60)"
    )
    node = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert node.stdout is not None
    pid = int(node.stdout.readline())
    node.kill()
    node.communicate()
    give_up_at = time.monotonic() + 60
    while _runs(pid):
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    """Whether the process still runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
