"""Forks: scrims that continue a recorded episode from one of its steps.

A fork is a scrim in every other respect: quotas, queue, sandbox and privacy. In addition only
those see it who may see the replay of the match that it continues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

from psycopg.types.json import Jsonb
from pydantic import ConfigDict, Field

from ladder.database.db import Connection, atomic_function, insert
from ladder.enums import Embargo, Json, MatchKind, MatchState
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, Key, RequestModel
from ladder.ids import AgentId, ScrimId, SubmissionId, TeamId
from ladder.leagues.records import Season
from ladder.matches import history
from ladder.matches.records import Match
from ladder.scrims import policies, scrims
from ladder.scrims.scrims import (
    MOST_GAMES,
    MOST_SEATS,
    Asker,
    Draws,
    ForkOrigin,
    Scrim,
    ScrimOrder,
    ScrimScore,
)

MOST_MOVES: Final = 200
"""Most moves by hand of one seat."""
FORKABLE: Final = frozenset({MatchKind.RATED, MatchKind.VALIDATION, MatchKind.SCRIM})
"""Kinds of matches that can be forked: those whose rules of visibility a fork repeats."""
MOST_AGENTS: Final = 200
"""Most agents in the list of a form."""


Move = Annotated[str, Field(max_length=2_000)] | int | float | list[Any] | dict[str, Any]


class NewFork(RequestModel):
    step: Annotated[int, Field(ge=0, le=1_000_000)]
    """Recorded steps before the fork."""
    episode: Annotated[int, Field(ge=0, le=1000)] = 0
    """Position in the match."""
    seats: list[Key | None] = Field(default=[], max_length=MOST_SEATS)
    """By seat: a submission id, an agent id for its newest active entry, or null for the submission
    that played; empty: null for all."""
    moves: dict[Annotated[str, Field(pattern=r"^\d{1,2}$")], list[Move]] = Field(
        default={}, max_length=MOST_SEATS
    )
    """Moves by hand after the fork, by seat."""
    draws: Draws = Draws.RECORD
    """record: the record's chance goes on; new: drawn anew"""
    games: Annotated[int, Field(ge=1, le=MOST_GAMES)] = 1
    team: Key | None = None
    """Required if you are in several teams."""


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
class SeatOutcome:
    """How a seat of a fork ended over all finished games."""

    __pydantic_config__ = RECORD
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
    conn: Connection, asker: Asker, point: ForkPoint, lineup: Sequence[SubmissionId], games: int
) -> Scrim:
    """Creates a scrim of ``games`` matches that continue the episode; seats do not rotate.

    The caller has checked that the person may see the replay, and the first moves by hand. Raises
    Conflict and Invalid for an impossible point, and the errors of ``request_scrim``.
    """
    match = point.match
    episode = next(
        (episode for episode in match.episodes if episode.position == point.position), None
    )
    if match.state is not MatchState.FINISHED or episode is None:
        raise Conflict("this match has no such episode", field="episode")
    if match.kind not in FORKABLE:
        raise Conflict(f"a {match.kind} match cannot be forked", field="match")
    if match.is_fork:
        raise Conflict("this match is a fork; fork the match that it continues", field="match")
    if match.kind is MatchKind.SCRIM and match.scrim_team_id != asker.team_id:
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
            asker=asker,
            lineup=lineup,
            games=games,
            seeds=seeds[:games],
            rotates=False,
        ),
        note=lambda scrim_id: _insert_fork(conn, scrim_id, point),
    )


def seat_outcomes(conn: Connection, scrim: Scrim, fork: ForkOrigin) -> tuple[SeatOutcome, ...]:
    """The outcome of each seat over the finished games of a fork."""
    origin = history.get_match(conn, fork.match_id)
    games = history.list_matches(
        conn, scrim_id=scrim.id, state=MatchState.FINISHED, limit=MOST_GAMES
    )
    recorded = {seat.seat: seat.placement for seat in origin.seats}
    names = dict(
        conn.execute(
            """
            select b.id, a.name from submissions b join agents a on a.id = b.agent_id
            where b.id = any (%(lineup)s)
            """,
            {"lineup": list(scrim.lineup)},
        ).fetchall()
    )
    outcomes = []
    for number, submission in enumerate(scrim.lineup):
        seats = [game.seats[number] for game in games]
        places = [seat.placement for seat in seats if seat.placement is not None]
        wins = sum(
            1 / sum(seat.placement == 1 for seat in game.seats)
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
    return tuple(outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrimDetail(Scrim):
    """A scrim with its results so far."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)
    summary: tuple[ScrimScore, ...]
    seats: tuple[SeatOutcome, ...]
    """Outcome by seat; empty if it is no fork."""


def read_detail(conn: Connection, scrim: Scrim) -> ScrimDetail:
    return ScrimDetail(
        **{field.name: getattr(scrim, field.name) for field in fields(scrim)},
        summary=scrims.scrim_summary(conn, scrim),
        seats=seat_outcomes(conn, scrim, scrim.fork) if scrim.fork else (),
    )


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
    choices: dict[AgentId, ForkAgent] = {}
    for team_id in team_ids:
        for opponent in policies.read_opponents(conn, season, team_id):
            is_own, agent_id = opponent.facts.is_own, opponent.agent_id
            if opponent.answer.is_automatic and (is_own or agent_id not in choices):
                choices[agent_id] = ForkAgent(
                    agent_id, opponent.agent_name, opponent.team_name, is_own
                )
    ordered = sorted(
        choices.values(), key=lambda choice: (not choice.is_own, choice.name, choice.agent_id)
    )
    return ordered[:MOST_AGENTS]


def _insert_fork(conn: Connection, scrim_id: ScrimId, point: ForkPoint) -> None:
    insert(
        conn,
        "forks",
        scrim_id=scrim_id,
        match_id=point.match.id,
        position=point.position,
        step=point.step,
        draws=point.draws,
        moves=Jsonb({str(seat): list(moves) for seat, moves in point.moves.items() if moves}),
    )


def recorded_lineup(match: Match, position: int) -> list[SubmissionId]:
    """The submissions by seat of the episode. A second episode has the seats in reverse order."""
    seats = sorted(match.seats, key=lambda seat: seat.seat, reverse=bool(position % 2))
    if not seats:
        raise NotFound.of("match")
    return [seat.submission_id for seat in seats]
