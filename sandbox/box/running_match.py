"""What the supervisor keeps of the match that a child plays: its log, and how often to read it."""

from __future__ import annotations

import fcntl
import os
from typing import Any

from . import cleanup, output_capture

DRAIN_MS = 10
QUIET_DRAIN_MS = 40
"""Longest pause between two looks at the output of an agent that prints little."""
PIPE_BYTES = 1 << 18


class RunningMatch:
    """What the supervisor keeps while a child plays."""

    def __init__(self, uid: int | None) -> None:
        self.uid = uid
        self.pid = 0
        self.mark = f"\0peck:{os.urandom(8).hex()}"
        self.oom_kills = cleanup.oom_kills()
        self.pause_ms = DRAIN_MS
        budget = [output_capture.MATCH_BYTES]
        mark = self.mark.encode() + b":"
        out_read, self.out_write = _open_pipe()
        err_read, self.err_write = _open_pipe()
        self._out = output_capture.OutputCapture(out_read, mark, budget)
        self._err = output_capture.OutputCapture(err_read, mark, budget)

    def close_write_ends(self) -> None:
        os.close(self.out_write)
        os.close(self.err_write)

    def drain(self) -> None:
        """Read the output. While there is little of it, the pause until the next look doubles."""
        before = self._out.read_bytes + self._err.read_bytes
        self._out.drain()
        self._err.drain()
        is_quiet = self._out.read_bytes + self._err.read_bytes - before < PIPE_BYTES // 8
        self.pause_ms = min(2 * self.pause_ms, QUIET_DRAIN_MS) if is_quiet else DRAIN_MS

    def collect_log(self) -> list[list[Any]]:
        """[step, stdout, stderr] of each step that printed. Closes the pipes."""
        out, err = self._out.texts(), self._err.texts()
        self._out.close()
        self._err.close()
        return [[step, out.get(step, ""), err.get(step, "")] for step in sorted({*out, *err})]


def _open_pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    try:
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass  # The user's share of pipe memory is used up. Only a printing agent is slowed.
    return read_end, write_end
