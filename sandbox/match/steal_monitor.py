"""How long each core of a virtual machine was gone, seen from inside by somebody who is never late.

A hypervisor takes cores away, and seldom tells: a pause of the machine, or a page that its host has
to fetch first, is in nobody's account of stolen time and in the cpu time of whoever ran. So one
thread for each core, above all others of the machine (``SCHED_FIFO``), sleeps short steps; by as
much as it wakes late the core was gone. It is the first to run when the core comes back, so that is
written down before an agent that suffered it can answer. The part of a loss that lies within a step
is not seen: half a step of a long one, most of one shorter than a step.

The node starts the process (this file, run as a script) and lends its memory with every seat: one
double a core, the running total in seconds. The threads sleep for good while nothing is lent.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
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
"""On few cores; on many it is longer, as their threads share an interpreter. Of a loss shorter than
that only part is seen."""
STEP_SECONDS_A_CORE: Final = 0.0001
LEAST_SECONDS: Final = 0.001
"""Less than this is an interrupt, or the kernel at work for others."""
REST_SECONDS: Final = 2.0
"""How long nothing is lent before the threads stop."""
START_SECONDS: Final = 10.0
_WORD: Final = struct.Struct("d")
_PRIORITY: Final = 1  # the lowest of its class, and above everything that is not of it
_AWAKE: Final = 0  # before the losses: whether the threads are awake,
_MATCHES: Final = 8  # and how many matches there are
OWN_BYTES: Final = 16
MOST_STARTS: Final = 16
_SEALS: Final = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | 0x10
"""The last: F_SEAL_FUTURE_WRITE, from Linux 5.1 on."""
_STACK_BYTES: Final = 1 << 18
_LOCK_ALL: Final = 3  # MCL_CURRENT | MCL_FUTURE
_READY: Final = b"ready\n"


class StealMonitor:
    """The node's end: starts the process, and tells it when something is lent."""

    def __init__(self) -> None:
        """OSError where the process may not run above all others, or not on every core."""
        if len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
            raise PermissionError("not every core may be watched: boxes may run on others than we")
        self._size = OWN_BYTES + _WORD.size * _possible_cores()
        self._lock = threading.Lock()
        self._matches = 0
        self._memory = mmap.mmap(-1, self._size)
        self._process: subprocess.Popen[bytes] | None = None
        self._lent: list[int] = []
        self._start()

    @property
    def descriptor(self) -> int:
        """The losses, which nobody can write who is given it; lent with every seat."""
        return self._lent[-1]

    @property
    def is_awake(self) -> bool:
        """Whether it watches."""
        return _read_word(self._memory, _AWAKE) > 0

    def begins(self) -> None:
        """A match's boxes are lent."""
        with self._lock:
            self._matches += 1
            self._write(_MATCHES, self._matches)
            if self._process is None or self._process.poll() is not None:
                self._again()
            if not self.is_awake and self._process and self._process.stdin:
                with contextlib.suppress(OSError):
                    self._process.stdin.write(b".")

    def ends(self) -> None:
        """They are back."""
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
        """Somebody killed it; what was lost meanwhile nobody saw. Where it cannot be had again, the
        next match tries; after many times nobody does."""
        self._end()
        if len(self._lent) < MOST_STARTS:
            with contextlib.suppress(OSError):
                self._start()

    def _start(self) -> None:
        """A new process and new memory for it, with the totals so far; OSError."""
        shared = os.memfd_create("steal_monitor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(shared, self._size)
            memory = mmap.mmap(shared, self._size)
            memory[:] = self._memory[:]
            _WORD.pack_into(memory, _AWAKE, 0)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(shared)],
                stdin=subprocess.PIPE,  # its end, when the node dies in whatever way
                stdout=subprocess.PIPE,
                bufsize=0,
                pass_fds=(shared,),
            )
            self._process, self._memory = process, memory
            assert process.stdout is not None
            said = select.select([process.stdout], [], [], START_SECONDS)[0]
            if not said or process.stdout.readline() != _READY:
                raise PermissionError("no thread may run above all others (CAP_SYS_NICE)")
            # Both have mapped it; whoever is lent it could open it anew to write, and cannot now.
            fcntl.fcntl(shared, fcntl.F_ADD_SEALS, _SEALS)
        except BaseException:
            os.close(shared)
            self._end()
            raise
        self._lent.append(shared)  # earlier ones stay open: they may be on their way to a worker

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
    """How many bytes are the losses, which begin at ``OWN_BYTES``."""
    return os.fstat(descriptor).st_size - OWN_BYTES


