"""What the kernel says one seat's processes used and waited for, read from outside the box.

The node opens the files of the group that holds a match's child and its descendants, and lends
their descriptors with the seat; an open descriptor is all the power there is over that one group.
Times are running totals in seconds since the group was made.

A group that is gone (the box was removed under the match) has nothing more to tell: its totals
stand still, freezing and killing it do nothing, and ``is_gone`` says so. Nothing is raised, because
the seat's connection is closed as well, and that is where its end is judged.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Mapping
from time import monotonic
from typing import Final

from sandbox.match import steal_monitor

_TOTAL: Final = re.compile(rb"total=(\d+)")
_USAGE: Final = len(b"usage_usec ")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_CORES: Final = os.cpu_count() or 1
_OWN_SCHEDSTAT: Final = "/proc/thread-self/schedstat"


class CpuMeter:
    """One seat's group; owns the descriptors it was given, by name: ``cpu_stat``,
    ``cpu_pressure``, ``freeze``, ``kill`` (files of the group), ``schedstat`` (of the main thread
    of the match's child) and ``lost`` (the node's steal monitor). Any of them may be missing."""

    __slots__ = (
        "_cpu",
        "_cpu_seconds",
        "_descriptors",
        "_freeze",
        "_kill",
        "_lost",
        "_lost_bytes",
        "_pressure",
        "_pressure_seconds",
        "_queue_seconds",
        "_schedstat",
        "by_wall",
        "contended_seconds",
        "cpus",
        "is_frozen",
        "is_gone",
    )

    def __init__(self, descriptors: Mapping[str, int], cpus: float, by_wall: bool) -> None:
        self._descriptors = dict(descriptors)
        self._cpu = self._descriptors.get("cpu_stat", -1)
        self._pressure = self._descriptors.get("cpu_pressure", -1)
        self._schedstat = self._descriptors.get("schedstat", -1)
        self._freeze = self._descriptors.get("freeze", -1)
        self._kill = self._descriptors.get("kill", -1)
        self._lost = self._descriptors.get("lost", -1)
        self._lost_bytes = steal_monitor.losses_size(self._lost) if self._lost >= 0 else 0
        self._cpu_seconds = self._pressure_seconds = self._queue_seconds = 0.0
        self.contended_seconds = 0.0
        """How long a thread waited while another thread of the group ran, by the last reading of
        pressure. With one core granted, the group itself causes this wait."""
        self.cpus = cpus
        """How many cores' time the seat was granted: one second of charge buys as many of cpu."""
        self.by_wall = by_wall
        """Whether its work cannot be seen in cpu time (a GPU's): it is charged by the wall."""
        self.is_frozen = False
        self.is_gone = False

    @property
    def has_cpu(self) -> bool:
        """Whether the seat's cpu time is known."""
        return self._cpu >= 0

    @property
    def can_forgive(self) -> bool:
        """Whether waiting for a core can be told from sleeping, so that it need not be charged."""
        return self._cpu >= 0 and self._pressure >= 0 and not self.by_wall

    @property
    def can_freeze(self) -> bool:
        """Whether the seat can be stopped between its moves."""
        return self._freeze >= 0

    def cpu_seconds(self) -> float:
        """The cpu time of all processes of the group; what a thread used since the last tick of
        the core it runs on right now may be missing."""
        if self._cpu >= 0:
            try:
                data = os.pread(self._cpu, 64, 0)
                self._cpu_seconds = int(data[_USAGE : data.index(b"\n")]) * 1e-6
            except (OSError, ValueError):
                self.is_gone = True
        return self._cpu_seconds

    def pressure_seconds(self) -> float:
        """How long the group's threads could run but none of them had a core: the ``full`` line.
        Kernels before 5.13 report only how long at least one thread waited."""
        if self._pressure >= 0:
            try:
                some, *full = _TOTAL.findall(os.pread(self._pressure, 256, 0))
                self._pressure_seconds = int(full[0] if full else some) * 1e-6
                self.contended_seconds = int(some) * 1e-6 - self._pressure_seconds
            except (OSError, ValueError):
                self.is_gone = True
        return self._pressure_seconds

    def queue_seconds(self) -> float:
        """How long the child's main thread stood in the run queue; to the nanosecond, where
        pressure is only as fine as the kernel's bookkeeping."""
        if self._schedstat >= 0:
            try:
                self._queue_seconds = int(os.pread(self._schedstat, 64, 0).split()[1]) * 1e-9
            except (OSError, ValueError, IndexError):
                # The main thread has ended, which the group may outlive: it waits no more.
                os.close(self._descriptors.pop("schedstat"))
                self._schedstat = -1
        return self._queue_seconds

    def losses(self) -> bytes:
        """What the node's steal monitor has seen of its cores; see ``steal_monitor.most_lost``."""
        if self._lost < 0:
            return b""
        return os.pread(self._lost, self._lost_bytes, steal_monitor.OWN_BYTES)

    def freeze(self) -> None:
        """Stop every process of the group where it stands."""
        self.is_frozen = self._write(self._freeze, b"1") or self.is_frozen

    def thaw(self) -> None:
        """Let them go on."""
        self._write(self._freeze, b"0")
        self.is_frozen = False

    def kill(self) -> None:
        """End every process of the group, a frozen one too. The box's zygote is among them, so
        this ends the box as well: for a worker that cannot wait for the node."""
        self._write(self._kill, b"1")

    def close(self) -> None:
        """Give the descriptors back; safe to repeat. The totals stay as they were last read."""
        while self._descriptors:
            with contextlib.suppress(OSError):
                os.close(self._descriptors.popitem()[1])
        self._cpu = self._pressure = self._schedstat = self._freeze = self._kill = self._lost = -1

    def _write(self, descriptor: int, data: bytes) -> bool:
        if descriptor < 0:
            return False
        try:
            os.pwrite(descriptor, data, 0)
        except OSError:
            self.is_gone = True
            return False
        return True


