"""Why a season that should be playing finishes nothing: the alarm, and the reason in words.

Computed from maintained columns whenever somebody asks, so that the API, the page and the
scheduler's log tell the same, and nothing has to be cleared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ladder.ids import LeagueId, SeasonId
from ladder.model import Season
from ladder.store import leagues, matches, serving
from ladder.store.db import Connection


@dataclass(frozen=True, slots=True)
class Alarm:
    """A season that has been silent for longer than its cadence allows."""

    league_id: LeagueId
    league: str
    season_id: SeasonId
    reason: str
    """One sentence an operator can act on."""
    silent_seconds: float
    expected_seconds: float


def alarms(conn: Connection) -> list[Alarm]:
    """Seasons that play and have finished no rated match within their cadence, oldest first."""
    found = []
    for season in leagues.playing_seasons(conn):
        silent = _silent_seconds(conn, season)
        if silent > season.cadence_seconds:
            league = leagues.get_league(conn, season.league_id)
            found.append(
                Alarm(
                    league.id,
                    league.slug,
                    season.id,
                    _reason(conn, season),
                    silent,
                    season.cadence_seconds,
                )
            )
    return found


def _silent_seconds(conn: Connection, season: Season) -> float:
    """Since the last rated match finished, or since the season opened."""
    row = conn.execute(
        "select max(last_match_at) from entries where season_id = %s", (season.id,)
    ).fetchone()
    last = row[0] if row is not None and row[0] is not None else season.opens_at
    return (datetime.now(UTC) - last).total_seconds()


def _reason(conn: Connection, season: Season) -> str:
    """The first of the known causes that fits, from the field to the bells."""
    active = conn.execute(
        "select count(*) filter (where state = 'active' and pairing_weight > 0),"
        " count(*) filter (where state = 'pending') from entries where season_id = %s",
        (season.id,),
    ).fetchone()
    assert active is not None
    playing, pending = active
    workers = [w for w in matches.live_workers(conn) if {"play.cpu", "play.gpu"} & set(w.queues)]
    if not workers:
        return (
            "no worker that serves play.cpu has been heard of for 15 s:"
            " is one running, does its node answer?"
        )
    if season.rated_no < season.accepted_no:
        behind = season.accepted_no - season.rated_no
        return f"{behind} accepted results wait to be rated: is the rater running?"
    queued, running, unrung = _under_way(conn, season)
    unserved = _unserved(conn, season, workers) if running == 0 else None
    if unserved is not None:
        return unserved
    if queued + running == 0 and playing < season.seats:
        waiting = f", {pending} wait for their validation" if pending else ""
        return f"{playing} active entries{waiting}; a match needs {season.seats}"
    if queued + running == 0:
        return "no match is made: is the scheduler running, and do enough teams take part?"
    if running == 0 and unrung == queued:
        return f"{queued} matches wait and no bell gets through: is Redis up, and the scheduler?"
    if running == 0:
        return f"{queued} matches wait and no worker takes them: see the workers' log"
    return f"{running} matches are being played and none has finished: slow or failing attempts"


def _unserved(conn: Connection, season: Season, workers: Sequence[matches.Worker]) -> str | None:
    """What keeps every queued match, or with none queued every entry, from being played."""
    waiting = conn.execute(
        "select distinct queue, profiles, gpu, speed_class from matches"
        " where season_id = %s and kind = 'rated' and state = 'queued'",
        (season.id,),
    ).fetchall()
    reasons = [
        serving.missing(workers, queue=queue, needed=needed, gpus=gpus, speed_class=speed_class)
        for queue, needed, gpus, speed_class in waiting
    ]
    if reasons:
        return f"its matches cannot be played: {reasons[0]}" if all(reasons) else None
    rows = conn.execute(
        "select profile, count(*) from entries where season_id = %s and state = 'active'"
        " and pairing_weight > 0 group by profile order by profile",
        (season.id,),
    ).fetchall()
    served = {profile for worker in workers for profile in worker.profiles}
    idle = [(profile, count) for profile, count in rows if profile not in served]
    playing = sum(count for profile, count in rows if profile in served)
    if not idle or playing >= season.seats:
        return None
    told = " and ".join(f"profile {profile} ({count} entries)" for profile, count in idle)
    return f"{playing} active entries can be played; no node serves {told} now"


def _under_way(conn: Connection, season: Season) -> tuple[int, int, int]:
    """Rated matches queued, running, and queued without a bell."""
    row = conn.execute(
        "select count(*) filter (where state = 'queued'),"
        " count(*) filter (where state = 'running'),"
        " count(*) filter (where state = 'queued' and rung_at is null)"
        " from matches where season_id = %s and kind = 'rated' and state in ('queued', 'running')",
        (season.id,),
    ).fetchone()
    assert row is not None
    return row[0], row[1], row[2]
