"""Turns of boxes that share a GPU: one seat is asked at a time, also by several matches.

A GPU's work is charged by wall time. So while a seat is asked, no other seat may use its GPU.
The node has a nameless file for each device. Each loan opens this file anew and locks it. The
kernel releases the lock when the last process closes what the loan opened. So a killed worker
blocks nobody.

Source: open file description locks in fcntl(2).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
from collections.abc import Iterator

from sandbox.match.questions import StopReached

TRY_SECONDS = 0.001
_FLOCK = struct.Struct("hhqqi")
_QUEUE, _DEVICE = 0, 1
"""Bytes of the file that a loan locks. The loan with the lock of the queue gets the device next.
So a match that asks again at once does not overtake another one.
"""


class GpuTurns:
    """The files of a node's shared GPUs. Thread-safe."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._lock = threading.Lock()

    def open(self, name: str) -> int:
        """Opens the device's file anew. Returns a descriptor, which the caller closes."""
        with self._lock:
            if name not in self._files:
                self._files[name] = os.memfd_create("gpu-turn", os.MFD_CLOEXEC)
            return os.open(f"/proc/self/fd/{self._files[name]}", os.O_RDWR | os.O_CLOEXEC)


class GpuTurn:
    """The lock of one loan on its GPU. Owns the descriptor of the GPU's file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @contextlib.contextmanager
    def held(self, stop_at: float) -> Iterator[None]:
        """Wait for the GPU and hold it. Raises StopReached if ``time.monotonic`` passes
        ``stop_at`` first.
        """
        self._lock(_QUEUE, stop_at)
        try:
            self._lock(_DEVICE, stop_at)
        finally:
            self._set(_QUEUE, fcntl.F_UNLCK)
        try:
            yield
        finally:
            if self._descriptor >= 0:  # closed already if the seat failed in its turn
                self._set(_DEVICE, fcntl.F_UNLCK)

    def close(self) -> None:
        """Close the file, which gives up its turn. Safe to repeat."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _lock(self, byte: int, stop_at: float) -> None:
        while True:
            # Polls, because a waiting fcntl lock has no time-out.
            with contextlib.suppress(BlockingIOError):
                self._set(byte, fcntl.F_WRLCK)
                return
            if time.monotonic() > stop_at:
                raise StopReached
            time.sleep(TRY_SECONDS)

    def _set(self, byte: int, kind: int) -> None:
        lock = _FLOCK.pack(kind, os.SEEK_SET, byte, 1, 0)
        fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, lock)
