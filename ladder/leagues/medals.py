"""Awards medals by the host's rules: Kaggle's table, score lines, counts or shares.

The table, counts and shares use ranks, rounded down and cumulative; lines use the official score.
Teams of equal score share a rank, and the next team has the next rank. Equal bundles count as one
team when medals are counted. So a copy of an existing bundle changes no other rank or medal.

``ladder.ratings.medal_sealing`` seals medals. They are read here, and revoked with an audit entry.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from ladder.database.db import Connection, atomic_function, fetch
from ladder.errors import Invalid
from ladder.field_types import RECORD
from ladder.ids import SeasonId, TeamId


class Medal(StrEnum):
    GOLD = "gold"
    """By the table: the top 10 %; in a league of 100 teams or more, the top 10 plus 0.2 %."""
    SILVER = "silver"
    """By the table: down to 20 %, 50 teams, or 5 %."""
    BRONZE = "bronze"
    """By the table: down to 40 %, 100 teams, or 10 %."""


class MedalStatus(StrEnum):
    LIKELY = "likely"
    """The current medal; later games may change it."""
    SEALED = "sealed"
    """Certain enough that no later game changes it."""
    AWARDED = "awarded"
    """Awarded at the end without having been sealed."""


class MedalRuleKind(StrEnum):
    TABLE = "table"
    """Kaggle's table, by the number of teams with a valid entry; equal bundles count once."""
    LINES = "lines"
    """The least official score of each class: a number, or a distance from a reference agent."""
    COUNTS = "counts"
    """A number of teams in each class."""
    SHARES = "shares"
    """A share of the teams with a valid entry in each class; equal bundles count once."""


BEST_FIRST: Final = tuple(Medal)
MOST_TEAMS: Final = 1_000_000
FARTHEST_SCORE: Final = 1_000_000.0
"""Greatest distance of a medal's score line from 0."""
NAMED_LINE: Final = re.compile(r"([a-z][a-z0-9-]*?)(?:([+-])([0-9]+(?:\.[0-9]+)?))?")
"""A line that a reference agent names, such as ``survivor``, ``survivor+100`` or ``greedy-20``."""


def kaggle_cut_ranks(teams: int) -> tuple[int, int, int]:
    """Returns the last rank of gold, silver and bronze by Kaggle's table."""
    if teams < 0:
        raise ValueError(f"teams: {teams} is negative")
    if teams < 100:
        return teams // 10, teams // 5, teams * 2 // 5
    if teams < 250:
        return 10, teams // 5, teams * 2 // 5
    if teams < 1000:
        return 10 + teams // 500, 50, 100
    return 10 + teams // 500, teams // 20, teams // 10


def read_line(value: object) -> float | str:
    """Returns a line as a number, or in the standard spelling ``survivor+100``. Raises ValueError.

    The distance of a named line may have a fraction. Underscores in a name become hyphens.
    """
    text = str(value).strip().lower().replace("_", "-").replace(" ", "")
    if isinstance(value, bool):
        text = ""
    if NAMED_LINE.fullmatch(text):
        name, distance = parse_line(text)
        return _line_text(name, distance)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not abs(number) <= FARTHEST_SCORE:
        raise ValueError(
            f"give a score between {-FARTHEST_SCORE:.0f} and {FARTHEST_SCORE:.0f}, or a reference"
            " agent with a distance, such as survivor+100"
        )
    return number


def parse_line(value: float | str) -> tuple[str, float]:
    """Returns the reference agent of a line, or "", and the distance from its score or from 0."""
    if not isinstance(value, str):
        return "", float(value)
    match = NAMED_LINE.fullmatch(value)
    assert match is not None, value
    name, sign, distance = match.groups()
    number = min(float(distance or 0), FARTHEST_SCORE)
    return name, -number if sign == "-" else number


def _line_text(name: str, distance: float) -> str:
    return f"{name}{distance:+.10g}" if distance else name


