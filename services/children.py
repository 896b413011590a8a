"""Child processes that never outlive us and stop when asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TETHER = Path(__file__).with_name("tether.py")


@dataclass
class Child:
    """A running child: its name for people, its process, and the signal that ends it in order."""

    name: str
    process: subprocess.Popen[bytes]
    stop_signal: signal.Signals = signal.SIGTERM

    def alive(self) -> bool:
        return self.process.poll() is None

    def ask_to_stop(self) -> None:
        """Send the stop signal and return at once."""
        if self.alive():
            self.process.send_signal(self.stop_signal)

    def stop(self, grace_seconds: float = 10.0) -> int:
        """Stop and reap; SIGKILL when the grace is over. Idempotent; returns the exit status."""
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
    stop_signal: signal.Signals = signal.SIGTERM,
    death_signal: signal.Signals | None = None,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Child:
    """Start ``command`` tied to this process: when we die, it gets ``death_signal``.

    Call it from a thread that lives as long as the child should: the kernel looks at the thread.
    The child has its own session, so that Ctrl-C in a terminal reaches us alone. Output is
    appended to ``log``.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    tie = death_signal or stop_signal
    tethered = [
        *(sys.executable, "-I", "-S", str(TETHER)),
        *(str(int(tie)), str(os.getpid()), str(-1 if uid is None else uid)),
        *command,
    ]
    with log.open("ab") as sink:
        process = subprocess.Popen(
            tethered,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=None if environment is None else dict(environment),
            cwd=cwd,
            start_new_session=True,
        )
    return Child(name, process, stop_signal)


def tail(log: Path, lines: int = 5) -> str:
    """The last lines of a log, for an error message; empty when there is none."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
