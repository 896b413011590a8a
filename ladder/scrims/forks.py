"""Forks: scrims that continue a recorded episode from one of its steps.

A fork is a scrim in every other respect: quotas, queue, sandbox and privacy. In addition only
those see it who may see the replay of the match that it continues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ladder.database.db import Connection, atomic_function
from ladder.enums import Embargo, Json, MatchKind, MatchState
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import (
    AgentId,
    MatchId,
    ScrimId,
    SubmissionId,
    TeamId,
    UserId,
)
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.matches import history
from ladder.matches.records import Match
from ladder.scrims import policies, scrims
from ladder.scrims.scrims import Scrim, ScrimOrder

MOST_MOVES: Final = 200
"""Most moves by hand of one seat."""
FORKABLE: Final = frozenset({MatchKind.RATED, MatchKind.VALIDATION, MatchKind.SCRIM})
"""Kinds of matches that can be forked: those whose rules of visibility a fork repeats."""
MOST_AGENTS: Final = 200
"""Most agents in the list of a form."""


class Draws(StrEnum):
    """Where the game's chance after the fork comes from."""

    RECORD = "record"
    """The record's generator goes on, so the same moves give the same game."""
    NEW = "new"
    """Every game draws anew."""


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """The step of a recorded episode at which a fork begins."""

    match: Match
    position: int
    """Which episode of the match."""
    step: int
    """Number of recorded steps before the fork."""
    draws: Draws
    moves: Mapping[int, Sequence[Json]]
    """Moves by hand after the fork, by seat."""


@dataclass(frozen=True, slots=True)
class ForkRow:
    """The stored fork point of a scrim."""

    scrim_id: ScrimId
    match_id: MatchId
    position: int
    step: int
    draws: Draws
    moves: Mapping[str, Sequence[Json]]


@dataclass(frozen=True, slots=True)
class SeatOutcome:
    """How a seat of a fork ended over all finished games."""

    seat: int
    submission_id: SubmissionId
    agent_name: str
    recorded_placement: int | None
    """Place of the seat in the recorded match. None if the match has several episodes."""
    games: int
    wins: float
    """First places; a place shared by k counts 1/k."""
    mean_placement: float | None
    faults: int


@atomic_function
def request_fork(
    conn: Connection,
    point: ForkPoint,
    *,
    team_id: TeamId,
    user_id: UserId,
    lineup: Sequence[SubmissionId],
    games: int,
) -> Scrim:
    """Creates a scrim of ``games`` matches that continue the episode; seats do not rotate.

    The caller has checked that the person may see the replay, and the first moves by hand. Raises
    Conflict and Invalid for an impossible point, and the errors of ``request_scrim``.
    """
    match = point.match
    episode = next((one for one in match.episodes if one.position == point.position), None)
    if match.state is not MatchState.FINISHED or episode is None:
        raise Conflict("this match has no such episode", field="episode")
    if match.kind not in FORKABLE:
        raise Conflict(f"a {match.kind} match cannot be forked", field="match")
    if match.fork is not None:
        raise Conflict("this match is a fork; fork the match that it continues", field="match")
    if match.kind is MatchKind.SCRIM and (match.scrim is None or match.scrim.team_id != team_id):
        raise Conflict("only the team that requested this scrim may fork it", field="team")
    if match.embargo is not Embargo.PUBLIC:
        raise Conflict("fork this game of a tournament once its result is public", field="match")
    if not 0 <= point.step < episode.steps:
        raise Invalid("step", f"must be between 0 and {episode.steps - 1}; it is {point.step}")
    if any(not 0 <= seat < len(match.seats) for seat in point.moves):
        raise Invalid("moves", f"seats are 0 to {len(match.seats) - 1}")
    if any(len(moves) > MOST_MOVES for moves in point.moves.values()):
        raise Invalid("moves", f"give at most {MOST_MOVES} moves of a seat")
    if len(lineup) != len(match.seats):
        raise Invalid("seats", f"{len(lineup)} agents, this match has {len(match.seats)} seats")
    # The first game takes the record's seed, so its agents draw as the recorded ones did.
    seeds = [match.seed if point.draws is Draws.RECORD else None, *([None] * (games - 1))]
    return scrims.create_scrim(
        conn,
        ScrimOrder(
            season=seasons.get_season(conn, match.season_id),
            team_id=team_id,
            user_id=user_id,
            lineup=lineup,
            games=games,
            seeds=seeds[:games],
            rotates=False,
        ),
        note=lambda scrim_id: _insert_fork(conn, scrim_id, point),
    )