def most_lost_seconds(before: bytes, after: bytes) -> float:
    """Seconds by which the core that lost most was gone between two readings of the losses."""
    if before == after or len(before) != len(after):
        return 0.0
    first, second = array.array("d", before), array.array("d", after)
    return max(map(float.__sub__, second, first))


def may_have_hypervisor(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether there may be a hypervisor: its flag, or a processor that has no flags to tell."""
    try:
        text = cpuinfo.read_text()
    except OSError:
        return True
    flags = [line for line in text.splitlines() if line.startswith("flags")]
    return not flags or any("hypervisor" in line.split() for line in flags)


def may_run_above_others() -> bool:
    """Whether this process may run threads above all others, and on every core."""
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
    """One more than the highest number that a core can have here."""
    try:
        text = Path("/sys/devices/system/cpu/possible").read_text()
        return int(text.strip().split(",")[-1].split("-")[-1]) + 1
    except (OSError, ValueError):
        return max(os.sched_getaffinity(0)) + 1


def _read_word(memory: mmap.mmap, word: int) -> float:
    return float(_WORD.unpack_from(memory, word)[0])


class _CoreWatchers:
    """The process's side: its threads, and whether they watch."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._awake = threading.Event()

    def start(self) -> None:
        """A thread on each core; OSError where it may not be above all others."""
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
        threading.stack_size(_STACK_BYTES)
        ctypes.CDLL(None).mlockall(_LOCK_ALL)  # where that is refused, it can be late for a page
        self._step_seconds = max(STEP_SECONDS, STEP_SECONDS_A_CORE * len(os.sched_getaffinity(0)))
        for core in sorted(os.sched_getaffinity(0)):
            threading.Thread(target=self._watch, args=(core,), daemon=True).start()

    def serve(self) -> None:
        """Wake and rest as the node says; returns when the node has gone."""
        asleep_at = time.monotonic()
        while True:
            patience = REST_SECONDS / 2 if self._awake.is_set() else None
            if select.select([0], [], [], patience)[0] and not os.read(0, 64):
                return
            now = time.monotonic()
            if _read_word(self._memory, _MATCHES) > 0:
                asleep_at = now + REST_SECONDS
                self._say(True)
            elif now >= asleep_at:
                self._say(False)
                if (
                    _read_word(self._memory, _MATCHES) > 0
                ):  # lent while we said so, and nobody woke us
                    self._say(True)

    def _say(self, awake: bool) -> None:
        _WORD.pack_into(self._memory, _AWAKE, awake)
        (self._awake.set if awake else self._awake.clear)()

    def _watch(self, core: int) -> None:
        os.sched_setaffinity(0, {core})
        # Where another has watched before and was killed, its totals go on.
        at = OWN_BYTES + core * _WORD.size
        (lost,) = _WORD.unpack_from(self._memory, at)
        while True:
            self._awake.wait()
            due = time.monotonic() + self._step_seconds
            while self._awake.is_set():
                time.sleep(max(0.0, due - time.monotonic()))
                now = time.monotonic()
                if now - due > LEAST_SECONDS:
                    lost += now - due
                    _WORD.pack_into(self._memory, at, lost)
                due = now + self._step_seconds


def main() -> int:
    """Watch the cores until standard input ends; 1 where that is not allowed."""
    cores = _CoreWatchers(mmap.mmap(int(sys.argv[1]), 0))
    try:
        cores.start()
    except OSError:
        return 1
    os.write(1, _READY)
    cores.serve()
    return 0


if __name__ == "__main__":
    os._exit(main())  # its threads end with it
