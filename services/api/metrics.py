"""What a monitor scrapes: gauges in Prometheus' text format, read from the rows when asked.

Numbers of machines and queues are for everybody; of seasons a scrape shows those that its token
may see, without one the public ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from ladder.database.db import Connection
from ladder.leagues import records
from ladder.leagues.records import League, Season
from ladder.matches import matches
from ladder.matches import workers as matches_workers
from ladder.people import permissions
from ladder.people.records import Viewer
from ladder.reports import cadence as reports_cadence
from services.http.auth import Anyone
from services.http.state import Db

router = APIRouter(tags=["health"])
Sample = tuple[Mapping[str, str], float]
ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Exposition(PlainTextResponse):
    media_type = "text/plain; version=0.0.4"


@router.get("/metrics", summary="Gauges for a monitor", response_class=Exposition)
def read_metrics(conn: Db, who: Anyone) -> Exposition:
    """In Prometheus' text format. An administrator's token shows private leagues too."""
    families = [*queues(conn), *machines(conn), *seasons(conn, who)]
    return Exposition("".join(family(*each) for each in families))


def queues(conn: Connection) -> Iterable[tuple[str, str, list[Sample]]]:
    counted = matches.counts(conn)
    under_way: list[Sample] = []
    for row in counted:
        under_way.append(({"queue": row.queue, "state": "queued"}, row.queued))
        under_way.append(({"queue": row.queue, "state": "running"}, row.running))
    yield "peck_matches", "Matches that are not over, by queue and state.", under_way


def machines(conn: Connection) -> Iterable[tuple[str, str, list[Sample]]]:
    workers = matches_workers.live_workers(conn)
    serving: list[Sample] = []
    slots: list[Sample] = []
    for queue in matches.QUEUES:
        able = [worker for worker in workers if queue in worker.queues]
        serving.append(({"queue": queue}, len(able)))
        slots.append(({"queue": queue}, sum(worker.slots for worker in able)))
    yield "peck_workers", "Live workers that serve a queue.", serving
    yield "peck_worker_slots", "Matches these can play at once; a worker may serve many.", slots


def seasons(conn: Connection, who: Viewer) -> Iterable[tuple[str, str, list[Sample]]]:
    """Of the seasons that are to play."""
    silent: list[Sample] = []
    cadence: list[Sample] = []
    alarms: list[Sample] = []
    behind: list[Sample] = []
    shown = watched(conn, who)
    for (season, league), pulse in zip(shown, reports_cadence.looks(conn, shown), strict=True):
        labels = {"league": league.slug, "season": str(season.number)}
        silent.append((labels, pulse.silent_seconds))
        cadence.append((labels, pulse.expected_seconds))
        behind.append((labels, season.accepted_no - season.rated_no))
        for cause in reports_cadence.Cause:
            fires = pulse.alarm is not None and pulse.alarm.cause is cause
            alarms.append(({**labels, "cause": cause.value}, float(fires)))
    yield (
        "peck_season_silent_seconds",
        "Since the last finished rated match, or since the season opened.",
        silent,
    )
    yield "peck_season_cadence_seconds", "A match should finish at least this often.", cadence
    yield "peck_season_unrated_results", "Accepted results that are not rated yet.", behind
    yield (
        "peck_season_alarm",
        "1 while this cause keeps matches from finishing, or a host is too slow.",
        alarms,
    )


def watched(conn: Connection, who: Viewer) -> list[tuple[Season, League]]:
    return [
        (season, league)
        for season, league in reports_cadence.seasons(conn)
        if permissions.may_see(who, records.league_seen(league))
    ]


def family(name: str, text: str, samples: Iterable[Sample]) -> str:
    """One gauge with its samples."""
    lines = [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
    for labels, value in samples:
        told = ",".join(f'{key}="{text.translate(ESCAPES)}"' for key, text in labels.items())
        lines.append(f"{name}{{{told}}} {value:.15g}")
    return "\n".join(lines) + "\n"
