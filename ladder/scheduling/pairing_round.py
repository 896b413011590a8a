"""Creates rated matches until each season uses its share of the free slots.

League makers get equal shares of the slots' time; a maker's seasons share that equally. The first
match of an entry is created at once, also above the share, and goes before other matches. The
season's ``max_in_flight`` holds for all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from ladder import runtime_profiles
from ladder.database import db
from ladder.entries import candidates
from ladder.errors import Conflict
from ladder.leagues import leagues
from ladder.leagues import seasons as leagues_seasons
from ladder.leagues.records import Season
from ladder.matches import matches, pairing, worker_availability
from ladder.matches import workers as matches_workers
from ladder.matches.matches import RatedMatch
from ladder.matches.records import LineupSeat
from ladder.ratings import solo_seasons
from ladder.scheduling.season_cache import SeasonCache

MATCHES_PER_SLOT = 3
"""Rated matches in flight per live slot, so no slot waits for the next round."""
MOST_PER_SLOT = 16
"""The same for the shortest matches."""
AHEAD_SECONDS = 1.0
"""Time for which a slot has matches: some rounds of a busy scheduler."""


@dataclass(frozen=True, slots=True)
class _Places:
    """How many matches a season may get now."""

    missing: int
    """Of its share."""
    room: int
    """With the first matches of entries."""


def make_rated_matches(
    conn: db.Connection, rng: Random, fields: SeasonCache | None = None
) -> dict[str, int]:
    """Keeps enough rated matches in flight for the live slots, over all playing seasons.

    League makers get equal shares of the slots' time, as do the seasons of each. So a season with
    long matches has fewer in flight.
    """
    seasons = leagues_seasons.playing_seasons(conn)
    fields = fields or SeasonCache()
    fields.keep_only({season.id for season in seasons})
    makers = leagues_seasons.league_makers(conn, [season.id for season in seasons])
    workers = [
        w for w in matches_workers.live_workers(conn) if {"play.cpu", "play.gpu"} & set(w.queues)
    ]
    slots = sum(worker.slots for worker in workers)
    if not seasons or slots == 0:
        return {}
    front = matches.first_turn_of_queue(conn, "play.cpu")
    under_way = {season.id: matches.matches_in_flight(conn, season.id) for season in seasons}
    seconds = {season.id: fields.usual.of(conn, season.id) for season in seasons}
    fields.turns.set_least_turn(front)
    before = sum(under_way.values())
    load = Counter[str]()  # by league maker, so more leagues do not give a larger share
    for season in seasons:
        load[makers[season.id]] += under_way[season.id]

    def turn_of(maker: str, lineup: Sequence[LineupSeat]) -> int:
        """On GPUs: the number of the maker's rated matches in flight. Else: the next fair turn."""
        load[maker] += 1
        if runtime_profiles.needs_gpu(seat.profile for seat in lineup):
            return load[maker] - 1
        return fields.turns.next_turn(maker)

    while seasons:
        # A season may not use its share, for example without entries. Then other seasons get it in
        # the next pass of this loop.
        has = Counter(makers[season.id] for season in seasons)
        parts = {season.id: 1 / (has[makers[season.id]] * seconds[season.id]) for season in seasons}
        whole = sum(parts.values())
        full = []
        for season in seasons:
            maker = makers[season.id]
            depth = _matches_per_slot(seconds[season.id])
            part = round(depth * slots * parts[season.id] / whole, 6)
            target = math.ceil(part)
            room = season.max_in_flight - under_way[season.id]
            missing = min(target - under_way[season.id], room)
            turn = partial(turn_of, maker)
            queued = 0
            if missing > 0 and season.measures:
                queued = _advance_solo_season(conn, season, missing, turn, workers)
            elif not season.measures and room > 0:
                places = _Places(max(0, missing), room)
                queued = _pair_season(conn, season, places, turn, workers, rng, fields)
            under_way[season.id] += queued
            if under_way[season.id] >= target:
                full.append(season)
        if len(full) == len(seasons):
            break
        seasons = full
    return {"paired": sum(under_way.values()) - before}


