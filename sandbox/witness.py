"""How long each core of a virtual machine was gone, seen from inside by somebody who is never late.

A hypervisor takes cores away, and seldom tells: a pause of the machine, or a page that its host has
to fetch first, is in nobody's account of stolen time and in the cpu time of whoever ran. So one
thread for each core, above all others of the machine (``SCHED_FIFO``), sleeps short steps; by as
much as it wakes late the core was gone. It is the first to run when the core comes back, so a loss
is written down before an agent that suffered it can answer.

The node starts the process (this file, run as a script) and lends its memory with every seat: one
double a core, the running total in seconds. The threads sleep for good while nothing is lent.
"""

from __future__ import annotations

import array
import contextlib
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

STEP_SECONDS: Final = 0.005
LEAST_SECONDS: Final = 0.001
"""Less than this is an interrupt, or the kernel at work for others."""
REST_SECONDS: Final = 2.0
"""How long nothing is lent before the threads stop."""
START_SECONDS: Final = 10.0
_WORD: Final = struct.Struct("d")
_PRIORITY: Final = 1  # the lowest of its class, and above everything that is not of it
_OWN_WORDS: Final = 2  # after the losses: whether the threads are awake, how many matches there are
_READY: Final = b"ready\n"


class Witness:
    """The node's end: starts the process, and tells it when something is lent."""

    def __init__(self) -> None:
        """OSError where the process may not run above all others."""
        cores = max(os.sched_getaffinity(0)) + 1
        self._size = _WORD.size * (cores + _OWN_WORDS)
        self._shared = os.memfd_create("witness", os.MFD_CLOEXEC)
        self.descriptor = -1
        """The losses, to be read only; lent with every seat."""
        self._lock = threading.Lock()
        self._matches = 0
        self._process: subprocess.Popen[bytes] | None = None
        try:
            os.ftruncate(self._shared, self._size)
            self._memory = mmap.mmap(self._shared, self._size)
            self.descriptor = os.open(f"/proc/self/fd/{self._shared}", os.O_RDONLY | os.O_CLOEXEC)
            process = self._start()
            assert process.stdout is not None
            said = select.select([process.stdout], [], [], START_SECONDS)[0]
            if not said or process.stdout.readline() != _READY:
                raise PermissionError("no thread may run above all others (it takes CAP_SYS_NICE)")
        except BaseException:
            self.close()
            raise

    @property
    def is_awake(self) -> bool:
        """Whether it watches."""
        return _word(self._memory, -2) > 0

    def begins(self) -> None:
        """A match's boxes are lent."""
        with self._lock:
            self._matches += 1
            self._write(-1, self._matches)
            if self._process is not None and self._process.poll() is not None:
                self._end()  # somebody killed it; what was lost meanwhile nobody saw
                self._start()
            if not self.is_awake and self._process and self._process.stdin:
                with contextlib.suppress(OSError):
                    self._process.stdin.write(b".")

    def ends(self) -> None:
        """They are back."""
        with self._lock:
            self._matches -= 1
            self._write(-1, self._matches)

    def close(self) -> None:
        """End the process. Safe to repeat."""
        with self._lock:
            self._end()
            for descriptor in (self._shared, self.descriptor):
                if descriptor >= 0:
                    os.close(descriptor)
            self._shared = self.descriptor = -1

    def _start(self) -> subprocess.Popen[bytes]:
        self._write(-2, 0)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(self._shared)],
            stdin=subprocess.PIPE,  # its end, when the node dies in whatever way
            stdout=subprocess.PIPE,
            bufsize=0,
            pass_fds=(self._shared,),
        )
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None

    def _write(self, word: int, value: float) -> None:
        _WORD.pack_into(self._memory, self._size + word * _WORD.size, value)


def size_of(descriptor: int) -> int:
    """How many bytes from its start are the losses."""
    return os.fstat(descriptor).st_size - _OWN_WORDS * _WORD.size


def most_lost(before: bytes, after: bytes) -> float:
    """Seconds by which the core that lost most was gone between two readings of the losses."""
    if before == after or len(before) != len(after):
        return 0.0
    first, second = array.array("d", before), array.array("d", after)
    return max(map(float.__sub__, second, first))


def is_needed(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether there may be a hypervisor: its flag, or a processor that has no flags to tell."""
    try:
        text = cpuinfo.read_text()
    except OSError:
        return True
    flags = [line for line in text.splitlines() if line.startswith("flags")]
    return not flags or any("hypervisor" in line.split() for line in flags)


def is_allowed() -> bool:
    """Whether this process may run threads above all others."""
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except OSError:
        return False
    os.sched_setscheduler(0, policy, parameter)
    return True


def _word(memory: mmap.mmap, word: int) -> float:
    return float(_WORD.unpack_from(memory, len(memory) + word * _WORD.size)[0])


class _Cores:
    """The process's side: its threads, and whether they watch."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._awake = threading.Event()

    def start(self) -> None:
        """A thread on each core; OSError where it may not be above all others."""
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
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
            if _word(self._memory, -1) > 0:
                asleep_at = now + REST_SECONDS
                self._say(True)
            elif now >= asleep_at:
                self._say(False)
                if _word(self._memory, -1) > 0:  # lent while we said so, and nobody woke us
                    self._say(True)

    def _say(self, awake: bool) -> None:
        _WORD.pack_into(self._memory, len(self._memory) - 2 * _WORD.size, awake)
        (self._awake.set if awake else self._awake.clear)()

    def _watch(self, core: int) -> None:
        os.sched_setaffinity(0, {core})
        # Where another has watched before and was killed, its totals go on.
        (lost,) = _WORD.unpack_from(self._memory, core * _WORD.size)
        while True:
            self._awake.wait()
            due = time.monotonic() + STEP_SECONDS
            while self._awake.is_set():
                time.sleep(max(0.0, due - time.monotonic()))
                now = time.monotonic()
                if now - due > LEAST_SECONDS:
                    lost += now - due
                    _WORD.pack_into(self._memory, core * _WORD.size, lost)
                due = now + STEP_SECONDS


def main() -> int:
    """Watch the cores until standard input ends; 1 where that is not allowed."""
    cores = _Cores(mmap.mmap(int(sys.argv[1]), 0))
    try:
        cores.start()
    except OSError:
        return 1
    os.write(1, _READY)
    cores.serve()
    return 0


if __name__ == "__main__":
    os._exit(main())  # its threads end with it
