"""Queues the games that a course wants, settles ended games, and ends those it does not need."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as made_by
from datetime import UTC, datetime, timedelta
from typing import Final

from ladder.database.db import Connection
from ladder.enums import MatchKind, VoidCause
from ladder.errors import LadderError
from ladder.ids import MatchId, TournamentId
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.matches.records import LineupSeat
from ladder.runtime_profiles import REMOTE
from ladder.tournaments.courses import TournamentInputs
from ladder.tournaments.formats import Course, Pairing, State, WantedGame
from ladder.tournaments.records import Entrant, GameOutcome, Tournament, TournamentGame

MOST_TRIES: Final = 10
"""Matches of one game that may end without a result. Then a host decides."""
AWAY_AGAIN: Final = timedelta(seconds=10)
SEED_BYTES: Final = 16
TurnOf = Callable[[str], int]
"""The next turn in the play queue for this tournament."""


@dataclass
class TournamentAdvance:
    """State of one attempt to advance a tournament."""

    conn: Connection
    inputs: TournamentInputs
    games: list[TournamentGame]
    turn_of: TurnOf
    games_left_to_queue: int
    """How many more games may be queued now."""
    resumed_at: datetime | None = None
    """Void matches that ended before are no reason to stop trying."""
    is_draw_public: bool = False
    """Whether the seed of the draw was shown: the tournament was over before a rejudgement."""
    queued: int = 0
    """Number of games queued so far."""
    is_due_again: bool = False
    """Whether a game waits because its agent was just unreachable."""
    problems: list[str] = made_by(default_factory=list)
    new_seeds: dict[bytes, bytes] = made_by(default_factory=lambda: defaultdict(_new_seed))
    """A new seed for each seed of the course. Games that are queued together share it."""

    @property
    def found(self) -> Tournament:
        return self.inputs.tournament


def _new_seed() -> bytes:
    return secrets.token_bytes(SEED_BYTES)


def settle_games(conn: Connection, tournament_id: TournamentId) -> None:
    """Notes what ended matches mean: results count, void matches are played again.

    A host decides what a rejudgement means, also if it is void.
    """
    conn.execute(
        "update tournament_games g set outcome = case when g.is_rejudgement then 'proposed'"
        " when m.state = 'void' then 'void' else 'counted' end from matches m"
        " where g.tournament_id = %s and g.outcome is null and m.id = g.match_id"
        " and m.state in ('finished', 'void')",
        (tournament_id,),
    )


def end_unneeded_games(advance: TournamentAdvance, course: Course) -> None:
    """Ends games that the course does not need, after a walk-over or a rejudgement."""
    pairings = {str(one.key): one for one in course.pairings}
    stale, running = [], []
    for one in advance.games:
        pairing = pairings.get(one.pairing)
        fits = pairing is not None and set(one.entrants) <= set(pairing.entrants)
        if one.outcome in (GameOutcome.COUNTED, GameOutcome.PROPOSED) and not fits:
            stale.append(one.match_id)
        elif one.outcome is None and not (
            fits and (one.is_rejudgement or (pairing is not None and _is_wanted(pairing, one)))
        ):
            stale.append(one.match_id)
            running.append(one.match_id)
    if running:
        matches.void_matches(advance.conn, running, VoidCause.NOT_NEEDED, "its pairing is over")
    if stale:
        advance.conn.execute(
            "update tournament_games set outcome = 'stale' where match_id = any (%s)", (stale,)
        )
        advance.games = [one for one in advance.games if one.match_id not in stale]


def _is_wanted(pairing: Pairing, one: TournamentGame) -> bool:
    return any(
        wanted.number == one.game and wanted.entrants == one.entrants for wanted in pairing.wanted
    )


def queue_games(advance: TournamentAdvance, course: Course) -> None:
    """Queues the wanted games of the round that have no match."""
    season = seasons.get_season(advance.conn, advance.found.season_id)
    of_game: dict[tuple[str, int], list[TournamentGame]] = defaultdict(list)
    for one in advance.games:
        of_game[one.pairing, one.game].append(one)
    for pairing in course.pairings:
        if pairing.state is not State.READY or pairing.round != course.position:
            continue
        for wanted in pairing.wanted:
            tried = of_game[str(pairing.key), wanted.number]
            if any(one.outcome is None and not one.is_rejudgement for one in tried):
                continue
            if _may_play_again(advance, pairing, wanted, tried):
                _queue_game(advance, season, pairing, wanted, tried)


def _may_play_again(
    advance: TournamentAdvance,
    pairing: Pairing,
    wanted: WantedGame,
    tried: Sequence[TournamentGame],
) -> bool:
    if advance.games_left_to_queue <= 0:
        # A game in flight that ends makes the tournament due again.
        return False
    void = [one for one in tried if one.outcome is GameOutcome.VOID]
    away = [one for one in void if _was_away(one)]
    failed = [one for one in void if one not in away and _is_after(one, advance.resumed_at)]
    if len(failed) >= MOST_TRIES:
        advance.problems.append(
            f"game {wanted.number} of pairing {pairing.key} ended {len(failed)} times without a"
            f" result; the last time: {failed[-1].void_reason}. To try again, pause and resume the"
            " tournament"
        )
        return False
    if away and away[-1].finished_at and datetime.now(UTC) < away[-1].finished_at + AWAY_AGAIN:
        advance.is_due_again = True
        return False
    return True


def _was_away(one: TournamentGame) -> bool:
    """Whether it was not played because a remote agent was away."""
    return one.outcome is GameOutcome.VOID and one.void_cause is VoidCause.AGENT_UNREACHABLE


def _is_after(one: TournamentGame, moment: datetime | None) -> bool:
    return moment is None or (one.finished_at is not None and one.finished_at > moment)


def _queue_game(
    advance: TournamentAdvance,
    season: Season,
    pairing: Pairing,
    wanted: WantedGame,
    tried: Sequence[TournamentGame],
) -> None:
    entrants = [advance.inputs.entrants[number - 1] for number in wanted.entrants]
    lineup = [_seat(advance, one, entrants) for one in entrants]
    try:
        match_id = matches.create_match(
            advance.conn,
            season=season,
            kind=MatchKind.TOURNAMENT,
            lineup=lineup,
            seed=_seed(advance, wanted, tried),
            turn=advance.turn_of(advance.found.id),
        )
    except LadderError as error:
        advance.problems.append(f"pairing {pairing.key} cannot play: {error.message}")
        return
    _write_game(advance, match_id, str(pairing.key), wanted, len(tried) + 1)
    advance.games_left_to_queue -= 1
    advance.queued += 1


def _seed(advance: TournamentAdvance, wanted: WantedGame, tried: Sequence[TournamentGame]) -> bytes:
    """The seed of the course, or a new one if the owner of a remote agent may know that one.

    Nobody played in a match that is void because an agent was away, so its seed stays. Else an
    agent could choose to be away to get another seed than in the first game of a pair.
    """
    if not _is_remote(advance, wanted):
        return wanted.seed
    if tried and _was_away(tried[-1]):
        row = advance.conn.execute(
            "select seed from matches where id = %s", (tried[-1].match_id,)
        ).fetchone()
        assert row is not None
        return bytes(row[0])
    return advance.new_seeds[wanted.seed] if tried or advance.is_draw_public else wanted.seed


def _is_remote(advance: TournamentAdvance, wanted: WantedGame) -> bool:
    return any(advance.inputs.entrants[one - 1].profile == REMOTE for one in wanted.entrants)


def _seat(advance: TournamentAdvance, one: Entrant, entrants: Sequence[Entrant]) -> LineupSeat:
    """The seat of an entrant. The agent of a deleted account cannot play; its heat needs the seat.

    So a reference agent of the season plays there, or else the last seed of the heat twice.
    """
    if one.is_erased:
        row = advance.conn.execute(
            "select e.id, e.submission_id, e.agent_id, e.team_id, e.profile from entries e"
            " join teams t on t.id = e.team_id where e.season_id = %s and e.is_anchor"
            " and e.state = 'active' and e.profile <> %s and t.erased_at is null"
            " order by e.agent_id = any (%s), e.id limit 1",
            (advance.found.season_id, REMOTE, [each.agent_id for each in entrants]),
        ).fetchone()
        if row is not None:
            return LineupSeat(*row)
        one = max(entrants, key=lambda each: (not each.is_erased, each.number or 0))
    return LineupSeat(
        one.entry_id,
        one.submission_id,  # type: ignore[arg-type]  # fixed at the lock
        one.agent_id,
        one.team_id,
        one.profile or "numpy",
    )


def _write_game(
    advance: TournamentAdvance, match_id: MatchId, pairing: str, wanted: WantedGame, number: int
) -> None:
    found = advance.found
    advance.conn.execute(
        "insert into tournament_games (match_id, tournament_id, pairing, game, entrants, try,"
        " embargo, waits_until) select %s, %s, %s, %s, %s, %s, %s, case when %s then"
        " coalesce((select min(waits_until) from tournament_games where tournament_id = %s"
        "   and pairing = %s and game = %s), now() + %s) end",
        (
            *(match_id, found.id, pairing, wanted.number, list(wanted.entrants), number),
            *(found.embargo, _is_remote(advance, wanted), found.id, pairing, wanted.number),
            timedelta(minutes=found.away_minutes),
        ),
    )
