"""What the leader sees to, each a function of its own. Reads maintained columns, never history.

Nothing here is needed for correctness twice: every repair may run at any moment, again, or not at
all for a while, and the rows stay right.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from random import Random, SystemRandom

from ladder import profiles
from ladder.database import db, idempotency, migrate
from ladder.entries import entries, remotes
from ladder.errors import Conflict
from ladder.ids import SeasonId
from ladder.kinds import MatchKind
from ladder.leagues import leagues
from ladder.leagues import seasons as leagues_seasons
from ladder.leagues.records import Season
from ladder.matches import capacity, lease, matches, pairing
from ladder.matches import workers as matches_workers
from ladder.matches.records import LineupSeat
from ladder.moderation import rejudging
from ladder.ratings import fitting, ratings, solo, versions
from ladder.reports import cadence
from ladder.telemetry import emit
from services.scheduler.fields import Fields
from services.scheduler.leader import Repair
from workers.broker import BellError

Bell = Callable[[str, str, str], None]

BELLS_PER_SLOT = 2
"""Bells out per live slot: seconds of work lie in Redis, the backlog stays in Postgres."""
MATCHES_PER_SLOT = 3
"""Rated matches under way per live slot, so that no slot waits for the next round."""
BELL_PAUSE_SECONDS = 1.0
BUSY_BELL_SECONDS = 60.0
"""While no slot is free, an unanswered bell is no sign of a lost one."""
RATE_AGAIN_SECONDS = 2.0
MONTHS_AHEAD = 2


def repairs(ring: Bell, rng: Random | None = None) -> list[Repair]:
    """All of them, in the order of a round: first what frees matches, then what hands them out."""
    bells = Bells(ring)
    chance = rng or SystemRandom()
    fields = Fields()
    return [
        Repair("reap", 0.0, reap),
        Repair("expire", 1.0, expire),
        Repair("rejudge", 1.0, rejudge),
        Repair("pair", 0.0, lambda conn: pair(conn, chance, fields)),
        Repair("ring", 0.0, bells.play),
        Repair("rate", 0.0, bells.rate),
        Repair("close", 5.0, close),
        Repair("watch", 5.0, Watch().look),
        Repair("partitions", 3600.0, partitions),
        Repair("forget", 3600.0, forget),
    ]


def reap(conn: db.Connection) -> dict[str, int]:
    """Leases that ran out go back to the queue, or are void when their attempts are used up."""
    with conn.transaction():
        counts = lease.reap(conn)
    return {"requeued": counts.requeued, "voided": counts.voided}


def expire(conn: db.Connection) -> dict[str, int]:
    """Matches and pending entries past their deadline, and paused ones whose next try is due."""
    with conn.transaction():
        expired = matches.expire_queued(conn)
    with conn.transaction():
        renewed = len(entries.expire(conn))
    with conn.transaction():
        tried = len(remotes.try_due(conn))
    return {"expired": expired, "validations_renewed": renewed, "paused_tried": tried}


def rejudge(conn: db.Connection) -> dict[str, int]:
    """The next matches that hosts have judged again, before new ones take their place; acts that
    are over end."""
    with conn.transaction():
        over = rejudging.settle(conn)
    for each in over:
        emit("rejudgement_ended", rejudgement=each.id, season=each.season_id, state=each.state)
    served = {
        profile for worker in matches_workers.live_workers(conn) for profile in worker.profiles
    }
    made = 0
    front = matches.least_turn(conn, "play.cpu") or 0
    for turn, (act, match_id) in enumerate(rejudging.waiting(conn, served), front):
        with conn.transaction():
            made += rejudging.queue(conn, act, match_id, turn) is not None
    return {"rejudges_queued": made}


def pair(conn: db.Connection, rng: Random, fields: Fields | None = None) -> dict[str, int]:
    """Keep enough rated matches under way for the live slots, over all seasons that play.

    Those who made leagues get equal parts of the slots' time, and so do the seasons of each: of
    long matches fewer are under way.
    """
    seasons = leagues_seasons.playing_seasons(conn)
    workers = [
        w for w in matches_workers.live_workers(conn) if {"play.cpu", "play.gpu"} & set(w.queues)
    ]
    slots = sum(worker.slots for worker in workers)
    if not seasons or slots == 0:
        return {}
    fields = fields or Fields()
    fields.turns.look(conn)
    makers = leagues_seasons.makers(conn, [season.id for season in seasons])
    under_way = {season.id: matches.in_flight(conn, season.id) for season in seasons}
    before = sum(under_way.values())
    load = Counter[str]()  # of those who made the leagues: nobody gets more by making more of them
    for season in seasons:
        load[makers[season.id]] += under_way[season.id]

    def turn_of(maker: str, lineup: Sequence[LineupSeat]) -> int:
        """Beside validations and scrims, on GPUs, by what the maker has under way."""
        load[maker] += 1
        if profiles.gpus_of(seat.profile for seat in lineup):
            return load[maker] - 1
        return fields.turns.take(maker)

    while seasons:
        # What a season cannot use of its share (it has no field, say) goes to the others: seasons
        # that only stand there never leave a slot idle.
        has = Counter(makers[season.id] for season in seasons)
        parts = {
            season.id: 1 / (has[makers[season.id]] * fields.seconds(conn, season.id))
            for season in seasons
        }
        whole = sum(parts.values())
        full = []
        for season in seasons:
            maker = makers[season.id]
            part = round(MATCHES_PER_SLOT * slots * parts[season.id] / whole, 6)
            wanted = math.ceil(part)
            missing = min(wanted, season.max_in_flight) - under_way[season.id]
            made = 0
            if missing > 0 and season.measures:
                made = _advance(conn, season, missing, partial(turn_of, maker), workers)
            elif missing > 0:
                turn = partial(turn_of, maker)
                made = _pair(conn, season, missing, turn, workers, rng, fields)
            under_way[season.id] += made
            if under_way[season.id] >= wanted:
                full.append(season)
        if len(full) == len(seasons):
            break
        seasons = full
    return {"paired": sum(under_way.values()) - before}


def _pair(
    conn: db.Connection,
    season: Season,
    missing: int,
    turn: Callable[[Sequence[LineupSeat]], int],
    workers: Sequence[matches_workers.Worker],
    rng: Random,
    fields: Fields,
) -> int:
    """Makes up to this many matches, each at its ``turn`` of the queue; returns how many.

    None that no live node could play: it would hold a place among those under way for nothing.
    """
    league = leagues.get_league(conn, season.league_id)
    served = {profile for worker in workers for profile in worker.profiles}
    proposal = pairing.propose(
        fields.candidates(conn, season),
        seats=season.seats,
        lineups=missing,
        rng=rng,
        beta=season.beta,
        same_team_lineups=league.same_team_lineups,
        admissible=served,
        met=fields.met(conn, season),
    )
    made = 0
    for lineup in proposal.lineups:
        if capacity.missing_for(workers, lineup) is not None:
            continue
        try:
            with conn.transaction():
                matches.create(
                    conn, season=season, kind=MatchKind.RATED, lineup=lineup, turn=turn(lineup)
                )
            made += 1
        except Conflict:
            continue  # an entry retired between the look and the making
    return made


def _advance(
    conn: db.Connection,
    season: Season,
    missing: int,
    turn: Callable[[Sequence[LineupSeat]], int],
    workers: Sequence[matches_workers.Worker],
) -> int:
    """The same for a season of one seat: first what came to nothing, on its round's own seed, then
    the next rounds of those who lack one. Who cannot be played has no turn among those who can."""
    field, begun = solo.runners(conn, season)
    seats = {runner.candidate.profile: runner.candidate.seat for runner in field}
    served = {
        profile for profile, seat in seats.items() if capacity.missing_for(workers, [seat]) is None
    }
    made = 0
    with conn.transaction():
        solo.forget(conn, season.id)
    able = {runner.candidate.entry_id: runner.candidate for runner in field}
    for gap in solo.gaps(conn, season.id):
        runner = able.get(gap.entry_id)
        if made == missing:
            break
        if runner is None or runner.profile not in served or runner.weight <= 0:
            continue
        try:
            with conn.transaction():
                solo.queue_again(conn, season, runner, gap, turn([runner.seat]))
            made += 1
        except Conflict:
            continue
    for candidate, number in pairing.advance(field, begun, missing - made, served):
        try:
            with conn.transaction():
                solo.queue(conn, season, candidate, number, turn([candidate.seat]))
            made += 1
        except Conflict:
            continue  # it retired between the look and the making
    return made


def slots_by_queue(conn: db.Connection) -> dict[str, int]:
    """Matches the live workers can play at once, by the queues they serve."""
    slots: dict[str, int] = {}
    for worker in matches_workers.live_workers(conn):
        for queue in worker.queues:
            slots[queue] = slots.get(queue, 0) + worker.slots
    return slots


def busy(conn: db.Connection) -> bool:
    """Whether every slot of the live workers plays."""
    slots = sum(worker.slots for worker in matches_workers.live_workers(conn))
    return sum(queue.running for queue in matches.counts(conn)) >= slots


class Bells:
    """Rings for matches that are due and for seasons that are to be rated."""

    def __init__(self, ring: Bell) -> None:
        self._ring = ring
        self._quiet_until = 0.0
        self._rated_at: dict[SeasonId, float] = {}

    def play(self, conn: db.Connection) -> dict[str, int]:
        """A bell for each match that waits, a small multiple of the live slots at a time."""
        if time.monotonic() < self._quiet_until:
            return {}
        most = {queue: BELLS_PER_SLOT * n for queue, n in slots_by_queue(conn).items()}
        if not most:
            return {}
        bell_seconds = BUSY_BELL_SECONDS if busy(conn) else matches.BELL_SECONDS
        with conn.transaction():
            due = matches.ring_due(conn, most, bell_seconds=bell_seconds)
        for position, (queue, match_id) in enumerate(due):
            try:
                self._ring(queue, "play", match_id)
            except BellError as error:
                self._fall_quiet(error)
                unrung = [match for _, match in due[position:]]
                with conn.transaction():
                    matches.bell_failed(conn, unrung)
                return {"rung": position, "bells_failed": len(unrung)}
        return {"rung": len(due)}

    def rate(self, conn: db.Connection) -> dict[str, int]:
        """A bell for the rater where results wait or a fit is due; again only when it has had time
        to answer."""
        now = time.monotonic()
        if now < self._quiet_until:
            return {}
        rung = 0
        for season in sorted({*ratings.seasons_to_rate(conn), *fitting.due(conn)}):
            rung_at = self._rated_at.get(season, -math.inf)
            if now - rung_at < RATE_AGAIN_SECONDS:
                continue
            try:
                self._ring("rate", "rate", season)
            except BellError as error:
                self._fall_quiet(error)
                return {"rate_rung": rung, "bells_failed": 1}
            self._rated_at[season] = now
            rung += 1
        return {"rate_rung": rung}

    def _fall_quiet(self, error: BellError) -> None:
        emit("bells_failed", error=str(error))
        self._quiet_until = time.monotonic() + BELL_PAUSE_SECONDS


def close(conn: db.Connection) -> dict[str, int]:
    """Seasons whose dates have come are locked or finished; where all medals are sealed and the
    season stops then, its date has come."""
    with conn.transaction():
        sealed = leagues_seasons.end_sealed(conn)
        turned = [
            leagues_seasons.get_season(conn, season)
            for season in leagues_seasons.turn_seasons(conn)
        ]
    for season_id in sealed:
        emit("season_stops", season=season_id, reason="every medal is sealed")
    for season in turned:
        emit("season_turned", season=season.id, state=season.state)
    return {"seasons_turned": len(turned)}


def forget(conn: db.Connection) -> dict[str, int]:
    """Answers that nobody will repeat a request for, workers long gone, and most rows of old
    official standings are dropped."""
    with conn.transaction():
        answers = idempotency.forget(conn)
    with conn.transaction():
        workers = matches_workers.forget_workers(conn)
    with conn.transaction():
        standings = versions.drop_old(conn)
    return {
        "answers_forgotten": answers,
        "workers_forgotten": workers,
        "standings_dropped": standings,
    }


def partitions(conn: db.Connection) -> dict[str, int]:
    """Tables have a partition for the months ahead."""
    with conn.transaction():
        return {"partitions_made": len(migrate.ensure_partitions(conn, MONTHS_AHEAD))}


class Watch:
    """Logs each alarm of a season once: it has finished nothing for longer than its cadence, or a
    host is too slow for it."""

    def __init__(self) -> None:
        self._told: dict[SeasonId, str] = {}

    def look(self, conn: db.Connection) -> dict[str, int]:
        """Alarms now; a log line when one appears, changes or goes."""
        alarms = {alarm.season_id: alarm for alarm in cadence.alarms(conn)}
        for season, alarm in alarms.items():
            if self._told.get(season) != alarm.reason:
                slow = alarm.cause is cadence.Cause.SLOW_HOST
                emit(
                    "host_too_slow" if slow else "cadence_missed",
                    season=season,
                    league=alarm.league,
                    reason=alarm.reason,
                    silent_seconds=round(alarm.silent_seconds),
                    expected_seconds=alarm.expected_seconds,
                )
                self._told[season] = alarm.reason
        for season in set(self._told) - set(alarms):
            emit("cadence_back", season=season)
            del self._told[season]
        return {}
