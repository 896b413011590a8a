"""Elects one leader with a session lock of Postgres, and runs the leader's loop.

The connection that does the work also holds the lock. A leader that loses Postgres loses the lead
too, so it cannot act without the lead. The connection also listens for notifications: a round
begins with each one, or after a second without one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from ladder.database import db
from ladder.telemetry import log_event, traceback_text

LEADER_LOCK = 0x7065636C
CHANNELS = ("peck_work", "peck_finished", "peck_void")
ROUND_SECONDS = 0.25
"""Least seconds between the starts of two rounds."""
IDLE_SECONDS = 1.0
"""Seconds between rounds without a notification: leases expire and dates pass without one."""
FOLLOW_SECONDS = 1.0
LONGEST_BACKOFF_SECONDS = 5.0


@dataclass(frozen=True)
class Job:
    """A job of the leader: its name, interval and function.

    The function uses its own transactions and returns its counts by name.
    """

    name: str
    every_seconds: float
    run: Callable[[db.Connection], dict[str, int]]


def lead(url: str, jobs: Sequence[Job], stopping: threading.Event) -> None:
    """Leads whenever the lead is free, until ``stopping``. Survives restarts of Postgres."""
    backoff = 0.1
    while not stopping.is_set():
        try:
            with _hold_leadership(url, stopping) as conn:
                backoff = 0.1
                _run_rounds(conn, jobs, stopping)
        except psycopg.OperationalError as error:
            log_event(
                "scheduler_lost_postgres",
                level="warning",
                error=str(error).strip(),
                again_in_seconds=backoff,
            )
            stopping.wait(backoff)
            backoff = min(backoff * 2, LONGEST_BACKOFF_SECONDS)


@contextmanager
def _hold_leadership(url: str, stopping: threading.Event) -> Iterator[db.Connection]:
    """Yields a connection that holds the lead; waits for the lead. Yields one without it if
    ``stopping`` is set."""
    conn = db.connect(url, autocommit=True)
    try:
        conn.execute("set statement_timeout = '20s'")
        conn.execute("set lock_timeout = '5s'")
        # A leader whose machine fails loses the lead within half a minute, not after hours.
        conn.execute("set tcp_keepalives_idle = 10")
        conn.execute("set tcp_keepalives_interval = 5")
        conn.execute("set tcp_keepalives_count = 3")
        while not stopping.is_set():
            row = conn.execute("select pg_try_advisory_lock(%s)", (LEADER_LOCK,)).fetchone()
            if row is not None and row[0]:
                for channel in CHANNELS:
                    conn.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
                log_event("scheduler_leads")
                break
            stopping.wait(FOLLOW_SECONDS)
        yield conn
    finally:
        conn.close()  # releases the lead


def _run_rounds(conn: db.Connection, jobs: Sequence[Job], stopping: threading.Event) -> None:
    due = {job.name: 0.0 for job in jobs}
    while not stopping.is_set():
        started = time.monotonic()
        counted: dict[str, int] = {}
        for job in jobs:
            if started >= due[job.name] and not stopping.is_set():
                due[job.name] = started + job.every_seconds
                if not _run_job(conn, job, counted):
                    due[job.name] = started + max(1.0, job.every_seconds)
        figures: dict[str, Any] = {name: count for name, count in counted.items() if count}
        if figures:
            log_event("round", ms=round((time.monotonic() - started) * 1000), **figures)
        _wait_for_next_round(conn, started, stopping)


def _wait_for_next_round(conn: db.Connection, started: float, stopping: threading.Event) -> None:
    """Waits for a notification of another connection, or for IDLE_SECONDS since the round's
    start."""
    stopping.wait(max(0.0, started + ROUND_SECONDS - time.monotonic()))
    while not stopping.is_set() and time.monotonic() < started + IDLE_SECONDS:
        notes = list(conn.notifies(timeout=ROUND_SECONDS, stop_after=1))
        if any(note.pid != conn.info.backend_pid for note in notes):
            return


def _run_job(conn: db.Connection, job: Job, counted: dict[str, int]) -> bool:
    """Runs one job. Logs a failure, which never stops the other jobs."""
    try:
        counted.update(job.run(conn))
        return True
    except psycopg.OperationalError as error:
        if conn.closed or conn.broken:
            raise
        log_event("job_failed", level="error", job=job.name, error=str(error).strip())
    except Exception as error:
        log_event(
            "job_failed", level="error", job=job.name, error=str(error), trace=traceback_text(error)
        )
    return False
