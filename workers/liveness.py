"""Ends a worker that no longer gets wake-up messages; Docker or ``peck up`` restarts it.

Celery's prefork consumer can lose count of its running tasks after a Redis failure. Then it takes
no more messages but looks alive. Three signs together show this state: messages wait in Redis, a
slot is free, and for a while no message was answered.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import Any, Final

from celery.signals import worker_ready, worker_shutting_down
from redis import Redis
from redis.exceptions import RedisError

from ladder.telemetry import log_event
from workers.lease_renewal import held_leases

STALLED_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 1.0
LEAST_SHARE: Final = 0.05
"""An answer that uses less than this share of a core is waiting."""
STALLED_STATUS: Final = 70
"""Exit status of a worker that ended itself for this reason."""

_answered_at = RawValue("d", time.monotonic())  # shared with the pool's children


def record_answer() -> None:
    """Records that a message was answered or a long answer continues. Called in the pool's
    children."""
    _answered_at.value = time.monotonic()


@contextmanager
def recording_answers(
    spent_seconds: Callable[[], float] = time.process_time, look_seconds: float = 1.0
) -> Iterator[None]:
    """Records activity while a long answer uses the CPU. An answer that waits for a server does not
    count."""
    over = threading.Event()

    def look() -> None:
        before = spent_seconds()
        while not over.wait(look_seconds):
            now = spent_seconds()
            if now - before >= LEAST_SHARE * look_seconds:
                record_answer()
            before = now

    looker = threading.Thread(target=look, name="answering", daemon=True)
    looker.start()
    try:
        yield
    finally:
        over.set()
        looker.join()


def last_answer_at() -> float:
    """Time of the last answer of this worker's children, on the host's monotonic clock."""
    return float(_answered_at.value)


class StallMonitor(threading.Thread):
    """Checks every second. Calls ``end`` once if the worker has stalled.

    ``waiting`` counts the messages in the worker's queues; it may raise while Redis does not
    answer. ``busy`` counts the slots that play. The time of the stall restarts whenever one of the
    three signs is missing.
    """

    def __init__(
        self,
        waiting: Callable[[], int],
        busy: Callable[[], int],
        slots: int,
        *,
        stalled_seconds: float = STALLED_SECONDS,
        look_seconds: float = LOOK_SECONDS,
        end: Callable[[], None] = lambda: os._exit(STALLED_STATUS),
    ) -> None:
        super().__init__(name="watch", daemon=True)
        self._waiting, self._busy, self._slots = waiting, busy, slots
        self._stalled_seconds, self._look_seconds, self._end = stalled_seconds, look_seconds, end
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        well_at = time.monotonic()
        while not self._stopping.wait(self._look_seconds):
            if not self._unanswered():
                well_at = time.monotonic()
            silent_seconds = time.monotonic() - max(well_at, last_answer_at())
            if silent_seconds > self._stalled_seconds:
                log_event(
                    "worker_stalled", level="warning", silent_seconds=round(silent_seconds, 1)
                )
                self._end()  # the pool's children die too, and their leases expire
                return

    def _unanswered(self) -> bool:
        try:
            return self._waiting() > 0 and self._busy() < self._slots
        except (RedisError, OSError):
            return False  # without Redis this is no stall


def playing_children(run_dir: Path, worker_pid: int) -> int:
    """The number of this worker's pool children that hold a lease."""
    return sum(_parent_pid(lease.pid) == worker_pid for lease in held_leases(run_dir))


def _parent_pid(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def monitor_stalls(
    redis_url: str, queues: Sequence[str], busy: Callable[[], int], slots: int
) -> None:
    """Starts a ``StallMonitor`` when the worker is ready, and stops it when the worker stops: then
    other workers answer messages that still wait."""
    client = Redis.from_url(redis_url, socket_timeout=2.0, socket_connect_timeout=2.0)

    def waiting() -> int:
        client.ping()  # raises if a full disk makes Redis refuse to give messages away
        return sum(int(client.llen(queue)) for queue in queues)

    monitor = StallMonitor(waiting, busy, slots)

    def start(**_: Any) -> None:
        monitor.start()

    def stop(**_: Any) -> None:
        monitor.stop()

    worker_ready.connect(start, weak=False)
    worker_shutting_down.connect(stop, weak=False)
