"""Health checks, and metrics for Prometheus: gauges of the database, histograms of this process.

Everybody may read metrics of machines and queues. Metrics of seasons cover the seasons that the
token may see, or the public seasons without a token. Only administrators see answer times, and
matches of tournaments whose results are hidden.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter, Depends
from fastapi.responses import PlainTextResponse
from prometheus_client import Histogram, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.registry import Collector
from pydantic import BaseModel, ConfigDict, Field

from ladder.database.db import Connection
from ladder.leagues import records
from ladder.leagues.records import League, Season
from ladder.matches import matches
from ladder.matches import workers as matches_workers
from ladder.matches.matches import QueueCount
from ladder.people import permissions
from ladder.people.records import Viewer
from ladder.reports import season_health
from services.http.app_state import AppState, Db, Faults
from services.http.auth import Anyone
from services.http.lazy_routes import LazyRoute
from services.http.metrics import SEASON
from services.server_faults import Part, ServerFault

router = APIRouter(tags=["health"], route_class=LazyRoute)


class MetricsResponse(PlainTextResponse):
    media_type = "text/plain; version=0.0.4"


@router.get("/metrics", summary="Read metrics", response_class=MetricsResponse)
def read_metrics(faults: Faults, conn: Db, who: Anyone, app_state: AppState) -> MetricsResponse:
    """In Prometheus' text format. An administrator's token includes private leagues."""
    shown = visible_playing_seasons(conn, who)
    app_state.measures.observe_new_matches(conn, shown)
    counts = matches.queue_counts(conn, with_hidden=who.is_admin)
    families = [*queue_metrics(counts), *worker_metrics(conn), *season_metrics(conn, shown)]
    families.append(fault_metric(faults))
    labels = {(league.slug, str(season.number)) for season, league in shown}
    families += [
        series_of_seasons(each, labels)
        for each in (app_state.measures.waited, app_state.measures.played)
    ]
    if who.is_admin:
        families += app_state.measures.answers.collect()
    return MetricsResponse(generate_latest(MetricFamilies(families)))


@dataclass(frozen=True)
class MetricFamilies(Collector):
    """The metrics of one scrape."""

    families: list[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families


def queue_metrics(counts: Iterable[QueueCount]) -> Iterable[Metric]:
    under_way = Gauge(
        "peck_matches", "Unfinished matches, by queue and state.", labels=("queue", "state")
    )
    oldest = Gauge(
        "peck_queue_oldest_seconds",
        "Age of the oldest waiting match of a queue.",
        labels=("queue",),
    )
    now = datetime.now(UTC)
    for row in counts:
        under_way.add_metric((row.queue, "queued"), row.queued)
        under_way.add_metric((row.queue, "running"), row.running)
        since = row.oldest_queued_at
        age = 0.0 if since is None else max(0.0, (now - since).total_seconds())
        oldest.add_metric((row.queue,), age)
    return under_way, oldest


def worker_metrics(conn: Connection) -> Iterable[Metric]:
    workers = matches_workers.live_workers(conn)
    serving = Gauge("peck_workers", "Live workers that serve a queue.", labels=("queue",))
    slots = Gauge(
        "peck_worker_slots",
        "Matches that the queue's workers can play at once.",
        labels=("queue",),
    )
    for queue in matches.QUEUES:
        able = [worker for worker in workers if queue in worker.queues]
        serving.add_metric((queue,), len(able))
        slots.add_metric((queue,), sum(worker.slots for worker in able))
    return serving, slots


def fault_metric(faults: Iterable[ServerFault]) -> Metric:
    failing = Gauge(
        "peck_server_fault",
        "1 while this server has a fault that an operator must repair.",
        labels=("part",),
    )
    parts = {fault.part for fault in faults}
    for part in Part:
        failing.add_metric((part.value,), float(part in parts))
    return failing


def season_metrics(conn: Connection, shown: list[tuple[Season, League]]) -> Iterable[Metric]:
    """Metrics of the seasons that should play."""
    silent = Gauge(
        "peck_season_silent_seconds",
        "Seconds since the last finished rated match, or since the season opened.",
        labels=SEASON,
    )
    cadence = Gauge(
        "peck_season_cadence_seconds",
        "Expected longest time between two finished matches.",
        labels=SEASON,
    )
    behind = Gauge(
        "peck_season_unrated_results", "Accepted results without a rating.", labels=SEASON
    )
    alarms = Gauge(
        "peck_season_alarm",
        "1 while this cause stops matches or a host is too slow.",
        labels=(*SEASON, "cause"),
    )
    for (season, league), pulse in zip(
        shown, season_health.read_health_of_seasons(conn, shown), strict=True
    ):
        labels = (league.slug, str(season.number))
        silent.add_metric(labels, pulse.silent_seconds)
        cadence.add_metric(labels, pulse.expected_seconds)
        behind.add_metric(labels, season.accepted_no - season.rated_no)
        for cause in season_health.AlarmCause:
            fires = pulse.alarm is not None and pulse.alarm.cause is cause
            alarms.add_metric((*labels, cause.value), float(fires))
    return silent, cadence, behind, alarms


def series_of_seasons(histogram: Histogram, shown: set[tuple[str, str]]) -> Metric:
    """The histogram with the series of these seasons alone."""
    (found,) = histogram.collect()
    found.samples = [
        sample
        for sample in found.samples
        if (sample.labels["league"], sample.labels["season"]) in shown
    ]
    return found


def visible_playing_seasons(conn: Connection, who: Viewer) -> list[tuple[Season, League]]:
    return [
        (season, league)
        for season, league in season_health.playing_seasons(conn)
        if permissions.may_see(who, records.league_resource(league))
    ]


class Health(BaseModel):
    status: Literal["ok"] = "ok"


class FaultOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    part: Part
    text: str


class Readiness(BaseModel):
    status: Literal["ok", "degraded"]
    faults: list[FaultOut] = Field(
        description="Faults that an operator must repair; empty if `ok`."
    )


@router.get("/health/live", summary="Check that the process runs")
def read_liveness() -> Health:
    """Always 200 while the process can answer. Checks nothing else."""
    return Health()


def ask_blob_store(app_state: AppState) -> None:
    """Raises BlobsUnavailable if the blob store does not answer."""
    app_state.blobs.exists("0" * 64)


@router.get(
    "/health/ready",
    summary="Check that the process can serve",
    dependencies=[Depends(ask_blob_store)],
)
def read_readiness(faults: Faults, conn: Db) -> Readiness:
    """200 if the database and the blob store answer, else 503. The status is `degraded` while Redis
    takes no messages or the blob store is full: the site serves, but an operator must act. The
    faults may be a few seconds old."""
    conn.execute("select 1")
    return Readiness(
        status="degraded" if faults else "ok",
        faults=[FaultOut.model_validate(fault) for fault in faults],
    )
