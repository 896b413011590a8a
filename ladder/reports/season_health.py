"""Finds seasons that finish no match or play on a slow host, and explains why.

The alarm is computed from maintained columns at each request. So the API, the page, the metrics and
the scheduler's log agree, and no alarm needs clearing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from ladder.database.db import Connection
from ladder.entries import candidates
from ladder.entries.records import PauseCause
from ladder.enums import FaultCause
from ladder.ids import LeagueId, SeasonId, time_part
from ladder.leagues import seasons as leagues_seasons
from ladder.leagues.records import League, Season
from ladder.matches import pairing, worker_availability
from ladder.matches import workers as matches_workers

SLOW_MINUTES: Final = 15
"""Minutes that such an attempt keeps the alarm active."""
INTERVALS: Final = 3
"""Number of cadence intervals without a finished match before an alarm."""


class AlarmCause(StrEnum):
    """Cause of an alarm, for competitors."""

    PAUSED = "paused"
    """The host has paused the league."""
    NO_CAPACITY = "no_capacity"
    """No machine can play the matches."""
    NOTHING_TO_PAIR = "nothing_to_pair"
    """Too few agents take part."""
    SLOW_HOST = "slow_host"
    """A host of its matches makes seats wait too long for a core."""
    AGENTS_AWAY = "agents_away"
    """Remote agents do not answer, and no match is possible without them."""
    ERROR = "error"
    """A part of the service does not work."""

    @property
    def sentence(self) -> str:
        """Returns the sentence for competitors."""
        return CAUSE_SENTENCES[self]


CAUSE_SENTENCES: Final = {
    AlarmCause.PAUSED: "The host has paused this league; it goes on as it stood.",
    AlarmCause.NO_CAPACITY: "No machine is free to play its matches now;"
    " they wait and are not lost.",
    AlarmCause.NOTHING_TO_PAIR: "Too few different agents take part to fill a match.",
    AlarmCause.SLOW_HOST: "A machine that plays its matches is too busy."
    " Matches that it delayed too much rate nobody and are played again.",
    AlarmCause.AGENTS_AWAY: "Agents at addresses of their owners do not answer;"
    " it goes on when they do.",
    AlarmCause.ERROR: "Something is wrong on our side. Nothing is lost, and whoever runs the"
    " service can see what it is.",
}


@dataclass(frozen=True, slots=True)
class SeasonAlarm:
    """A season that finished no match within its cadence, or has a slow host."""

    league_id: LeagueId
    league: str
    season_id: SeasonId
    cause: AlarmCause
    reason: str
    """One sentence for operators, with the remedy."""
    silent_seconds: float
    expected_seconds: float


@dataclass(frozen=True, slots=True)
class SeasonHealth:
    """State of a season."""

    season_id: SeasonId
    last_match_at: datetime | None
    """When the last rated match finished."""
    silent_seconds: float
    """Seconds since the last match, or since the season opened."""
    expected_seconds: float
    """Cadence: a match is expected to finish at least this often."""
    alarm: SeasonAlarm | None
    lacking: str | None = None
    """Why its entries fill no match. None if they fill one, or if the caller did not ask. Entries
    that wait for validation count as active.
    """


@dataclass(frozen=True, slots=True)
class _QueuedNeed:
    """Rated matches with the same requirements on a node."""

    queue: str
    profiles: tuple[str, ...]
    speed_class: str
    queued: int
    running: int
    not_woken: int
    """Queued matches without a wake-up message."""


@dataclass(slots=True)
class _SeasonSigns:
    """Facts about a season without finished matches."""

    active: list[pairing.Candidate] = field(default_factory=list)
    """Active entries; empty while a match waits or is played."""
    pending: int = 0
    unreachable: int = 0
    competitors: int = 0
    """Entries that take part or wait, without reference agents."""
    needs: list[_QueuedNeed] = field(default_factory=list)


def read_health(conn: Connection, season: Season, league: League) -> SeasonHealth:
    """Returns the season's state; a season that should not play has no alarm."""
    return replace(
        read_health_of_seasons(conn, [(season, league)])[0],
        lacking=why_no_lineup(conn, season, league),
    )


def why_no_lineup(conn: Connection, season: Season, league: League) -> str | None:
    """Returns why the season's entries fill no match. None if they fill one or the season is over.

    Entries that wait for validation count as active.
    """
    if season.state == "finished" or league.state == "closed":
        return None
    field = candidates.candidates_by_season(conn, [season.id], with_pending=True)[season.id]
    return pairing.shortage_message(field, season.seats, league.same_team_lineups)


