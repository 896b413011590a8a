"""Child processes that end with this process and stop on request."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.run import die_with_parent

SERVICE_NICE: Final = -10
"""Weight of site, databases and workers for the CPU. Sandboxes weigh as much as ten processes on
each core, and pages must not wait for them."""


LOG_BYTES: Final = 20 * 1024 * 1024
"""Size above which a log is renamed."""


@dataclass
class Child:
    """A running child: its name for people, its process, and the signal that stops it in order."""

    name: str
    process: subprocess.Popen[bytes]
    stop_signal: signal.Signals = signal.SIGTERM

    def alive(self) -> bool:
        return self.process.poll() is None

    def ask_to_stop(self) -> None:
        """Sends the stop signal and returns at once."""
        if self.alive():
            self.process.send_signal(self.stop_signal)

    def stop(self, grace_seconds: float = 10.0) -> int:
        """Stops and reaps the child, with SIGKILL after the grace time. Idempotent. Returns the
        exit status."""
        self.ask_to_stop()
        try:
            return self.process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def spawn(
    name: str,
    command: Sequence[str],
    *,
    log: Path,
    uid: int | None = None,
    nice: int = SERVICE_NICE,
    stop_signal: signal.Signals = signal.SIGTERM,
    death_signal: signal.Signals | None = None,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    inherit: Sequence[int] = (),
) -> Child:
    """Starts ``command`` so that it gets ``death_signal`` when this process dies.

    Call it from a thread that lives as long as the child should, because the kernel watches the
    thread. The child has its own session, so Ctrl-C in a terminal reaches only this process. Output
    is appended to ``log``, which only its owner can read. The child inherits the descriptors in
    ``inherit``.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    tie = death_signal or stop_signal
    tethered = [
        *(sys.executable, "-I", "-S", die_with_parent.__file__),
        *(str(int(tie)), str(os.getpid()), str(-1 if uid is None else uid), str(nice)),
        *command,
    ]
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as sink:
        process = subprocess.Popen(
            tethered,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=None if environment is None else dict(environment),
            cwd=cwd,
            pass_fds=inherit,
            start_new_session=True,
        )
    return Child(name, process, stop_signal)


def rotate_log(log: Path) -> Path:
    """The log. Renames a large one first, so that at most two exist."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
    return log


def log_tail(log: Path, lines: int = 5) -> str:
    """The last lines of a log, for an error message. Empty without a log."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


class Follower:
    """Reads lines that are appended to a log after its creation."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._at = log.stat().st_size if log.exists() else 0

    def new_lines(self) -> list[str]:
        """Complete lines since the last call."""
        try:
            with self._log.open("rb") as file:
                file.seek(self._at)
                new, end, _ = file.read().rpartition(b"\n")
        except OSError:
            return []
        self._at += len(new) + len(end)
        return new.decode("utf-8", "replace").splitlines()
