"""Leases of a run directory: a file for each running match, and a thread that renews them all.

The playing process holds a lock on ``<run_dir>/leases/<match>.<attempt>``. The kernel drops the
lock when the process dies, so a locked file means a running match. One thread renews all leases
of the directory in one call; a lock decides which worker runs it. Each renewal sets the file's time
of change. Leases without renewal expire; then ``ladder.matches.lease.reap_lapsed_leases``
queues their matches again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ladder.ids import MatchId
from ladder.telemetry import log_event

LONGEST_PAUSE_SECONDS = 5.0
TICK_SECONDS = 0.25


@dataclass(frozen=True)
class HeldLease:
    """The lease of a match that a process of this host plays."""

    match_id: MatchId
    attempt: int
    lease_seconds: float
    pid: int = 0
    """The playing process, set by ``held_leases``."""
    worker: str = ""
    """The worker that claimed the match."""


@contextlib.contextmanager
def hold_lease(run_dir: Path, lease: HeldLease) -> Iterator[Callable[[], float]]:
    """Lets the thread renew the lease inside this block, at most until the process ends.

    Yields a function that returns the seconds since the claim or the last renewal.
    """
    folder = run_dir / "leases"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{lease.match_id}.{lease.attempt}"
    path = folder / name
    # Locked before it gets its name: other processes delete unlocked files.
    early = folder / f".{name}.{os.getpid()}"
    descriptor = os.open(early, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, f"{lease.lease_seconds} {os.getpid()} {lease.worker}".encode())
        early.rename(path)
        yield lambda: time.time() - os.fstat(descriptor).st_mtime
    finally:
        for leftover in (early, path):
            leftover.unlink(missing_ok=True)
        os.close(descriptor)


def held_leases(run_dir: Path) -> list[HeldLease]:
    """The leases of living processes. Deletes the files of dead ones."""
    found = []
    for path in (run_dir / "leases").glob("mat_*"):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue  # its match has just ended
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lease = _parse_lease_file(path.name, os.read(descriptor, 512))
            if lease is not None:
                found.append(lease)
        else:
            path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)
    return sorted(found, key=lambda lease: lease.match_id)


def _parse_lease_file(name: str, content: bytes) -> HeldLease | None:
    match_id, _, attempt = name.partition(".")
    with contextlib.suppress(ValueError):
        seconds, pid, *rest = content.decode().split()
        worker = rest[0] if rest else ""
        return HeldLease(MatchId(match_id), int(attempt), float(seconds), int(pid), worker)
    return None


class LeaseRenewal(threading.Thread):
    """Renews the leases of its run directory until stopped, while it holds the directory's lock.

    ``renew`` gets the leases and returns those that still hold their match. ``greet`` records that
    this worker lives. It runs every LONGEST_PAUSE_SECONDS, with or without the lock. Both may
    raise: the thread logs the error and tries again.
    """

    def __init__(
        self,
        run_dir: Path,
        renew: Callable[[list[HeldLease]], list[tuple[MatchId, int]]],
        greet: Callable[[], None],
    ) -> None:
        super().__init__(name="renewal", daemon=True)
        self._run_dir = run_dir
        self._renew = renew
        self._greet = greet
        self._stopping = threading.Event()
        self._lock: int | None = None
        self._renewed_at = self._greeted_at = -LONGEST_PAUSE_SECONDS
        self._told: dict[str, str] = {}

    def stop(self) -> None:
        """Ends the thread. Then another worker renews the leases, or they expire."""
        self._stopping.set()
        self.join(timeout=10)

    def run(self) -> None:
        self._run_dir.mkdir(parents=True, exist_ok=True)
        while not self._stopping.is_set():
            # Leases first: a silent node must not cost a running match.
            well = self._run_logged("renewal_failed", self._renew_when_due)
            well = self._run_logged("greeting_failed", self._send_heartbeat_when_due) and well
            self._stopping.wait(TICK_SECONDS if well else 3 * TICK_SECONDS)
        if self._lock is not None:
            os.close(self._lock)

    def _renew_when_due(self) -> None:
        leases = held_leases(self._run_dir) if self._holds_renewal_lock() else []
        pace = min((lease.lease_seconds / 3 for lease in leases), default=0.0)
        if not leases or time.monotonic() - self._renewed_at < min(pace, LONGEST_PAUSE_SECONDS):
            return
        # A missing lease may just have ended. The playing process notices a lost lease.
        for match_id, attempt in self._renew(leases):
            with contextlib.suppress(FileNotFoundError):
                os.utime(self._run_dir / "leases" / f"{match_id}.{attempt}")
        self._renewed_at = time.monotonic()

    def _send_heartbeat_when_due(self) -> None:
        if time.monotonic() - self._greeted_at >= LONGEST_PAUSE_SECONDS:
            self._greet()
            self._greeted_at = time.monotonic()
            (self._run_dir / "greeted").touch()  # health checks read it

    def _run_logged(self, event: str, what: Callable[[], None]) -> bool:
        """Runs a function. Logs a failure once, and again if it changes."""
        try:
            what()
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            if self._told.get(event) != text:
                log_event(event, level="warning", error=text)
            self._told[event] = text
            return False
        self._told.pop(event, None)
        return True

    def _holds_renewal_lock(self) -> bool:
        if self._lock is None:
            descriptor = os.open(
                self._run_dir / "renewal.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            self._lock = descriptor
        return True
