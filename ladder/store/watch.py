"""Why a season that should be playing finishes nothing: the alarm, and the reason in words.

Computed from maintained columns whenever somebody asks, so that the API, the page, the metrics and
the scheduler's log tell the same, and nothing has to be cleared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from ladder.ids import LeagueId, SeasonId
from ladder.model import League, Season
from ladder.store import leagues, matches, serving
from ladder.store.db import Connection

INTERVALS: Final = 3
"""Of the season's cadence that may pass without a finished match before there is an alarm."""


class Cause(StrEnum):
    """What keeps a season from playing, as its competitors need to know it."""

    PAUSED = "paused"
    """The host has paused the league."""
    NO_CAPACITY = "no_capacity"
    """Nothing is there to play the matches."""
    NOTHING_TO_PAIR = "nothing_to_pair"
    """Too few take part."""
    ERROR = "error"
    """Something on our side does not do its work."""

    @property
    def told(self) -> str:
        """The sentence for competitors."""
        return TOLD[self]


TOLD: Final = {
    Cause.PAUSED: "The host has paused this league; it goes on as it stood.",
    Cause.NO_CAPACITY: "No machine is free to play its matches now; they wait and are not lost.",
    Cause.NOTHING_TO_PAIR: "Too few agents of different teams take part to make a match.",
    Cause.ERROR: "Something is wrong on our side. Nothing is lost, and whoever runs the service"
    " can see what it is.",
}


@dataclass(frozen=True, slots=True)
class Alarm:
    """A season that has been silent for longer than its cadence allows."""

    league_id: LeagueId
    league: str
    season_id: SeasonId
    cause: Cause
    reason: str
    """One sentence an operator can act on."""
    silent_seconds: float
    expected_seconds: float


@dataclass(frozen=True, slots=True)
class Pulse:
    """How a season goes on."""

    season_id: SeasonId
    last_match_at: datetime | None
    """When the last rated match finished."""
    silent_seconds: float
    """Since then, or since the season opened."""
    expected_seconds: float
    """Its cadence: a match is expected to finish at least this often."""
    alarm: Alarm | None


def look(conn: Connection, season: Season, league: League) -> Pulse:
    """The season's pulse now; a season that is not to play has no alarm."""
    now = datetime.now(UTC)
    last = _last_match_at(conn, season)
    silent = (now - (last or season.opens_at)).total_seconds()
    alarm = None
    if _is_to_play(season, league, now) and silent > INTERVALS * season.cadence_seconds:
        cause, reason = _reason(conn, season, league)
        alarm = Alarm(
            league.id, league.slug, season.id, cause, reason, silent, season.cadence_seconds
        )
    return Pulse(season.id, last, max(0.0, silent), season.cadence_seconds, alarm)


def alarms(conn: Connection) -> list[Alarm]:
    """Of all seasons that are to play and have finished no rated match for INTERVALS of their
    cadence, oldest season first."""
    found = []
    for season in seasons(conn):
        pulse = look(conn, season, leagues.get_league(conn, season.league_id))
        if pulse.alarm is not None:
            found.append(pulse.alarm)
    return found


def seasons(conn: Connection) -> list[Season]:
    """Those that are to play, paused ones among them, oldest first."""
    rows = conn.execute(
        "select s.id from seasons s join leagues l on l.id = s.league_id"
        " where s.state <> 'finished' and s.opens_at <= now() and l.state <> 'closed'"
        " and (s.ends_at is null or s.ends_at > now()) order by s.id"
    ).fetchall()
    return [leagues.get_season(conn, SeasonId(row[0])) for row in rows]


def _is_to_play(season: Season, league: League, now: datetime) -> bool:
    return (
        season.state != "finished"
        and season.opens_at <= now
        and (season.ends_at is None or season.ends_at > now)
        and league.state != "closed"
    )


def _last_match_at(conn: Connection, season: Season) -> datetime | None:
    row = conn.execute(
        "select max(last_match_at) from entries where season_id = %s", (season.id,)
    ).fetchone()
    return None if row is None else row[0]


def _reason(conn: Connection, season: Season, league: League) -> tuple[Cause, str]:
    """The first of the known causes that fits, from the league to the bells."""
    if league.state == "paused":
        return Cause.PAUSED, "the league is paused: open it again to go on"
    active = conn.execute(
        "select count(*) filter (where state = 'active' and pairing_weight > 0),"
        " count(*) filter (where state = 'pending') from entries where season_id = %s",
        (season.id,),
    ).fetchone()
    assert active is not None
    playing, pending = active
    workers = [w for w in matches.live_workers(conn) if {"play.cpu", "play.gpu"} & set(w.queues)]
    if not workers:
        return Cause.NO_CAPACITY, (
            "no worker that serves play.cpu has been heard of for 15 s:"
            " is one running, does its node answer?"
        )
    if season.rated_no < season.accepted_no:
        behind = season.accepted_no - season.rated_no
        return Cause.ERROR, f"{behind} accepted results wait to be rated: is the rater running?"
    queued, running, unrung = _under_way(conn, season)
    unserved = _unserved(conn, season, workers) if running == 0 else None
    if unserved is not None:
        return Cause.NO_CAPACITY, unserved
    if queued + running == 0 and playing < season.seats:
        waiting = f", {pending} wait for their validation" if pending else ""
        return (
            Cause.NOTHING_TO_PAIR,
            f"{playing} active entries{waiting}; a match needs {season.seats}",
        )
    if queued + running == 0:
        return (
            Cause.ERROR,
            "no match is made: is the scheduler running, and do enough teams take part?",
        )
    if running == 0 and unrung == queued:
        return (
            Cause.ERROR,
            f"{queued} matches wait and no bell gets through: is Redis up, and the scheduler?",
        )
    if running == 0:
        return Cause.ERROR, f"{queued} matches wait and no worker takes them: see the workers' log"
    return (
        Cause.ERROR,
        f"{running} matches are being played and none has finished: slow or failing attempts",
    )


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
