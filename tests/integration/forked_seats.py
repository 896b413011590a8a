"""Seats whose processes are forked by the test itself, each in a control group of its own.

The harness, the connection, the meter and the clock are the real ones; there is no box around the
agent, so these agents must be the test's own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import signal
import socket
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from games.protocol import Verdict
from sandbox.box import harness
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import CpuMeter, OwnRunQueue
from sandbox.match.loans import Ending, Loan
from sandbox.match.match_record import SeatAnswer
from sandbox.match.questions import ask_all
from sandbox.match.referee import seat_seed
from sandbox.match.seat import MatchTiming, Seat
from sandbox.match.steal_monitor import (
    StealMonitor,
    may_have_hypervisor,
    may_run_above_others,
    most_lost_seconds,
)

_FILES = {
    "cpu_stat": ("cpu.stat", os.O_RDONLY),
    "cpu_pressure": ("cpu.pressure", os.O_RDONLY),
    "freeze": ("cgroup.freeze", os.O_WRONLY),
    "kill": ("cgroup.kill", os.O_WRONLY),
}


class ForkedLoan(Loan):
    """A child of this process in the place of a box; it ends when the test does."""

    def __init__(self, agent: socket.socket, meter: CpuMeter) -> None:
        self.socket, self.meter, self.memory_mb = agent, meter, 0

    def end(self) -> Ending:
        return Ending(exit_code=None, signal=None, out_of_memory=False, log=(), clean=True)


class Table:
    """Seats that are asked for moves with no game between them."""

    def __init__(
        self,
        loans: Sequence[Loan],
        clock: Clock,
        seed: bytes,
        configuration: Mapping[str, Any],
        waiting_seconds: float,
    ) -> None:
        self.own = OwnRunQueue()
        timing = MatchTiming(clock, self.own, waiting_seconds, forgives_host=True)
        meters = [loan.meter for loan in loans]
        self.seats = [
            Seat(index, loan, timing, [*meters[:index], *meters[index + 1 :]])
            for index, loan in enumerate(loans)
        ]
        self.meters = meters
        self.step = 0
        self.lost_seconds = 0.0
        """What this machine's hypervisor took of a core in the last move, which is forgiven."""
        questions = [
            seat.starting(configuration, seat_seed(seed, seat.index)) for seat in self.seats
        ]
        ask_all(questions, self.own, time.monotonic() + 60)
        for seat, question in zip(self.seats, questions, strict=True):
            seat.started(question)
            assert seat.fault is None, seat.fault

    def move(self, index: int = 0, **observation: Any) -> Any:
        """What this seat answers, or its verdict; the others are not asked."""
        self.step += 1
        seat = self.seats[index]
        before = self.meters[index].losses()
        question = seat.asking(self.step, observation)
        if isinstance(question, Verdict):
            return question
        ask_all([question], self.own, time.monotonic() + 60)
        answer = seat.moved(self.step, question, lambda raw: raw)
        self.lost_seconds = most_lost_seconds(before, self.meters[index].losses())
        return answer

    def last(self, index: int = 0) -> SeatAnswer:
        """What the last move of this seat took."""
        return self.seats[index].record.answers[-1]


@contextlib.contextmanager
def seated(
    folder: Path,
    sources: Sequence[str],
    clock: Clock,
    seed: bytes = bytes(16),
    configuration: Mapping[str, Any] | None = None,
    waiting_seconds: float = 1e9,
) -> Iterator[Table]:
    """Start agents from the texts of their main.py. Each is forgiven ``waiting_seconds`` of
    waiting; a time-out that further waiting causes is HostTooSlow."""
    groups = _tree()
    with contextlib.ExitStack() as stack:
        lost = stack.enter_context(_watched())
        loans = [
            stack.enter_context(
                _forked(folder / f"seat{index}", textwrap.dedent(source), groups, lost)
            )
            for index, source in enumerate(sources)
        ]
        table = Table(loans, clock, seed, configuration or {}, waiting_seconds)
        stack.callback(table.own.close)
        yield table


@contextlib.contextmanager
def hogs(count: int) -> Iterator[None]:
    """Processes that want a core each, for ever."""
    pids = []
    try:
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                _spin()
            pids.append(pid)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _spin() -> NoReturn:
    while True:
        pass


def _tree() -> Path:
    """Where control groups of version 2 can be made; skips where they cannot."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            root = Path(where)
            if not (root / "cpu.pressure").exists() and not list(root.glob("*/cpu.pressure")):
                pytest.skip("the kernel gives no cpu.pressure")
            probe = root / f"peck-test-{secrets.token_hex(4)}"
            try:
                probe.mkdir()
                probe.rmdir()
            except OSError as error:
                pytest.skip(f"no control group can be made under {root}: {error.strerror}")
            return root
    pytest.skip("no cgroup2 file system is mounted")


@contextlib.contextmanager
def _watched() -> Iterator[int]:
    """The descriptor of what a steal monitor sees; -1 where a node would have none."""
    if not (may_have_hypervisor() and may_run_above_others()):
        yield -1
        return
    steal_monitor = StealMonitor()
    steal_monitor.begins()
    give_up_at = time.monotonic() + 10
    while not steal_monitor.is_awake:
        assert time.monotonic() < give_up_at
        time.sleep(0.001)
    try:
        yield steal_monitor.descriptor
    finally:
        steal_monitor.close()


@contextlib.contextmanager
def _forked(folder: Path, source: str, groups: Path, lost: int) -> Iterator[ForkedLoan]:
    folder.mkdir()
    (folder / "main.py").write_text(source)
    group = groups / f"peck-test-{secrets.token_hex(4)}"
    group.mkdir()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        _child(theirs, folder, group)
    theirs.close()
    opened = {name: os.open(group / file, flags) for name, (file, flags) in _FILES.items()}
    opened["schedstat"] = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)
    if lost >= 0:
        opened["lost"] = os.dup(lost)
    meter = CpuMeter(opened, 1.0, False)
    try:
        yield ForkedLoan(ours, meter)
    finally:
        meter.kill()
        os.waitpid(pid, 0)
        meter.close()
        ours.close()
        _remove(group)


def _child(sock: socket.socket, folder: Path, group: Path) -> NoReturn:
    try:
        (group / "cgroup.procs").write_text("0")
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        sock.settimeout(None)
        harness.serve_agent(sock, str(folder), b"mark:")
    finally:
        os._exit(0)


def _remove(group: Path) -> None:
    """Killed processes leave their group a moment after they were reaped."""
    give_up_at = time.monotonic() + 10
    while True:
        try:
            group.rmdir()
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > give_up_at:
                raise
        time.sleep(0.01)