def read_health_of_seasons(
    conn: Connection, watched: Sequence[tuple[Season, League]]
) -> list[SeasonHealth]:
    """Returns the state of each season in the given order. One that nobody entered has no alarm.

    The number of queries does not depend on the number of seasons.
    """
    now = datetime.now(UTC)
    last = _last_match_at(conn, [season.id for season, _ in watched])
    silent = {
        season.id: (now - (last[season.id] or season.opens_at)).total_seconds()
        for season, _ in watched
    }
    alarming = {
        season.id
        for season, league in watched
        if _should_play(season, league, now)
        and silent[season.id] > INTERVALS * season.cadence_seconds
    }
    slow = _slow_hosts(conn, [season.id for season, _ in watched])
    signs = _read_signs(conn, alarming) if alarming else {}
    workers = _live_players(conn) if alarming else []
    pulses = []
    for season, league in watched:
        alarm, expected, found = None, season.cadence_seconds, None
        if season.id in alarming and signs[season.id].competitors:
            found = _find_cause(season, league, signs[season.id], workers)
        elif season.id in slow and _should_play(season, league, now):
            found = AlarmCause.SLOW_HOST, slow[season.id]
        if found is not None:
            cause, reason = found
            alarm = SeasonAlarm(
                league.id, league.slug, season.id, cause, reason, silent[season.id], expected
            )
        pulses.append(
            SeasonHealth(season.id, last[season.id], max(0.0, silent[season.id]), expected, alarm)
        )
    return pulses


def season_alarms(conn: Connection) -> list[SeasonAlarm]:
    """Returns the alarms of playing seasons, oldest season first.

    They finished no rated match for INTERVALS of their cadence, or a host is too slow for them.
    """
    return [
        pulse.alarm
        for pulse in read_health_of_seasons(conn, playing_seasons(conn))
        if pulse.alarm is not None
    ]


def playing_seasons(conn: Connection) -> list[tuple[Season, League]]:
    """Returns the seasons that should play, even paused ones, with their leagues, oldest first."""
    rows = conn.execute(
        """
        select s.id from seasons s join leagues l on l.id = s.league_id
        where s.state <> 'finished' and s.opens_at <= now() and l.state <> 'closed'
        and (s.ends_at is null or s.ends_at > now()) order by s.id
        """
    ).fetchall()
    return leagues_seasons.seasons_with_leagues(conn, [SeasonId(row[0]) for row in rows])


def _should_play(season: Season, league: League, now: datetime) -> bool:
    return (
        season.state != "finished"
        and season.opens_at <= now
        and (season.ends_at is None or season.ends_at > now)
        and league.state != "closed"
    )


def _last_match_at(
    conn: Connection, season_ids: Collection[SeasonId]
) -> dict[SeasonId, datetime | None]:
    found = dict(
        conn.execute(
            """
            select season_id, max(last_match_at) from entries where season_id = any (%s)
            group by season_id
            """,
            (list(season_ids),),
        ).fetchall()
    )
    return {season_id: found.get(season_id) for season_id in season_ids}


def _live_players(conn: Connection) -> list[matches_workers.Worker]:
    """Returns live workers that play rated matches."""
    return [
        w for w in matches_workers.live_workers(conn) if {"play.cpu", "play.gpu"} & set(w.queues)
    ]


def _slow_hosts(conn: Connection, season_ids: Collection[SeasonId]) -> dict[SeasonId, str]:
    """Returns, for each season with matches voided by a slow host, the remedy for operators."""
    since = datetime.now(UTC) - timedelta(minutes=SLOW_MINUTES)
    # A match waits before it is played; this limit skips older ones.
    oldest = f"mat_{time_part(int((since - timedelta(hours=1)).timestamp() * 1000))}"
    rows = conn.execute(
        """
        select m.season_id, a.worker, count(*) from attempts a join matches m on m.id = a.match_id
        where a.match_id >= %s and a.fault_cause = %s
        and a.ended_at > %s and m.season_id = any (%s) group by m.season_id, a.worker
        order by a.worker
        """,
        (oldest, FaultCause.SLOW_HOST, since, list(season_ids)),
    ).fetchall()
    told: dict[SeasonId, list[str]] = {}
    for season_id, worker, count in rows:
        told.setdefault(season_id, []).append(f"{worker} ({count} attempts)")
    return {
        season_id: (
            "give the worker fewer slots, or stop other programs there: this host is"
            f" too slow for this season: {' and '.join(workers)} in {SLOW_MINUTES}"
            " minutes"
        )
        for season_id, workers in told.items()
    }


