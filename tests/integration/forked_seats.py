"""Seats whose processes the test itself forks, each in its own control group.

Harness, connection, meter and clock are real. No box surrounds the agent, so only trusted agents
may run here.
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
from sandbox.match.seat import MatchTiming, Seat
from sandbox.match.seeds import seat_seed
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
    """A child of this process in place of a box; it ends with the test."""

    def __init__(self, agent: socket.socket, meter: CpuMeter) -> None:
        self.socket, self.meter, self.memory_mb = agent, meter, 0

    def end(self) -> Ending:
        return Ending(exit_code=None, signal=None, out_of_memory=False, log=(), clean=True)


class Table:
    """Seats that answer questions without a game."""

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
        """The core time that the hypervisor took in the last move, which is forgiven."""
        questions = [
            seat.build_start_question(configuration, seat_seed(seed, seat.index))
            for seat in self.seats
        ]
        ask_all(questions, self.own, time.monotonic() + 60)
        for seat, question in zip(self.seats, questions, strict=True):
            seat.accept_start_answer(question)
            assert seat.fault is None, seat.fault

    def move(self, index: int = 0, **observation: Any) -> Any:
        """The answer of this seat, or its verdict; no other seat is asked."""
        self.step += 1
        seat = self.seats[index]
        before = self.meters[index].losses()
        question = seat.build_move_question(self.step, observation)
        if isinstance(question, Verdict):
            return question
        ask_all([question], self.own, time.monotonic() + 60)
        answer = seat.judge_answer(self.step, question, lambda raw: raw)
        self.lost_seconds = most_lost_seconds(before, self.meters[index].losses())
        return answer

    def last(self, index: int = 0) -> SeatAnswer:
        """The cost of this seat's last move."""
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
    """Start agents from the texts of their main.py.

    Each is forgiven ``waiting_seconds`` of waiting. A time-out that further waiting causes is
    HostTooSlow.
    """
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
    """Runs processes that use a core each without end. All of them run when the block begins."""
    pids = []
    running, report = os.pipe()
    try:
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                os.write(report, b".")
                _spin()
            pids.append(pid)
        for _ in range(count):
            assert os.read(running, 1) == b"."
        yield
    finally:
        os.close(running)
        os.close(report)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _spin() -> NoReturn:
    while True:
        pass


def _tree() -> Path:
    """The folder where version 2 control groups can be made; skips the test if there is none."""
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
    """The descriptor of a steal monitor's data; -1 where a node would have none."""
    if not (may_have_hypervisor() and may_run_above_others()):
        yield -1
        return
    steal_monitor = StealMonitor()
    steal_monitor.add_match()
    give_up_at = time.monotonic() + 60
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
    """Remove the group; killed processes leave it a moment after they are reaped."""
    give_up_at = time.monotonic() + 60
    while True:
        try:
            group.rmdir()
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > give_up_at:
                raise
        time.sleep(0.01)
