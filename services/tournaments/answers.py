"""The answers of the tournament API: what a caller may know of a tournament, as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from ladder.enums import Embargo
from ladder.field_types import RECORD, ShownOnce
from ladder.tournaments.formats.plan import describe_plan, encode_plan
from ladder.tournaments.formats.records import Pairing, Standing
from ladder.tournaments.records import Entrant, EntrantState, EntryRule, TournamentState
from ladder.tournaments.rejudgements import PairingRejudgement
from ladder.tournaments.shows import Show
from ladder.tournaments.views import TournamentSummary, TournamentView, summary_of


class TournamentOut(BaseModel):
    """A tournament as far as the caller may know its course."""

    id: str = Field(examples=["trn_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    league_id: str
    season_id: str
    title: str
    description: str
    plan: dict[str, Any]
    plan_text: list[str] = Field(description="the plan, a sentence for each stage")
    state: TournamentState
    entry_rule: EntryRule
    most_entrants: int
    agents_per_team: int
    remote_agents: bool
    away_minutes: float
    check_in_minutes: float
    locks_at: datetime
    starts_at: datetime
    round_minutes: float
    embargo: Embargo = Field(description="who may see new matches")
    entered: int = Field(description="number of entrants")
    draw_digest: str = Field(description="SHA-256 of the seed of all draws")
    draw_seed: str | None = Field(description="the seed, once the tournament is over")
    position: str = Field(description="stage and round that is played", examples=["1.2"])
    champion: str | None = Field(description="agent id; null until the end is public")
    champion_name: str | None
    no_champion: str | None = Field(
        description="why a finished tournament has no champion; otherwise null"
    )
    problem: str | None = Field(description="for hosts: why the round cannot go on")
    end_reason: str | None
    created_at: datetime


class EntrantOut(BaseModel):
    agent_id: str
    agent_name: str
    team_id: str
    team_name: str
    state: EntrantState
    number: int | None = Field(description="place in the seed order; null before the lock")
    place: int | None = Field(description="over all stages; null until the end is public")
    is_remote: bool = Field(description="it runs at its owner's address and cannot be frozen")
    checked_in: bool
    reason: str | None


class OneTournamentOut(TournamentOut):
    """A tournament, and the agents that only the draw put behind its champion."""

    drawn_behind: list[EntrantOut] = Field(
        description="in a solo tournament of one stage: the other agents with the best reward; the"
        " draw put the champion before them"
    )


class GameOut(BaseModel):
    match_id: str
    game: int
    agents: list[str] = Field(description="agent ids by seat")
    places: list[int] = Field(description="by seat; empty without a result")
    state: str
    outcome: str | None


class PairingOut(BaseModel):
    key: str = Field(examples=["1.2.3"])
    section: str
    title: str
    agents: list[str | None] = Field(
        description="agent ids, best first once there is an outcome; null: not known yet"
    )
    names: list[str] = Field(description="names of the agents, in the same order")
    state: str
    reason: str = Field(description="why these agents meet")
    order: list[str] = Field(description="agent ids, best first; empty without an outcome")
    scores: list[float] = Field(description="what each gains, in the same order")
    outcome: str | None = Field(description="the outcome in words, in the order of the agents")
    games: list[GameOut]


@dataclass(frozen=True, slots=True)
class ShowOut:
    """A show, without its secret address."""

    __pydantic_config__ = RECORD
    id: Annotated[str, Field(examples=["tsh_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    scene: int
    """Scene on the screen, from 0."""
    scene_seconds: float | None
    """It goes on by itself after this time."""
    created_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, show: Show, **secret: str) -> Self:
        return cls(
            show.id, show.scene, show.scene_seconds, show.created_at, show.expires_at, **secret
        )


@dataclass(frozen=True, slots=True)
class CreatedShowOut(ShowOut):
    """A new show. A repeat of the request is answered without its address."""

    address: Annotated[ShownOnce, Field(examples=["https://ladder.example.org/shows/8Zk3..."])]
    """Secret address, shown only once."""


class PairingRejudgementOut(BaseModel):
    """A pairing that is judged again and waits for a decision."""

    pairing: str
    old_matches: list[str]
    new_matches: list[str]
    hangs: list[str] = Field(description="pairings whose entrants can depend on it")
    changes: list[str] | None = Field(
        description="those that change if you apply it; null while a new match plays or is void"
    )
    void_reason: str | None = Field(
        description="why a new match is void: drop it and judge the pairing again; null if none is"
    )


class TableRowOut(BaseModel):
    rank: int
    agent_id: str
    agent_name: str
    group: int
    score: float
    played: int
    wins: int
    tie_breaks: dict[str, str] = Field(
        description="values by name; points per heat and score per pairing, if given, order"
        " the table instead of the score. Means have at most six decimal places."
    )
    explanation: str


def rejudgement_out(rejudgement: PairingRejudgement) -> PairingRejudgementOut:
    changes = rejudgement.changes
    return PairingRejudgementOut(
        pairing=str(rejudgement.key),
        old_matches=[old.match_id for old, _ in rejudgement.games],
        new_matches=[new.match_id for _, new in rejudgement.games],
        hangs=[str(key) for key in rejudgement.dependent_pairings],
        changes=None if changes is None else [str(key) for key in changes],
        void_reason=rejudgement.void_reason,
    )


def tournament_out(summary: TournamentSummary) -> TournamentOut:
    tournament = summary.tournament
    names = [name for name in TournamentOut.model_fields if hasattr(tournament, name)]
    return TournamentOut(
        **{
            **{name: getattr(tournament, name) for name in names},
            "plan": json.loads(encode_plan(tournament.plan)),
            "plan_text": describe_plan(tournament.plan),
            "state": summary.state,
            "entered": summary.entered,
            "draw_seed": summary.seed_hex,
            "position": summary.position,
            "champion": summary.champion_id,
            "champion_name": summary.champion_name,
            "no_champion": summary.no_champion,
            "problem": summary.problem,
        }
    )


def one_tournament_out(view: TournamentView) -> OneTournamentOut:
    ranking = view.course.ranking if view.course else ()
    return OneTournamentOut(
        **dict(tournament_out(summary_of(view))),
        drawn_behind=[entrant_out(entrant, ranking) for entrant in view.drawn_behind],
    )


def pairing_out(view: TournamentView, pairing: Pairing) -> PairingOut:
    shown = pairing.shown_order
    agents = [None if number is None else view.entrant(number).agent_id for number in shown]
    outcome = pairing.outcome
    return PairingOut(
        key=str(pairing.key),
        section=pairing.section,
        title=pairing.title,
        agents=list(agents),
        names=[view.name(number) for number in shown],
        state=pairing.state,
        reason=view.reason(pairing),
        order=[view.entrant(number).agent_id for number in outcome.order] if outcome else [],
        scores=list(outcome.scores) if outcome else [],
        outcome=outcome.text if outcome else None,
        games=[
            GameOut(
                match_id=game.match_id,
                game=game.game,
                agents=[view.entrant(number).agent_id for number in game.entrants],
                places=list(game.places),
                state=game.state,
                outcome=game.outcome,
            )
            for game in view.games.get(str(pairing.key), [])
        ],
    )


def table_row_out(view: TournamentView, row: Standing) -> TableRowOut:
    return TableRowOut(
        rank=row.rank,
        agent_id=view.entrant(row.entrant).agent_id,
        agent_name=view.name(row.entrant),
        group=row.group,
        score=row.score,
        played=row.played,
        wins=row.wins,
        tie_breaks=dict(row.tie_breaks),
        explanation=row.explanation,
    )


def entrant_out(entrant: Entrant, ranking: Sequence[int] = ()) -> EntrantOut:
    return EntrantOut(
        agent_id=entrant.agent_id,
        agent_name=entrant.agent_name,
        team_id=entrant.team_id,
        team_name=entrant.team_name,
        state=entrant.state,
        number=entrant.number,
        place=ranking.index(entrant.number) + 1 if entrant.number in ranking else None,
        is_remote=entrant.is_remote,
        checked_in=entrant.checked_in_at is not None,
        reason=entrant.reason,
    )
