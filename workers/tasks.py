"""What a wake-up message starts. Thin: the work is in ``workers.playing`` and the store's
``ratings`` and ``official``."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from celery.signals import worker_process_init

from ladder.database import db
from ladder.ids import MatchId, SeasonId
from ladder.ratings import fitting, ratings
from ladder.telemetry import bound, emit, trace
from workers import playing
from workers.broker import app
from workers.watch import answered, answering

PR_SET_PDEATHSIG = 1
FOLD = 200
ROUNDS_SECONDS = 60.0
"""After these a task ends although results keep coming; the scheduler sends another."""

station: playing.Station | None = None
"""Set by ``workers.main`` before the pool forks, so that every child has it."""
worker_pid: int | None = None
"""The pool's parent; set there before it forks."""
database_url = ""
"""The rater's; players have none."""
fitter = fitting.Fitter()
"""This process's: what a season's next fit begins from."""


@worker_process_init.connect  # type: ignore[untyped-decorator]
def die_with_the_worker(**_: Any) -> None:
    """A pool child whose worker is killed must not play on under a lease that nobody renews."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if worker_pid not in (None, os.getppid()):
        os._exit(1)  # it died before the request


@app.task(name="peck.play")  # type: ignore[untyped-decorator]
def play(match_id: str) -> None:
    """Play one match, if it is there to be played."""
    answered()
    if station is None:
        raise RuntimeError("this worker was not started by workers.main and cannot play")
    with bound(match=match_id):
        try:
            playing.play(station, MatchId(match_id))
        except psycopg.Error as error:  # the message is sent again
            emit("claim_failed", level="warning", error=str(error))
        except Exception as error:
            emit("play_failed", level="error", error=str(error), trace=trace(error))


@app.task(name="peck.rate")  # type: ignore[untyped-decorator]
def rate(reason: str) -> None:
    """Fold every season's accepted results into its ratings until nothing is left.

    The seasons take turns, a stretch of the log each, and between the rounds the official standings
    that are due are fitted. ``reason`` is the id of what caused the message and decides nothing:
    one message serves all.
    """
    answered()
    ends_at = time.monotonic() + ROUNDS_SECONDS
    unrated, unfitted = set[SeasonId](), set[SeasonId]()  # what failed is tried by the next message
    try:
        with db.connect(database_url) as conn, answering():
            while True:
                seasons = [one for one in ratings.seasons_to_rate(conn) if one not in unrated]
                conn.commit()
                unrated |= _each(conn, seasons, _rate)
                due = [one for one in fitting.due(conn) if one not in unfitted]
                conn.commit()
                unfitted |= _each(conn, due, _fit)
                if not seasons or time.monotonic() > ends_at:
                    break
    except psycopg.OperationalError as error:
        emit("rate_failed", level="warning", error=str(error))  # the scheduler sends another


def _each(
    conn: db.Connection, seasons: Sequence[SeasonId], act: Callable[[db.Connection, SeasonId], None]
) -> set[SeasonId]:
    """Those of them with which it failed."""
    failed = set[SeasonId]()
    for season in seasons:
        try:
            act(conn, season)
        except psycopg.OperationalError:
            raise
        except Exception as error:  # one season's trouble is not the others'
            conn.rollback()
            failed.add(season)
            emit("rate_failed", level="error", season=season, error=str(error), trace=trace(error))
    return failed


def _rate(conn: db.Connection, season: SeasonId) -> None:
    """Fold a stretch of one season's results, in one transaction."""
    folded = ratings.apply(conn, season, FOLD)
    conn.commit()
    answered()
    if folded:
        emit("rated", season=season, results=folded)


def _fit(conn: db.Connection, season: SeasonId) -> None:
    """Write one season's next official standing."""
    version = fitter.refit(conn, season)
    conn.commit()
    answered()
    emit("fitted", season=season, version=version)