def _read_signs(conn: Connection, season_ids: Collection[SeasonId]) -> dict[SeasonId, _SeasonSigns]:
    signs = {season_id: _SeasonSigns() for season_id in season_ids}
    counted = conn.execute(
        """
        select season_id, count(*) filter (where state = 'pending'),
        count(*) filter (where pause_cause = %s), count(*) filter (where not is_anchor)
        from entries where season_id = any (%s) and state in ('pending', 'paused', 'active')
        group by season_id
        """,
        (PauseCause.UNREACHABLE, list(season_ids)),
    )
    for season_id, pending, unreachable, competitors in counted:
        sign = signs[season_id]
        sign.pending, sign.unreachable, sign.competitors = pending, unreachable, competitors
    needs = conn.execute(
        """
        select season_id, queue, profiles, speed_class,
        count(*) filter (where state = 'queued'), count(*) filter (where state = 'running'),
        count(*) filter (where state = 'queued' and woken_at is null)
        from matches where season_id = any (%s) and kind = 'rated'
        and state in ('queued', 'running') group by season_id, queue, profiles, speed_class
        order by queue, profiles, speed_class
        """,
        (list(season_ids),),
    )
    for season_id, queue, profiles, speed_class, *counts in needs:
        need = _QueuedNeed(queue, tuple(profiles), speed_class, *counts)
        signs[season_id].needs.append(need)
    idle = [season_id for season_id, sign in signs.items() if not sign.needs]
    for season_id, found in candidates.candidates_by_season(conn, idle).items():
        signs[season_id].active = found
    return signs


def _find_cause(
    season: Season, league: League, signs: _SeasonSigns, workers: Sequence[matches_workers.Worker]
) -> tuple[AlarmCause, str]:
    """Returns the first known cause that applies, from the league to the wake-up messages."""
    if league.state == "paused":
        return (
            AlarmCause.PAUSED,
            f"the league is paused: peck league set {league.slug} state=open continues it",
        )
    if not workers:
        return AlarmCause.NO_CAPACITY, (
            "no worker that serves play.cpu has been heard of for 15 s:"
            " is one running, does its node answer?"
        )
    if season.rated_no < season.accepted_no:
        behind = season.accepted_no - season.rated_no
        return (
            AlarmCause.ERROR,
            f"{behind} accepted results wait to be rated: is the rater running?",
        )
    queued = sum(need.queued for need in signs.needs)
    running = sum(need.running for need in signs.needs)
    not_woken = sum(need.not_woken for need in signs.needs)
    if not signs.needs:
        return _why_unpaired(season, league, signs, workers)
    unserved = _why_unserved(signs, workers) if running == 0 else None
    if unserved is not None:
        return AlarmCause.NO_CAPACITY, unserved
    if running == 0 and not_woken == queued:
        return (
            AlarmCause.ERROR,
            f"{queued} matches wait and no wake-up message gets through: is Redis up, and the"
            " scheduler?",
        )
    if running == 0:
        return (
            AlarmCause.ERROR,
            f"{queued} matches wait and no worker takes them: is the blob store's disk full? See"
            " the workers' log",
        )
    return (
        AlarmCause.ERROR,
        f"{running} matches are being played and none has finished: slow or failing attempts",
    )


def _why_unpaired(
    season: Season, league: League, signs: _SeasonSigns, workers: Sequence[matches_workers.Worker]
) -> tuple[AlarmCause, str]:
    """Returns why the scheduler creates no match: the entries' shortage, else the nodes'."""
    terms = season.seats, league.same_team_lineups
    short = pairing.shortage_message(signs.active, *terms)
    if short is not None:
        count = signs.unreachable
        away = f"; {count} paused: their addresses do not answer" if count else ""
        waiting = f"; {signs.pending} wait for their validation" if signs.pending else ""
        cause = AlarmCause.AGENTS_AWAY if count else AlarmCause.NOTHING_TO_PAIR
        return cause, f"{short}{away}{waiting}"
    served = {profile for worker in workers for profile in worker.profiles}
    if pairing.shortage_message([each for each in signs.active if each.profile in served], *terms):
        return AlarmCause.NO_CAPACITY, "; ".join(pairing.left_out_profiles(signs.active, served))
    return AlarmCause.ERROR, (
        f"no match is made although {season.seats} of {season.seats} seats can be filled:"
        " is the scheduler running?"
    )


def _why_unserved(signs: _SeasonSigns, workers: Sequence[matches_workers.Worker]) -> str | None:
    """Returns what prevents all queued matches from being played."""
    reasons = [
        worker_availability.why_no_worker_fits(
            workers,
            queue=need.queue,
            needed=need.profiles,
            speed_class=need.speed_class,
        )
        for need in signs.needs
        if need.queued
    ]
    return f"its matches cannot be played: {reasons[0]}" if reasons and all(reasons) else None
