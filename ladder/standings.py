"""The board of a season: who stands where, from the ratings of the entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from ladder.ids import AgentId, EntryId, SeasonId, TeamId
from ladder.medals import Medal, medal


@dataclass(frozen=True, slots=True)
class Contender:
    """An active entry as the board needs it."""

    entry_id: EntryId
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    mu: float
    sigma: float
    games: int
    last_match_at: datetime | None
    is_anchor: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of the board."""

    rank: int | None
    """1 is best, ties share; None for an anchor and for a team that has not played yet."""
    team_id: TeamId
    team_name: str
    agent_id: AgentId
    agent_name: str
    entry_id: EntryId
    score: float
    mu: float
    sigma: float
    games: int
    last_match_at: datetime | None
    medal: Medal | None
    is_anchor: bool


@dataclass(frozen=True, slots=True)
class Board:
    season_id: SeasonId
    revision: int
    rows: tuple[Standing, ...]


def build(contenders: Iterable[Contender], score_offset: float) -> tuple[Standing, ...]:
    """One row per team, and one per anchor in its place, best score first.

    A team stands by its best entry; one that has played goes before one that has not. Only teams
    that have played are ranked, share medals and count as teams; the others follow at the end.
    """
    best: dict[TeamId, Contender] = {}
    anchors = []
    for each in contenders:
        if each.is_anchor:
            anchors.append(each)
        elif each.team_id not in best or _order(each) < _order(best[each.team_id]):
            best[each.team_id] = each
    shown = sorted([*best.values(), *anchors], key=_order)
    teams = sum(1 for each in shown if _is_ranked(each))

    rows = []
    place = 0
    rank = 0
    previous: float | None = None
    for each in shown:
        own_rank = None
        if _is_ranked(each):
            place += 1
            if each.mu != previous:
                rank, previous = place, each.mu
            own_rank = rank
        rows.append(
            Standing(
                rank=own_rank,
                team_id=each.team_id,
                team_name=each.team_name,
                agent_id=each.agent_id,
                agent_name=each.agent_name,
                entry_id=each.entry_id,
                score=each.mu + score_offset,
                mu=each.mu,
                sigma=each.sigma,
                games=each.games,
                last_match_at=each.last_match_at,
                medal=None if own_rank is None else medal(own_rank, teams),
                is_anchor=each.is_anchor,
            )
        )
    return tuple(rows)


def _is_ranked(each: Contender) -> bool:
    return each.games > 0 and not each.is_anchor


def _order(each: Contender) -> tuple[bool, float, str]:
    return (each.games == 0, -each.mu, each.entry_id)
