"""Metrics of one API process: answer times, and how long matches waited and took.

Workers have no address that Prometheus could scrape. So each scrape reads newly accepted matches
from the seasons' logs, each match once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final

from prometheus_client import Histogram, disable_created_metrics
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ladder.database.db import Connection
from ladder.ids import SeasonId
from ladder.leagues.records import League, Season
from ladder.matches import durations

disable_created_metrics()  # type: ignore[no-untyped-call]  # nobody reads these series
ANSWER_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
MATCH_BUCKETS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600, 7200)
SEASON: Final = ("league", "season")


class ApiMetrics:
    """Histograms of one process, empty at its start. Thread-safe."""

    def __init__(self) -> None:
        self.answers = Histogram(
            "peck_api_request_seconds",
            "Seconds from a request to the start of its answer, by route and class of status.",
            ("method", "route", "status"),
            buckets=ANSWER_BUCKETS,
            registry=None,
        )
        self.waited = Histogram(
            "peck_match_wait_seconds",
            "Seconds in the queue of rated matches accepted since this process first "
            "read the season.",
            SEASON,
            buckets=MATCH_BUCKETS,
            registry=None,
        )
        self.played = Histogram(
            "peck_match_play_seconds",
            "Seconds of the attempt of rated matches accepted since this process first "
            "read the season.",
            SEASON,
            buckets=MATCH_BUCKETS,
            registry=None,
        )
        self._read_to: dict[SeasonId, int] = {}
        self._reading = threading.Lock()

    def observe_new_matches(
        self, conn: Connection, seasons: Sequence[tuple[Season, League]]
    ) -> None:
        """Observes the matches that these seasons accepted since the last call."""
        labels = {season.id: (league.slug, str(season.number)) for season, league in seasons}
        with self._reading:
            cursors = {
                season.id: self._read_to.setdefault(season.id, season.accepted_no)
                for season, _ in seasons
            }
            for match in durations.durations_since(conn, cursors):
                self.waited.labels(*labels[match.season_id]).observe(match.waited_seconds)
                self.played.labels(*labels[match.season_id]).observe(match.played_seconds)
                self._read_to[match.season_id] = match.no


class TimingMiddleware:
    """ASGI middleware that observes each answer in its ``ApiMetrics``."""

    def __init__(self, app: ASGIApp, measures: ApiMetrics) -> None:
        self.app = app
        self.measures = measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.monotonic()

        def observe(status: int) -> None:
            # One series for all unknown paths, or anybody could create series without end.
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if route != "none" else "any"
            series = self.measures.answers.labels(method, route, f"{status // 100}xx")
            series.observe(time.monotonic() - began)

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                observe(message["status"])
            await send(message)

        try:
            await self.app(scope, receive, observed)
        except Exception:  # the outer middleware answers 500
            observe(500)
            raise
