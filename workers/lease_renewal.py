"""Leases of a host: one file per match being played, and one thread that renews them all.

The playing process holds a lock on ``<run_dir>/leases/<match>.<attempt>``. The kernel drops the
lock when that process dies, however it dies, so a file that is locked is a match that is played.
One thread per host renews all of them in one call; a lock decides which worker's thread that is.
A lease that nobody renews runs out, and ``ladder.matches.lease.reap_lapsed_leases`` queues its
match again.
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
    """A lease some process of this host is playing under."""

    match_id: MatchId
    attempt: int
    lease_seconds: float
    pid: int = 0
    """The process that plays; filled in by ``held_leases``."""


@contextlib.contextmanager
def hold_lease(run_dir: Path, lease: HeldLease) -> Iterator[None]:
    """Within this block the lease is renewed by the host's thread; it ends with the process."""
    folder = run_dir / "leases"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{lease.match_id}.{lease.attempt}"
    path = folder / name
    # Locked before it gets its name: whoever sees the file unlocked may remove it.
    early = folder / f".{name}.{os.getpid()}"
    descriptor = os.open(early, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, f"{lease.lease_seconds} {os.getpid()}".encode())
        early.rename(path)
        yield
    finally:
        for leftover in (early, path):
            leftover.unlink(missing_ok=True)
        os.close(descriptor)


def held_leases(run_dir: Path) -> list[HeldLease]:
    """The leases whose process lives; files of dead ones are removed on the way."""
    found = []
    for path in (run_dir / "leases").glob("mat_*"):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue  # its player has just finished
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lease = _parse_lease_file(path.name, os.read(descriptor, 64))
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
        seconds, pid = content.split()
        return HeldLease(MatchId(match_id), int(attempt), float(seconds), int(pid))
    return None


class LeaseRenewal(threading.Thread):
    """Renews the host's leases until stopped, as long as it holds the host's renewal lock.

    ``renew`` gets the leases and returns those still held; ``greet`` is called at the same pace and
    says that this worker lives. Both may raise: the thread tells it and tries again.
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
        """End the thread; leases are then renewed by another worker's, or lapse."""
        self._stopping.set()
        self.join(timeout=10)

    def run(self) -> None:
        self._run_dir.mkdir(parents=True, exist_ok=True)
        while not self._stopping.is_set():
            # The leases first: a node that does not answer must not cost a running match.
            well = self._tried("renewal_failed", self._renew_when_due)
            well = self._tried("greeting_failed", self._greet_when_due) and well
            self._stopping.wait(TICK_SECONDS if well else 3 * TICK_SECONDS)
        if self._lock is not None:
            os.close(self._lock)

    def _renew_when_due(self) -> None:
        leases = held_leases(self._run_dir) if self._leads() else []
        pace = min((lease.lease_seconds / 3 for lease in leases), default=0.0)
        if not leases or time.monotonic() - self._renewed_at < min(pace, LONGEST_PAUSE_SECONDS):
            return
        still = set(self._renew(leases))
        self._renewed_at = time.monotonic()
        for lost in leases:
            if (lost.match_id, lost.attempt) not in still:
                log_event("lease_lost", level="warning", match=lost.match_id, attempt=lost.attempt)

    def _greet_when_due(self) -> None:
        if time.monotonic() - self._greeted_at >= LONGEST_PAUSE_SECONDS:
            self._greet()
            self._greeted_at = time.monotonic()
            (self._run_dir / "greeted").touch()  # read by health checks

    def _tried(self, event: str, what: Callable[[], None]) -> bool:
        """Run it; a failure is told once, and again when it changes."""
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

    def _leads(self) -> bool:
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
