"""Reads from outside the box how much CPU time a seat used and how long it waited for a core.

The node opens files of the control group of a match's child. It lends their descriptors with the
seat. They give the worker power over this one group only. Times are totals in seconds since the
group was made.

If the group is gone, because its box was removed, ``is_gone`` is true. Then the totals stay as they
are, and freezing or killing does nothing. Nothing is raised, because the seat's connection is
closed too and the referee judges that.

``DelayMonitor`` serves nodes whose kernel does not report waiting for a core. It shows only that in
some interval even an almost idle thread had to wait.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import threading
from collections import deque
from collections.abc import Mapping
from time import monotonic
from types import TracebackType
from typing import Final

from sandbox.match import steal_monitor

_TOTAL: Final = re.compile(rb"total=(\d+)")
_USAGE: Final = len(b"usage_usec ")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_CORES: Final = os.cpu_count() or 1
RECENT_SECONDS: Final = 0.001
_OWN_SCHEDSTAT: Final = "/proc/thread-self/schedstat"


class CpuMeter:
    """The control group of one seat. Owns its descriptors.

    Descriptors by name: ``cpu_stat``, ``cpu_pressure``, ``freeze`` and ``kill`` are files of the
    group. ``schedstat`` belongs to the main thread of the match's child. ``lost`` comes from the
    node's steal monitor. Any of them may be missing.
    """

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
        "_recent_at",
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
        self._recent_at = -math.inf
        self.contended_seconds = 0.0
        """Time a thread waited while another thread of the group ran, at the last reading of
        pressure. With one core granted, the group itself causes this wait.
        """
        self.cpus = cpus
        """Number of cores granted: one second of charge pays for this many seconds of CPU time."""
        self.by_wall = by_wall
        """Whether to charge wall time because CPU time does not show the work (GPU)."""
        self.is_frozen = False
        self.is_gone = False

    @property
    def has_cpu(self) -> bool:
        return self._cpu >= 0

    @property
    def can_forgive(self) -> bool:
        """Whether waiting for a core can be told from sleeping, so that it can be forgiven."""
        return self._cpu >= 0 and self._pressure >= 0 and not self.by_wall

    def cpu_seconds(self) -> float:
        """The CPU time of all processes of the group.

        Time since the last tick of a core that runs a thread right now may be missing.
        """
        if self._cpu >= 0:
            try:
                data = os.pread(self._cpu, 64, 0)
                self._cpu_seconds = int(data[_USAGE : data.index(b"\n")]) * 1e-6
            except (OSError, ValueError):
                self.is_gone = True
        return self._cpu_seconds

    def recent_cpu_seconds(self, now: float) -> float:
        """The CPU time at ``now`` of the monotonic clock, or up to ``RECENT_SECONDS`` before.

        The seats that are asked together read each other's.
        """
        if abs(now - self._recent_at) > RECENT_SECONDS:
            self._recent_at = now
            return self.cpu_seconds()
        return self._cpu_seconds

    @property
    def last_cpu_seconds(self) -> float:
        return self._cpu_seconds

    def pressure_seconds(self) -> float:
        """How long the group wanted to run and none of its threads had a core: the ``full`` line.

        Kernels before 5.13 report only how long at least one thread waited.
        """
        if self._pressure >= 0:
            try:
                some, *full = _TOTAL.findall(os.pread(self._pressure, 256, 0))
                self._pressure_seconds = int(full[0] if full else some) * 1e-6
                self.contended_seconds = int(some) * 1e-6 - self._pressure_seconds
            except (OSError, ValueError):
                self.is_gone = True
        return self._pressure_seconds

    def queue_seconds(self) -> float:
        """How long the child's main thread stood in the run queue, to the nanosecond.

        Pressure is only as precise as the kernel's bookkeeping.
        """
        if self._schedstat >= 0:
            try:
                self._queue_seconds = int(os.pread(self._schedstat, 64, 0).split()[1]) * 1e-9
            except (OSError, ValueError, IndexError):
                # The main thread has ended, so it waits no more. The group may live on.
                os.close(self._descriptors.pop("schedstat"))
                self._schedstat = -1
        return self._queue_seconds

    def losses(self) -> bytes:
        """The losses that the node's steal monitor saw; see ``steal_monitor.most_lost_seconds``."""
        if self._lost < 0:
            return b""
        return os.pread(self._lost, self._lost_bytes, steal_monitor.OWN_BYTES)

    def gone_seconds(self, now: float) -> float:
        """For how long a core has been gone at ``now``, by the node's steal monitor."""
        if self._lost < 0:
            return 0.0
        moments_at = steal_monitor.OWN_BYTES + self._lost_bytes
        return steal_monitor.gone_seconds(os.pread(self._lost, self._lost_bytes, moments_at), now)

    def freeze(self) -> None:
        self.is_frozen = self._write(self._freeze, b"1") or self.is_frozen

    def thaw(self) -> None:
        self._write(self._freeze, b"0")
        self.is_frozen = False

    def kill(self) -> None:
        """Kill every process of the group, frozen or not.

        The box's zygote is one of them, so the box ends too. For a worker that cannot wait for the
        node.
        """
        self._write(self._kill, b"1")

    def close(self) -> None:
        """Close the descriptors. Safe to repeat. The totals keep their last values."""
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
    """How long this thread itself stood in the run queue and so saw an answer too late.

    Always 0 if the kernel does not report it. After the question was sent, only the last wait
    counts. The agent worked or waited during the earlier ones, so they would be forgiven twice.
    """

    __slots__ = ("_asked_at", "_asked_seconds", "_blocked_at", "_blocked_seconds", "_descriptor")

    def __init__(self) -> None:
        self._asked_at = self._asked_seconds = self._blocked_at = self._blocked_seconds = 0.0
        try:
            self._descriptor = os.open(_OWN_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1

    def mark_asking(self) -> None:
        """Call before a group of questions is sent."""
        self._asked_at = monotonic()
        self._asked_seconds = self._total()

    def mark_blocking(self) -> None:
        """Call before each sleep until something arrives."""
        self._blocked_seconds = self._total()
        self._blocked_at = monotonic()

    def since_asked_seconds(self) -> float:
        """How long the thread has stood in the run queue since ``asks``."""
        return max(0.0, self._total() - self._asked_seconds)

    def waited_seconds(self, started_at: float, until: float) -> float:
        """How much too late, because of its own waiting, the thread saw what it sees at ``until``.

        The question began at ``started_at``.
        """
        total, after = self._total(), monotonic() - until
        waited = max(0.0, total - self._blocked_seconds - after)
        if until - self._blocked_at - waited < _AWAKE_SECONDS:
            # The thread never slept: the answer was there already.
            outside = started_at - self._asked_at + after
            waited = max(waited, total - self._asked_seconds - outside)
        return waited

    def close(self) -> None:
        """Close the descriptor. Safe to repeat."""
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
    """How long the hypervisor took a core away, by its own report: seconds, averaged over all
    cores.

    The kernel counts in steps of 10 ms.
    """

    __slots__ = ("_descriptor", "_read_at", "_seconds")

    def __init__(self, path: str = "/proc/stat") -> None:
        self._seconds, self._read_at = 0.0, -math.inf
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1

    def seconds(self, now: float, most_age_seconds: float = 0.0) -> float:
        """The total at ``now`` of the monotonic clock, at most ``most_age_seconds`` old."""
        if self._descriptor >= 0 and now - self._read_at >= most_age_seconds:
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = os.pread(self._descriptor, 256, 0).split(b"\n", 1)[0].split()
                self._seconds = int(fields[8]) / _TICKS / _CORES
            self._read_at = now
        return self._seconds


STEP_SECONDS: Final = 0.005
_NOTED_SECONDS: Final = 0.002
_KEPT: Final = 4096


class DelayMonitor:
    """Measures within a ``with`` block, in the process whose node is in doubt."""

    def __init__(self) -> None:
        self._late: deque[tuple[float, float]] = deque(maxlen=_KEPT)
        self._due_at = monotonic() + STEP_SECONDS
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="delay monitor", daemon=True)

    def lag_seconds(self, since: float) -> float:
        """The worst delay after ``since`` (monotonic clock), an overdue step included.

        It keeps the last 4096 late steps.
        """
        overdue = monotonic() - self._due_at
        lags = [lag for at, lag in tuple(self._late) if at >= since]
        return max(0.0, overdue, *lags)

    def __enter__(self) -> DelayMonitor:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._due_at = monotonic() + STEP_SECONDS
            if self._stop.wait(STEP_SECONDS):
                return
            now = monotonic()
            if now - self._due_at > _NOTED_SECONDS:
                self._late.append((now, now - self._due_at))
