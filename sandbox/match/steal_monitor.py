"""Measures how long the hypervisor took each core of a virtual machine away, from inside.

A hypervisor seldom reports this. A pause of the machine, or a page that the host must fetch first,
counts as CPU time of the process that ran. So one thread per core, above all other threads
(``SCHED_FIFO``), sleeps short steps. If it wakes late, the core was gone for that long. It runs
first when the core comes back, so it records the loss before an agent can answer.

Part of each loss lies within a step and is missed: half a step of a long loss, most of a loss
shorter than a step.

The node runs this file as a script and lends its memory with every seat. The memory holds two
doubles per core, first all losses and then all moments: the total loss in seconds, and when the
thread wakes next, on the monotonic clock. A thread that is overdue shows that its core is gone at
the moment. The threads sleep while nothing is lent.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import math
import mmap
import os
import select
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

STEP_SECONDS: Final = 0.002
"""Sleep of a thread on few cores. On many cores it is longer, because the threads share an
interpreter. Of a shorter loss only a part is seen.
"""
STEP_SECONDS_A_CORE: Final = 0.0001
LEAST_SECONDS: Final = 0.001
"""Shorter delays are interrupts or kernel work."""
REST_SECONDS: Final = 2.0
"""Time without a loan until the threads stop."""
START_SECONDS: Final = 10.0
LONGEST_SECONDS: Final = 1.0
"""A thread overdue for longer has been killed."""
_WORD: Final = struct.Struct("d")
_PRIORITY: Final = 1  # lowest of SCHED_FIFO, above all threads of other classes
_AWAKE: Final = 0  # word before the losses: whether the threads are awake
_MATCHES: Final = 8  # word before the losses: number of matches
OWN_BYTES: Final = 16
MOST_STARTS: Final = 16
_SEALS: Final = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | 0x10
"""The last is F_SEAL_FUTURE_WRITE, from Linux 5.1 on."""
_STACK_BYTES: Final = 1 << 18
_LOCK_ALL: Final = 3  # MCL_CURRENT | MCL_FUTURE
_READY: Final = b"ready\n"


class StealMonitor:
    """The node's end: starts the process and reports when something is lent."""

    def __init__(self) -> None:
        """Start the process.

        Raises OSError if it may not use SCHED_FIFO or not run on every core.
        """
        if len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
            raise PermissionError(
                "not every core can be watched: boxes may run on other cores than the node"
            )
        self._size = OWN_BYTES + 2 * _WORD.size * _possible_cores()
        self._lock = threading.Lock()
        self._matches = 0
        self._memory = mmap.mmap(-1, self._size)
        self._process: subprocess.Popen[bytes] | None = None
        self._lent: list[int] = []
        self._start()

    @property
    def descriptor(self) -> int:
        """Descriptor of the losses, read-only for borrowers. Lent with every seat."""
        return self._lent[-1]

    @property
    def is_awake(self) -> bool:
        """Whether the threads watch."""
        return _read_word(self._memory, _AWAKE) > 0

    def add_match(self) -> None:
        """Note that a match's boxes are lent."""
        with self._lock:
            self._matches += 1
            self._write(_MATCHES, self._matches)
            if self._process is None or self._process.poll() is not None:
                self._again()
            if not self.is_awake and self._process and self._process.stdin:
                with contextlib.suppress(OSError):
                    self._process.stdin.write(b".")

    def remove_match(self) -> None:
        """Note that a match's boxes are back."""
        with self._lock:
            self._matches -= 1
            self._write(_MATCHES, self._matches)

    def close(self) -> None:
        """End the process. Safe to repeat."""
        with self._lock:
            self._end()
            for descriptor in self._lent:
                os.close(descriptor)
            self._lent.clear()

    def _again(self) -> None:
        """Restart the killed process. Losses in between are missed.

        If the restart fails, the next match tries again. After many restarts nobody does.
        """
        self._end()
        if len(self._lent) < MOST_STARTS:
            with contextlib.suppress(OSError):
                self._start()

    def _start(self) -> None:
        """Start a process with new memory that has the totals so far. Raises OSError."""
        shared = os.memfd_create("steal_monitor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(shared, self._size)
            memory = mmap.mmap(shared, self._size)
            memory[:] = self._memory[:]
            _WORD.pack_into(memory, _AWAKE, 0)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(shared)],
                stdin=subprocess.PIPE,  # closes when the node dies, in whatever way
                stdout=subprocess.PIPE,
                bufsize=0,
                pass_fds=(shared,),
            )
            self._process, self._memory = process, memory
            assert process.stdout is not None
            said = select.select([process.stdout], [], [], START_SECONDS)[0]
            if not said or process.stdout.readline() != _READY:
                raise PermissionError("no thread may run above all others (CAP_SYS_NICE)")
            # Both sides have mapped it. A borrower could reopen it for writing; the seals prevent
            # this.
            fcntl.fcntl(shared, fcntl.F_ADD_SEALS, _SEALS)
        except BaseException:
            os.close(shared)
            self._end()
            raise
        self._lent.append(shared)  # stays open: it may be on its way to a worker

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None

    def _write(self, word: int, value: float) -> None:
        _WORD.pack_into(self._memory, word, value)


