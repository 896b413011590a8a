"""Computes the board of a season: ranks by the official standing, with live scores. Pure.

Entries that the official fit does not include yet use their live rating, which has the same scale.
In a season of one seat, rows are ranked by the game's measures, in order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from ladder.ids import AgentId, EntryId, SeasonId, TeamId
from ladder.leagues import measures as leagues_measures
from ladder.leagues.measures import Estimate, Measure
from ladder.leagues.medals import Medal, MedalRules, MedalStatus
from ladder.ratings.official.representatives import LEAST_GAMES
from ladder.ratings.official.standing import OfficialPlace


class StandsBy(StrEnum):
    """Why an entry represents its team."""

    DECLARED = "declared"
    """The team's owner declared it."""
    NEWEST = "newest"
    """It is the team's newest entry with enough games."""
    WAITING = "waiting"
    """The team's newer entries have not played enough games yet."""
    BETTER = "better"
    """It is surely better than the team's newest entry."""


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """An active or paused entry for the board."""

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
    is_declared: bool = False
    """Whether its team declared it."""
    official: OfficialPlace | None = None
    """None before the first fit that includes it."""
    estimates: tuple[Estimate, ...] = ()
    """Estimates by the season's measures, if it ranks by measures."""
    remote: bool = False
    paused: bool = False


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One row of the board."""

    rank: int | None
    """1 is best; equal scores share a rank, and the next rank follows directly. None for an anchor,
    and for a team that has not played yet.
    """
    team_id: TeamId
    team_name: str
    agent_id: AgentId
    agent_name: str
    entry_id: EntryId
    score: float
    """Live score, as are mu and sigma: each match changes it."""
    mu: float
    sigma: float
    games: int
    last_match_at: datetime | None
    medal: Medal | None
    is_anchor: bool
    official: OfficialPlace | None = None
    """Official place, whose score decides the rank."""
    status: MedalStatus | None = None
    """Status of the medal; None without one."""
    sealed: Medal | None = None
    """Sealed class: the team keeps it or gets a better one."""
    is_declared: bool = False
    """Whether the owner declared this entry."""
    stands_by: StandsBy | None = None
    """Why the entry represents its team; None if the team has no other or matches have one seat."""
    estimates: tuple[Estimate, ...] = ()
    """Values that decide the rank if matches have one seat; the score then means nothing."""
    remote: bool = False
    """Whether the agent runs at an address of its owner."""
    paused: bool = False
    """Whether the entry is paused: it keeps its rank and is not paired."""

    @property
    def score_and_sigma(self) -> tuple[float, float]:
        """Returns score and sigma for the rank: official, or live before the first fit."""
        place = self.official
        return (self.score, self.sigma) if place is None else (place.score, place.sigma)

    @property
    def chance(self) -> float | None:
        """Returns the chance of this medal or a better one; None without a medal or a fit."""
        if self.medal is None or self.official is None:
            return None
        return self.official.chances[list(Medal).index(self.medal)]


@dataclass(frozen=True, slots=True)
class OfficialVersion:
    """The official standing on a board."""

    version: int
    log_no: int
    made_at: datetime
    wrong_medals: float
    """Expected number of medals of the wrong class."""


@dataclass(frozen=True, slots=True)
class MedalTerms:
    """Medal rules of a season, and their progress."""

    rules: MedalRules = field(default_factory=MedalRules)
    confidence: float = 0.95
    """Confidence from which a medal is sealed, once uploads are locked."""
    teams: int | None = None
    """Number of teams for the medals, equal ones counted once; None: the ranked teams.

    It includes teams with a valid entry that has not played.
    """
    sealed: Mapping[TeamId, Medal] = field(default_factory=dict)
    is_final: bool = False
    """Whether the standing is the last one, which awards medals that are not sealed."""


@dataclass(frozen=True, slots=True)
class Board:
    season_id: SeasonId
    revision: int
    accepted_no: int
    """Number of results in the season's log."""
    fitted: OfficialVersion | None
    rows: tuple[BoardRow, ...]
    terms: MedalTerms
    measures: tuple[Measure, ...] = ()
    """Measures that decide the rank if matches have one seat; empty: the score."""