def _matches_per_slot(seconds: float) -> int:
    """Rated matches in flight per slot, for matches of this duration."""
    return max(MATCHES_PER_SLOT, min(MOST_PER_SLOT, math.ceil(1 + AHEAD_SECONDS / seconds)))


def _pair_season(
    conn: db.Connection,
    season: Season,
    places: _Places,
    turn: Callable[[Sequence[LineupSeat]], int],
    workers: Sequence[matches_workers.Worker],
    rng: Random,
    fields: SeasonCache,
) -> int:
    """Creates the missing matches, each with its ``turn`` in the queue; returns how many.

    The first matches of entries are created while there is room. Matches that no live node can play
    are not created: they would only use up the limit.
    """
    served = {profile for worker in workers for profile in worker.profiles}
    fields.read_entries(conn, season.id)
    new = fields.entries_without_matches(conn, season.id, served)
    if not places.missing and not new:
        return 0
    league = leagues.get_league(conn, season.league_id)
    fields.read_log(conn, season)
    proposal = fields.propose_lineups(
        season,
        lineups=max(places.missing, min(len(new), places.room)),
        rng=rng,
        same_team_lineups=league.same_team_lineups,
        admissible=served,
    )
    playable = _playable_lineups(workers, proposal.lineups)
    planned = list[RatedMatch]()
    with conn.transaction():
        active = matches.lock_active_entries(conn, playable)
        for lineup in playable:
            if not active.issuperset(seat.entry_id for seat in lineup):
                continue  # an entry has retired since the proposal
            newcomers = new.intersection(seat.entry_id for seat in lineup)
            if len(planned) < places.missing or newcomers:
                planned.append(RatedMatch(lineup, turn(lineup), goes_first=bool(newcomers)))
                new -= newcomers
        matches.create_rated_matches(conn, season, planned)
    return len(planned)


def _playable_lineups(
    workers: Sequence[matches_workers.Worker], lineups: Sequence[Sequence[LineupSeat]]
) -> list[Sequence[LineupSeat]]:
    """Returns the lineups that a live worker can play."""
    fits = dict[tuple[str, ...], bool]()
    playable = []
    for lineup in lineups:
        profiles = tuple(sorted(seat.profile for seat in lineup))
        if profiles not in fits:
            reason = worker_availability.why_no_worker_fits_lineup(workers, lineup)
            fits[profiles] = reason is None
        if fits[profiles]:
            playable.append(lineup)
    return playable


def _advance_solo_season(
    conn: db.Connection,
    season: Season,
    missing: int,
    turn: Callable[[Sequence[LineupSeat]], int],
    workers: Sequence[matches_workers.Worker],
) -> int:
    """Creates matches for a season of one seat.

    First repeats void matches with their rounds' seeds, then creates missing rounds. Entries that
    no node can play use no turn.
    """
    field, begun = solo_seasons.entry_rounds(conn, season)
    seats = {runner.candidate.profile: runner.candidate.seat for runner in field}
    served = {
        profile
        for profile, seat in seats.items()
        if worker_availability.why_no_worker_fits_lineup(workers, [seat]) is None
    }
    queued = 0
    with conn.transaction():
        solo_seasons.delete_old_round_matches(conn, season.id)
    able = {runner.candidate.entry_id: runner.candidate for runner in field}
    new = candidates.entries_without_matches(
        conn,
        {
            waiting.entry_id
            for waiting in able.values()
            if waiting.waits_for_first_match and waiting.profile in served
        },
    )
    for gap in solo_seasons.void_rounds(conn, season.id):
        runner = able.get(gap.entry_id)
        if queued == missing:
            break
        if runner is None or runner.profile not in served or runner.weight <= 0:
            continue
        try:
            with conn.transaction():
                solo_seasons.requeue_round_match(conn, season, runner, gap, turn([runner.seat]))
            queued += 1
        except Conflict:
            continue
    for candidate, number in pairing.next_rounds(field, begun, missing - queued, served):
        try:
            with conn.transaction():
                solo_seasons.queue_round_match(
                    conn,
                    season,
                    candidate,
                    number,
                    turn([candidate.seat]),
                    goes_first=candidate.entry_id in new,
                )
            queued += 1
            new.discard(candidate.entry_id)
        except Conflict:
            continue  # the entry retired meanwhile
    return queued
