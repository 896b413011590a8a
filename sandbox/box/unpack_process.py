"""Runs the process that opens a box's archive. It is pre-forked, so nobody waits for its imports.

It is hardened before it reads a byte of the archive. It opens one archive and ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from typing import Any

from . import harden

SECONDS = 20.0
"""Time limit. Workers wait longer for a box, so a slow archive is refused and no host fault."""


class UnpackProcess:
    """The hardened, pre-forked process that opens the box's archive.

    Its imports take longer than the opening. Their memory is freed when it ends.
    """

    def __init__(self, setup: dict[str, Any], uid: int | None) -> None:
        self.archive = os.memfd_create("bundle", os.MFD_CLOEXEC)
        if uid is not None:
            os.chown(setup["agent_dir"], uid, uid)
        go_read, self._go = os.pipe()
        self._report, report = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _unpack_when_told(self.archive, go_read, report, setup, uid)
        os.close(go_read)
        os.close(report)

    def begin(self) -> None:
        """Let the process open the archive."""
        try:
            os.write(self._go, b"1")
        except BrokenPipeError:
            pass  # it has ended already, so its report is empty

    def report(self) -> bytes | None:
        """Wait for its report. None if it took too long."""
        return _read_report(self._report, SECONDS)

    def end(self) -> int:
        """End the process if it still runs. Returns its exit code."""
        for fd in (self._go, self._report, self.archive):
            os.close(fd)
        os.kill(self._pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _unpack_when_told(
    archive: int, go: int, report: int, setup: dict[str, Any], uid: int | None
) -> None:
    try:
        # Import here: the archive libraries would stay in the supervisor's memory for life.
        from . import unpack
    except BaseException:
        os._exit(1)
    answer: dict[str, Any] = {"op": "fault", "reason": "the unpacker was not run"}
    try:
        null = os.open("/dev/null", os.O_RDWR)
        harden.keep_files([null, null, null, archive, report, go])
        report = 4
        os.umask(0o022)
        if setup["mode"] != "plain":
            harden.harden(uid, setup["unpack_limits"])
        if not os.read(5, 1):
            os._exit(0)
        with open(3, "rb") as file:
            folder = setup["agent_dir"]
            answer = {"op": "bound", **unpack.unpack(file, folder, int(setup["unpacked_bytes"]))}
    except unpack.ArchiveRefused as refused:
        answer = {"op": "refused", "entry": refused.entry, "reason": refused.reason}
    except BaseException as error:
        answer = {"op": "fault", "reason": f"unpacking failed: {error!r}"[:500]}
    finally:
        os.write(report, json.dumps(answer).encode())
        os._exit(0)


def _read_report(read_end: int, seconds: float) -> bytes | None:
    """Read the process's report; None if it took too long."""
    deadline = time.monotonic() + seconds
    data = b""
    poll = select.poll()
    poll.register(read_end, select.POLLIN)
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        chunk = os.read(read_end, 4096)
        data += chunk
        if not chunk or len(data) > 65536:
            return data[:65536]
    return None
