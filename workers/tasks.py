"""The Celery tasks of wake-up messages: play a match, rate the seasons, draw pictures.

``workers.match_attempt`` plays, ``ladder.ratings.fitting`` rates, ``workers.pictures`` draws.
"""

from __future__ import annotations

import os
import signal
import time
from functools import cache
from typing import Any

import psycopg
from celery.signals import worker_process_init

from ladder.database import db
from ladder.database.blobs import Blobs, BlobsUnavailable
from ladder.database.kept_connection import KeptConnection
from ladder.ids import MatchId
from ladder.ratings import fitting
from ladder.telemetry import bind_fields, log_event, traceback_text
from sandbox.process_guard import die_with
from workers import match_attempt
from workers.broker import app
from workers.liveness import record_answer, recording_answers
from workers.pictures import draw_wanted, judge_matches
from workers.result_checks import check_waiting_reports, compare_second_plays

RATING_PAUSE_SECONDS = 0.25
"""Least seconds between the starts of two messages' ratings, so that a busy rater adds several
results in one transaction."""
ROUNDS_SECONDS = 60.0
"""Seconds after which a task ends although results keep coming. The scheduler sends another
message."""

worker_context: match_attempt.WorkerContext | None = None
"""Set by ``workers.main`` before the pool forks, so that every child has it."""
worker_pid: int | None = None
"""Process id of the pool's parent, set before it forks."""
database_url = ""
"""Database of the raters and of the drawing worker; empty in players."""
blobs: Blobs | None = None
"""Blobs of the raters and of the drawing worker."""
rated_at = 0.0
"""When this process began to answer its last message to rate, on the monotonic clock."""
fitter = fitting.OfficialFitter()
"""Keeps the start values of each season's next fit in this process."""


@cache
def rating_database(url: str) -> KeptConnection:
    """The rater's connection of this process."""
    return KeptConnection(url)


@worker_process_init.connect  # type: ignore[untyped-decorator]
def die_with_the_worker(**_: Any) -> None:
    """Ends a pool child together with its worker, so that no match goes on without a worker."""
    die_with(os.getppid() if worker_pid is None else worker_pid, signal.SIGKILL)


@app.task(name="peck.play")  # type: ignore[untyped-decorator]
def play_match(match_id: str) -> None:
    """Plays a match, if it can be claimed, and then more matches of its queue."""
    record_answer()
    if worker_context is None:
        raise RuntimeError("start this worker with workers.main; it cannot play otherwise")
    with bind_fields(match=match_id):
        try:
            match_attempt.play_matches(worker_context, MatchId(match_id))
        except psycopg.Error as error:  # the scheduler sends the message again
            log_event("claim_failed", level="warning", error=str(error))
        except Exception as error:
            log_event("play_failed", level="error", error=str(error), trace=traceback_text(error))


@app.task(name="peck.rate")  # type: ignore[untyped-decorator]
def rate_seasons(reason: str) -> None:
    """Rates all seasons until no result is left. ``reason`` is the id of the cause and is not
    used; one message serves all seasons."""
    global rated_at
    record_answer()
    time.sleep(max(0.0, rated_at + RATING_PAUSE_SECONDS - time.monotonic()))
    rated_at = time.monotonic()
    try:
        with rating_database(database_url).use() as conn, recording_answers():
            if blobs is not None:
                _check_reports(conn, blobs)
            fitting.rate_all_seasons(conn, fitter, time.monotonic() + ROUNDS_SECONDS, record_answer)
    except psycopg.OperationalError as error:
        log_event(
            "rate_failed", level="warning", error=str(error)
        )  # the scheduler sends another message


def _check_reports(conn: db.Connection, stored: Blobs) -> None:
    """Checks results of machines that are not trusted, before they rate anybody. Compares second
    plays with them."""
    ends_at = time.monotonic() + ROUNDS_SECONDS
    try:
        check_waiting_reports(conn, stored, lambda: time.monotonic() > ends_at, record_answer)
        compare_second_plays(conn, stored, lambda: time.monotonic() > ends_at, record_answer)
    except BlobsUnavailable as error:  # the scheduler sends another message
        log_event("check_failed", level="warning", error=str(error))


@app.task(name="peck.draw")  # type: ignore[untyped-decorator]
def draw_pictures(reason: str) -> None:
    """Draws all wanted pictures; one message serves all. With the reason ``judge`` it also looks
    for games worth watching."""
    record_answer()
    if blobs is None:
        raise RuntimeError("start this worker with --queues draw; it cannot draw otherwise")
    try:
        blobs.require_room()
    except BlobsUnavailable:  # drawn later; the scheduler logs the fault
        return
    ends_at = time.monotonic() + ROUNDS_SECONDS
    try:
        with db.connect(database_url) as conn, recording_answers():
            draw_wanted(conn, blobs, lambda: time.monotonic() > ends_at, record_answer)
            if reason == "judge":
                judge_matches(conn, blobs, lambda: time.monotonic() > ends_at, record_answer)
    except psycopg.OperationalError as error:
        log_event("draw_failed", level="warning", error=str(error))