def read_fork(conn: Connection, scrim_id: ScrimId) -> ForkRow | None:
    """The fork point of a scrim; None for other scrims."""
    with conn.cursor(row_factory=dict_row) as cur:
        row = cur.execute(
            "select scrim_id, match_id, position, step, draws, moves from forks"
            " where scrim_id = %s",
            (scrim_id,),
        ).fetchone()
    return ForkRow(**{**row, "draws": Draws(row["draws"])}) if row else None


def seat_outcomes(conn: Connection, scrim: Scrim, row: ForkRow) -> list[SeatOutcome]:
    """The outcome of each seat over the finished games of a fork."""
    origin = history.get_match(conn, row.match_id)
    games = history.list_matches(
        conn, scrim_id=scrim.id, state=MatchState.FINISHED, limit=scrims.MOST_GAMES
    )
    recorded = {seat.seat: seat.placement for seat in origin.seats}
    names = scrims.submission_names(conn, scrim.lineup)
    outcomes = []
    for number, submission in enumerate(scrim.lineup):
        seats = [game.seats[number] for game in games]
        places = [seat.placement for seat in seats if seat.placement is not None]
        wins = sum(
            1 / sum(one.placement == 1 for one in game.seats)
            for game in games
            if game.seats[number].placement == 1
        )
        outcomes.append(
            SeatOutcome(
                seat=number,
                submission_id=submission,
                agent_name=names.get(submission, ""),
                recorded_placement=recorded.get(number) if len(origin.episodes) == 1 else None,
                games=len(games),
                wins=wins,
                mean_placement=sum(places) / len(places) if places else None,
                faults=sum(seat.verdict not in (None, "DONE") for seat in seats),
            )
        )
    return outcomes


@dataclass(frozen=True, slots=True)
class ForkAgent:
    """An agent that a team may put into a seat of a fork."""

    agent_id: AgentId
    name: str
    team_name: str
    is_own: bool


def agents_for_forks(
    conn: Connection, season: Season, team_ids: Sequence[TeamId]
) -> list[ForkAgent]:
    """Agents that these teams may put into a fork now without asking, own ones first; up to
    MOST_AGENTS.
    """
    found: dict[AgentId, ForkAgent] = {}
    for team_id in team_ids:
        for one in policies.read_opponents(conn, season, team_id):
            is_own = one.facts.is_own
            if one.answer().is_automatic and (is_own or one.agent_id not in found):
                found[one.agent_id] = ForkAgent(one.agent_id, one.agent_name, one.team_name, is_own)
    ordered = sorted(found.values(), key=lambda one: (not one.is_own, one.name, one.agent_id))
    return ordered[:MOST_AGENTS]


def _insert_fork(conn: Connection, scrim_id: ScrimId, point: ForkPoint) -> None:
    conn.execute(
        "insert into forks (scrim_id, match_id, position, step, draws, moves)"
        " values (%s, %s, %s, %s, %s, %s)",
        (
            scrim_id,
            point.match.id,
            point.position,
            point.step,
            point.draws.value,
            Jsonb({str(seat): list(moves) for seat, moves in point.moves.items() if moves}),
        ),
    )


def recorded_lineup(match: Match, position: int) -> list[SubmissionId]:
    """The submissions by seat of the episode. A second episode has the seats in reverse order."""
    seats = sorted(match.seats, key=lambda seat: seat.seat, reverse=bool(position % 2))
    if not seats:
        raise NotFound.of("match")
    return [seat.submission_id for seat in seats]