_AWAKE_SECONDS: Final = 0.00005


class OwnRunQueue:
    """How long the thread that made this stood in the run queue itself: time by which it saw an
    answer too late. Always 0 where the kernel does not tell.

    Of the waits after the question was out only the last one counts: what the thread waited earlier
    passed while the agent was at work, or waited too, and would be forgiven twice.
    """

    __slots__ = ("_asked_at", "_asked_seconds", "_blocked_at", "_blocked_seconds", "_descriptor")

    def __init__(self) -> None:
        self._asked_at = self._asked_seconds = self._blocked_at = self._blocked_seconds = 0.0
        try:
            self._descriptor = os.open(_OWN_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1

    def asks(self) -> None:
        """Before the questions that are asked together."""
        self._asked_at = monotonic()
        self._asked_seconds = self._total()

    def blocks(self) -> None:
        """Before each time the thread goes to sleep until something comes."""
        self._blocked_seconds = self._total()
        self._blocked_at = monotonic()

    def since_asked_seconds(self) -> float:
        """How long the thread has stood in the run queue since ``asks``."""
        return max(0.0, self._total() - self._asked_seconds)

    def waited_seconds(self, started_at: float, until: float) -> float:
        """By how much of its own waiting the thread saw too late what it sees at ``until``, of a
        question that began at ``started_at``."""
        total, after = self._total(), monotonic() - until
        waited = max(0.0, total - self._blocked_seconds - after)
        if until - self._blocked_at - waited < _AWAKE_SECONDS:
            # It never slept: the answer was there before, perhaps while it waited to come this far.
            outside = started_at - self._asked_at + after
            waited = max(waited, total - self._asked_seconds - outside)
        return waited

    def close(self) -> None:
        """Safe to repeat."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _total(self) -> float:
        if self._descriptor >= 0:
            try:
                return int(os.pread(self._descriptor, 64, 0).split()[1]) * 1e-9
            except (OSError, ValueError, IndexError):
                self.close()
        return 0.0


class StolenTime:
    """How long a hypervisor took a core of this machine away as far as it tells, in seconds, as an
    average over all cores. The kernel counts in steps of 10 ms.
    """

    __slots__ = ("_descriptor", "_read_at", "_seconds")

    def __init__(self, path: str = "/proc/stat") -> None:
        self._seconds, self._read_at = 0.0, -math.inf
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1

    def seconds(self, now: float, most_age_seconds: float = 0.0) -> float:
        """The running total at ``now`` of the monotonic clock, or so long before it."""
        if self._descriptor >= 0 and now - self._read_at >= most_age_seconds:
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = os.pread(self._descriptor, 256, 0).split(b"\n", 1)[0].split()
                self._seconds = int(fields[8]) / _TICKS / _CORES
            self._read_at = now
        return self._seconds