@dataclass(frozen=True, slots=True)
class MedalRules:
    """The rules that award medals. Raises Invalid, which names the class with the wrong number."""

    kind: MedalRuleKind = MedalRuleKind.TABLE
    gold: float = 0.0
    silver: float = 0.0
    bronze: float = 0.0
    agents: tuple[str, str, str] = ("", "", "")
    """Reference agents from whose scores the lines are measured; empty: from 0."""

    def __post_init__(self) -> None:
        numbers = dict(zip(BEST_FIRST, (self.gold, self.silver, self.bronze), strict=True))
        for name, number in numbers.items():
            if not math.isfinite(number):
                raise Invalid(name, f"{number} is not a valid number for this rule")
            if self.kind is MedalRuleKind.TABLE and number != 0:
                raise Invalid(name, "leave this out; the table has its own numbers")
            if self.kind is MedalRuleKind.LINES and abs(number) > FARTHEST_SCORE:
                raise Invalid(
                    name, f"give a score between {-FARTHEST_SCORE:.0f} and {FARTHEST_SCORE:.0f}"
                )
            if self.kind is MedalRuleKind.COUNTS and not (
                0 <= number <= MOST_TEAMS and number == int(number)
            ):
                raise Invalid(name, f"a count must be a whole number from 0 to {MOST_TEAMS}")
            if self.kind is MedalRuleKind.SHARES and not 0 <= number <= 1:
                raise Invalid(name, "a share must be between 0 and 1")
        if self.kind is MedalRuleKind.LINES:
            gold, silver, bronze = self.agents
            if gold == silver and self.silver > self.gold:
                raise Invalid("silver", "lower this line; it is above that of gold")
            if silver == bronze and self.bronze > self.silver:
                raise Invalid("bronze", "lower this line; it is above that of silver")
        if self.kind is MedalRuleKind.SHARES and self.gold + self.silver + self.bronze > 1 + 1e-9:
            raise Invalid("bronze", "lower a share; the three shares together are more than 1")

    @property
    def lines(self) -> tuple[float, float, float] | None:
        """Least score of gold, silver and bronze; None if ranks decide.

        Lines that reference agents name must be placed first.
        """
        assert not any(self.agents)
        return (self.gold, self.silver, self.bronze) if self.kind is MedalRuleKind.LINES else None

    def placed(self, scores: Mapping[str, float], otherwise: float) -> MedalRules:
        """Returns the rules with a number for each line, by the scores of reference agents.

        An agent without a score counts with the score ``otherwise``. No line is below that of a
        lower class.
        """
        if not any(self.agents):
            return self
        lines = [
            max(-FARTHEST_SCORE, min(FARTHEST_SCORE, distance + scores.get(name, otherwise)))
            if name
            else distance
            for name, distance in zip(
                self.agents, (self.gold, self.silver, self.bronze), strict=True
            )
        ]
        return MedalRules(self.kind, max(lines), max(lines[1:]), lines[2])

    def cuts(self, teams: int) -> tuple[int, int, int]:
        """Returns the last rank of gold, silver and bronze among this many teams.

        If scores decide, these are 0.
        """
        if self.kind is MedalRuleKind.TABLE:
            return kaggle_cut_ranks(teams)
        if self.kind is MedalRuleKind.LINES:
            return 0, 0, 0
        sums = (self.gold, self.gold + self.silver, self.gold + self.silver + self.bronze)
        if self.kind is MedalRuleKind.SHARES:
            sums = _cut_ranks_of_shares(sums, teams)
        gold, silver, bronze = (min(int(number), teams) for number in sums)
        return gold, silver, bronze

    def award(
        self,
        ranked: Sequence[tuple[int, float]],
        teams: int,
        sealed: Sequence[Medal | None] | None = None,
        counted_as: Sequence[Hashable] | None = None,
    ) -> list[Medal | None]:
        """Returns the medal of each ranked team; ``ranked`` has ranks and scores, best first.

        Teams of equal rank share a medal. A rank gets one if fewer teams stand before it than the
        cut allows. Teams that are ``counted_as`` equals count as one; without it, teams of equal
        rank do. A team with a ``sealed`` medal gets at least that class and uses a place.
        """
        ranks = [rank for rank, _ in ranked]
        kept = [None] * len(ranked) if sealed is None else sealed
        awarded: list[Medal | None] = [None] * len(ranked)
        for n, medal in reversed(list(enumerate(BEST_FIRST))):
            if self.lines is not None:
                earned = [score >= self.lines[n] for _, score in ranked]
                holds = [_is_medal_at_least(held, medal) for held in kept]
            else:
                holds = [_is_medal_at_least(held, medal) for held in kept]
                earned = _teams_within_cut(self.cuts(teams)[n], ranks, counted_as or ranks, holds)
            for place, (has, is_kept) in enumerate(zip(earned, holds, strict=True)):
                if has or is_kept:
                    awarded[place] = medal
        return awarded

    def to_json(self) -> dict[str, Any]:
        """Returns the rules as JSON for the season's row."""
        if self.kind is MedalRuleKind.TABLE:
            return {"kind": "table"}
        numbers = zip(BEST_FIRST, self.agents, (self.gold, self.silver, self.bronze), strict=True)
        return {
            "kind": self.kind,
            **{
                medal.value: _line_text(name, number) if name else number
                for medal, name, number in numbers
            },
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> MedalRules:
        """Reads the JSON that ``to_json`` wrote."""
        kind = MedalRuleKind(stored["kind"])
        lines = [parse_line(stored.get(medal.value, 0.0)) for medal in BEST_FIRST]
        gold, silver, bronze = (distance for _, distance in lines)
        agent, second, third = (name for name, _ in lines)
        return cls(kind, gold, silver, bronze, (agent, second, third))


def _teams_within_cut(
    cut: int, ranks: Sequence[int], counted_as: Sequence[Hashable], holds: Sequence[bool]
) -> list[bool]:
    """Whether each team gets a place: sealed teams, then the best ranks that still fit."""
    kept = {team for team, is_kept in zip(counted_as, holds, strict=True) if is_kept}
    free = max(0, cut - len(kept))
    others = {(team, rank) for team, rank in zip(counted_as, ranks, strict=True)}
    last = max(sorted(rank for team, rank in others if team not in kept)[:free], default=0)
    return [team in kept or rank <= last for team, rank in zip(counted_as, ranks, strict=True)]


def _is_medal_at_least(medal: Medal | None, other: Medal) -> bool:
    return medal is not None and BEST_FIRST.index(medal) <= BEST_FIRST.index(other)


def _cut_ranks_of_shares(
    sums: tuple[float, float, float], teams: int
) -> tuple[float, float, float]:
    """Returns the cut ranks for shares of teams; corrects binary rounding (a tenth of 10 is 1)."""
    gold, silver, bronze = (share * teams + 1e-6 for share in sums)
    return gold, silver, bronze


@dataclass(frozen=True, slots=True)
class SealedMedal:
    """A sealed medal, and the act that took it back, if any."""

    __pydantic_config__ = RECORD
    team_id: TeamId
    team_name: str
    medal: Medal
    chance: float
    """Probability of this class or better, by the version that sealed it."""
    version: int
    """Version of the official standing that sealed it."""
    sealed_at: datetime
    unsealed_at: datetime | None
    audit_id: str | None
    """Id of the audit entry that revoked the seal."""


def sealed_medals_of_season(conn: Connection, season_id: SeasonId) -> dict[TeamId, Medal]:
    """Returns each team's best sealed class that is not revoked."""
    sealed = fetch(
        conn,
        lambda team_id, medal: (TeamId(team_id), Medal(medal)),
        """
        select s.team_id, s.medal
        from sealed_medals s
        where s.season_id = %(season)s
          and not exists (
              select 1
              from unsealed_medals u
              where u.season_id = s.season_id
                and u.team_id = s.team_id
                and u.version = s.version
          )
        """,
        {"season": season_id},
    )
    return dict(sorted(sealed, key=lambda row: BEST_FIRST.index(row[1]), reverse=True))


def list_sealed_medals(conn: Connection, season_id: SeasonId) -> list[SealedMedal]:
    """Returns all seals of a season, newest first, revoked ones included."""
    return fetch(
        conn,
        SealedMedal,
        """
        select s.team_id, t.name as team_name, s.medal, s.chance, s.version, s.sealed_at,
               u.unsealed_at, u.audit_id
        from sealed_medals s
        join teams t on t.id = s.team_id
        left join unsealed_medals u on u.season_id = s.season_id
                                   and u.team_id = s.team_id
                                   and u.version = s.version
        where s.season_id = %(season)s
        order by s.version desc, s.chance desc, s.team_id
        """,
        {"season": season_id},
    )


def unseal_all_medals(conn: Connection, season_id: SeasonId, audit_id: str) -> None:
    """Revokes every seal of a season. The next fit seals medals again and recounts the teams."""
    for team in sealed_medals_of_season(conn, season_id):
        unseal_medals(conn, season_id, team, audit_id)
    conn.execute("update seasons set medal_teams = null where id = %s", (season_id,))


@atomic_function
def unseal_medals(conn: Connection, season_id: SeasonId, team_id: TeamId, audit_id: str) -> int:
    """Revokes the seals of a team by an audit entry; returns how many.

    The next standing may seal medals again; a finished season gets that standing immediately.
    """
    revoked = conn.execute(
        """
        insert into unsealed_medals (season_id, team_id, version, audit_id)
        select season_id, team_id, version, %(audit)s
        from sealed_medals
        where season_id = %(season)s and team_id = %(team)s
        on conflict do nothing
        """,
        {"audit": audit_id, "season": season_id, "team": team_id},
    ).rowcount
    if revoked:
        conn.execute(
            """
            update seasons
            set official_is_stale = true,
                is_sealed = false,
                final_version = null,
                revision = revision + 1
            where id = %(season)s
            """,
            {"season": season_id},
        )
    return revoked
