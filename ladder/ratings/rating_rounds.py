"""Rates all seasons in rounds: live ratings first, then the official standings due."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

import psycopg

from ladder.database.db import Connection
from ladder.ids import SeasonId
from ladder.ratings import fitting, live_ratings
from ladder.telemetry import log_event, traceback_text

FOLD: Final = 200
"""Results of a season's log in one round and transaction."""


def rate_all_seasons(
    conn: Connection, fitter: fitting.OfficialFitter, ends_at: float, progressed: Callable[[], None]
) -> None:
    """Rates all seasons in turn until nothing is left, or until ``ends_at`` (monotonic clock).

    Commits after each turn, then calls ``progressed``. A season that fails is logged and retried in
    the next call. Raises psycopg.OperationalError when the server disconnects.
    """
    unrated, unfitted = set[SeasonId](), set[SeasonId]()

    def fold(season: SeasonId) -> None:
        folded = live_ratings.rate_season(conn, season, FOLD)
        conn.commit()
        progressed()
        if folded:
            log_event("rated", season=season, results=folded)

    def fit(season: SeasonId) -> None:
        version = fitter.refit(conn, season)
        conn.commit()
        progressed()
        log_event("fitted", season=season, version=version)

    while True:
        seasons = [key for key in live_ratings.seasons_to_rate(conn) if key not in unrated]
        conn.commit()
        unrated |= _run_for_seasons(conn, seasons, fold)
        due = [season_id for season_id in fitting.seasons_to_fit(conn) if season_id not in unfitted]
        conn.commit()
        unfitted |= _run_for_seasons(conn, due, fit)
        if not seasons or time.monotonic() > ends_at:
            return


def _run_for_seasons(
    conn: Connection, seasons: Sequence[SeasonId], act: Callable[[SeasonId], None]
) -> set[SeasonId]:
    """Acts on each season; returns those that failed."""
    failed = set[SeasonId]()
    for season in seasons:
        try:
            act(season)
        except psycopg.OperationalError:
            raise
        except Exception as error:  # the failure of one season does not stop the others
            conn.rollback()
            failed.add(season)
            log_event(
                "rate_failed",
                level="error",
                season=season,
                error=str(error),
                trace=traceback_text(error),
            )
    return failed