def losses_size(descriptor: int) -> int:
    """Number of bytes of the losses, which begin at ``OWN_BYTES``. The moments follow."""
    return (os.fstat(descriptor).st_size - OWN_BYTES) // 2


def most_lost_seconds(before: bytes, after: bytes) -> float:
    """Seconds that the core with the largest loss was gone between two readings."""
    if before == after or len(before) != len(after):
        return 0.0
    first, second = array.array("d", before), array.array("d", after)
    return max(map(float.__sub__, second, first))


def gone_seconds(moments: bytes, now: float) -> float:
    """Seconds for which the core that is gone longest has been gone at ``now``; 0 if none is.

    ``now`` is from before the reading of these moments.
    """
    overdue = [now - due for due in array.array("d", moments)]
    gone = [late for late in overdue if LEAST_SECONDS < late < LONGEST_SECONDS]
    return max(gone, default=0.0)


def may_have_hypervisor(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the machine may have a hypervisor: the CPU flag is set, or the CPU has no flags."""
    try:
        text = cpuinfo.read_text()
    except OSError:
        return True
    flags = [line for line in text.splitlines() if line.startswith("flags")]
    return not flags or any("hypervisor" in line.split() for line in flags)


def may_run_above_others() -> bool:
    """Whether this process may run SCHED_FIFO threads, and on every core."""
    if len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        return False
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except OSError:
        return False
    os.sched_setscheduler(0, policy, parameter)
    return True


def _possible_cores() -> int:
    """One more than the highest possible core number."""
    try:
        text = Path("/sys/devices/system/cpu/possible").read_text()
        return int(text.strip().split(",")[-1].split("-")[-1]) + 1
    except (OSError, ValueError):
        return max(os.sched_getaffinity(0)) + 1


def _read_word(memory: mmap.mmap, word: int) -> float:
    return float(_WORD.unpack_from(memory, word)[0])


class _CoreWatchers:
    """The process's side: the threads, and whether they watch."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._awake = threading.Event()

    def start(self) -> None:
        """Start a thread on each core. Raises OSError if SCHED_FIFO is not allowed."""
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
        threading.stack_size(_STACK_BYTES)
        ctypes.CDLL(None).mlockall(_LOCK_ALL)  # if refused, a page fault can make it late
        self._step_seconds = max(STEP_SECONDS, STEP_SECONDS_A_CORE * len(os.sched_getaffinity(0)))
        for core in sorted(os.sched_getaffinity(0)):
            threading.Thread(target=self._watch, args=(core,), daemon=True).start()

    def serve(self) -> None:
        """Wake and rest as the node says. Returns when the node has gone."""
        asleep_at = time.monotonic()
        while True:
            patience = REST_SECONDS / 2 if self._awake.is_set() else None
            if select.select([0], [], [], patience)[0] and not os.read(0, 64):
                return
            now = time.monotonic()
            if _read_word(self._memory, _MATCHES) > 0:
                asleep_at = now + REST_SECONDS
                self._set_awake(True)
            elif now >= asleep_at:
                self._set_awake(False)
                if (
                    _read_word(self._memory, _MATCHES) > 0
                ):  # a loan began just now and nobody woke us
                    self._set_awake(True)

    def _set_awake(self, awake: bool) -> None:
        _WORD.pack_into(self._memory, _AWAKE, awake)
        (self._awake.set if awake else self._awake.clear)()

    def _watch(self, core: int) -> None:
        os.sched_setaffinity(0, {core})
        # Continue the totals of a killed predecessor.
        at = OWN_BYTES + core * _WORD.size
        moment_at = at + (len(self._memory) - OWN_BYTES) // 2
        (lost,) = _WORD.unpack_from(self._memory, at)
        while True:
            self._awake.wait()
            due = time.monotonic() + self._step_seconds
            while self._awake.is_set():
                _WORD.pack_into(self._memory, moment_at, due)
                time.sleep(max(0.0, due - time.monotonic()))
                now = time.monotonic()
                if now - due > LEAST_SECONDS:
                    lost += now - due
                    _WORD.pack_into(self._memory, at, lost)
                due = now + self._step_seconds
            _WORD.pack_into(self._memory, moment_at, math.inf)


def main() -> int:
    """Watch the cores until standard input ends. Returns 1 if that is not allowed."""
    cores = _CoreWatchers(mmap.mmap(int(sys.argv[1]), 0))
    try:
        cores.start()
    except OSError:
        return 1
    os.write(1, _READY)
    cores.serve()
    return 0


if __name__ == "__main__":
    os._exit(main())  # ends the threads too