def build_board(
    contenders: Iterable[BoardEntry],
    score_offset: float,
    terms: MedalTerms,
    measures: Sequence[Measure] = (),
) -> tuple[BoardRow, ...]:
    """Returns one row per team and one per anchor, best score first.

    The official standing chooses the entry that represents a team. Before it, and if ``measures``
    decide, the declared entry does, otherwise the best one; an entry that has played precedes one
    that has not. Only teams that have played have ranks and medals. Equal teams count as one. The
    other teams are at the end.
    """

    def worth(each: BoardEntry) -> tuple[float, ...]:
        """Returns the sort key; less is better."""
        if measures:
            return leagues_measures.sort_key(measures, each.estimates)
        live = each.mu + score_offset
        return (-live if each.official is None else -each.official.score,)

    def order(each: BoardEntry) -> tuple[bool, tuple[float, ...], str]:
        return (each.games == 0, worth(each), each.entry_id)

    def claim(each: BoardEntry) -> tuple[bool, bool, bool, bool, tuple[float, ...], str]:
        is_ranked = each.official is not None and each.official.rank is not None
        return (
            not (each.is_declared and each.games >= LEAST_GAMES),
            not is_ranked,
            each.games == 0,
            not each.is_declared,
            worth(each),
            each.entry_id,
        )

    best: dict[TeamId, BoardEntry] = {}
    teams: dict[TeamId, list[BoardEntry]] = defaultdict(list)
    anchors = []
    for each in contenders:
        if each.is_anchor:
            anchors.append(each)
            continue
        teams[each.team_id].append(each)
        if each.team_id not in best or claim(each) < claim(best[each.team_id]):
            best[each.team_id] = each
    shown = sorted([*best.values(), *anchors], key=order)

    rows = []
    rank = 0
    previous: tuple[float, ...] | None = None
    for each in shown:
        own_rank = None
        if _is_ranked(each):
            if worth(each) != previous:
                rank, previous = rank + 1, worth(each)
            own_rank = rank
        rows.append(
            BoardRow(
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
                medal=None,
                is_anchor=each.is_anchor,
                official=each.official,
                is_declared=each.is_declared,
                stands_by=None if measures else _why_it_stands(each, teams[each.team_id]),
                estimates=each.estimates,
                remote=each.remote,
                paused=each.paused,
            )
        )
    return _award_medals(rows, terms)


def _why_it_stands(each: BoardEntry, team: Sequence[BoardEntry]) -> StandsBy | None:
    if len(team) < 2 or each.is_anchor:
        return None
    if each.is_declared:
        return StandsBy.DECLARED
    newer = [other for other in team if other.entry_id > each.entry_id]
    if not newer:
        return StandsBy.NEWEST
    if all(other.games < LEAST_GAMES for other in newer):
        return StandsBy.WAITING
    return StandsBy.BETTER


def _award_medals(rows: list[BoardRow], terms: MedalTerms) -> tuple[BoardRow, ...]:
    """Returns the rows with the medals of ranked teams."""
    ranked = [
        (row.rank, row.score_and_sigma[0], row.team_id) for row in rows if row.rank is not None
    ]
    sealed = [terms.sealed.get(team) for _, _, team in ranked]
    teams = len({rank for rank, _, _ in ranked}) if terms.teams is None else terms.teams
    given = iter(terms.rules.award([(rank, score) for rank, score, _ in ranked], teams, sealed))
    awarded = []
    for row in rows:
        if row.rank is not None and (medal := next(given)) is not None:
            kept = terms.sealed.get(row.team_id)
            row = replace(row, medal=medal, sealed=kept, status=_medal_status(medal, kept, terms))
        awarded.append(row)
    return tuple(awarded)


def _medal_status(medal: Medal, sealed: Medal | None, terms: MedalTerms) -> MedalStatus:
    if sealed is medal:
        return MedalStatus.SEALED
    return MedalStatus.AWARDED if terms.is_final else MedalStatus.LIKELY


def _is_ranked(each: BoardEntry) -> bool:
    return each.games > 0 and not each.is_anchor
