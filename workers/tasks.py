"""The two Celery tasks that wake-up messages start: play a match, rate the seasons.

``workers.match_attempt`` does the work of the first, ``ladder.ratings.rounds`` that of the second.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from typing import Any

import psycopg
from celery.signals import worker_process_init

from ladder.database import db
from ladder.ids import MatchId
from ladder.ratings import fitting, rounds
from ladder.telemetry import bind_fields, log_event, traceback_text
from workers import match_attempt
from workers.broker import app
from workers.liveness import record_answer, recording_answers

PR_SET_PDEATHSIG = 1
ROUNDS_SECONDS = 60.0
"""After these a task ends although results keep coming; the scheduler sends another."""

worker_context: match_attempt.WorkerContext | None = None
"""Set by ``workers.main`` before the pool forks, so that every child has it."""
worker_pid: int | None = None
"""The pool's parent; set there before it forks."""
database_url = ""
"""The rater's; players have none."""
fitter = fitting.OfficialFitter()
"""This process's: what a season's next fit begins from."""


@worker_process_init.connect  # type: ignore[untyped-decorator]
def die_with_the_worker(**_: Any) -> None:
    """A pool child whose worker is killed must not play on under a lease that nobody renews."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if worker_pid not in (None, os.getppid()):
        os._exit(1)  # it died before the request


@app.task(name="peck.play")  # type: ignore[untyped-decorator]
def play_match(match_id: str) -> None:
    """Play one match, if it is there to be played."""
    record_answer()
    if worker_context is None:
        raise RuntimeError("this worker was not started by workers.main and cannot play")
    with bind_fields(match=match_id):
        try:
            match_attempt.play_match(worker_context, MatchId(match_id))
        except psycopg.Error as error:  # the message is sent again
            log_event("claim_failed", level="warning", error=str(error))
        except Exception as error:
            log_event("play_failed", level="error", error=str(error), trace=traceback_text(error))


@app.task(name="peck.rate")  # type: ignore[untyped-decorator]
def rate_seasons(reason: str) -> None:
    """Rate all seasons until nothing is left. ``reason`` is the id of what caused the message and
    decides nothing: one message serves all."""
    record_answer()
    try:
        with db.connect(database_url) as conn, recording_answers():
            rounds.rate(conn, fitter, time.monotonic() + ROUNDS_SECONDS, record_answer)
    except psycopg.OperationalError as error:
        log_event("rate_failed", level="warning", error=str(error))  # the scheduler sends another
