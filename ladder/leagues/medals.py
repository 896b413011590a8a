"""Medals of a season, by the rules its host chose: Kaggle's table, score lines or own numbers.

Kaggle's table and a host's own numbers are of ranks, rounded down and
cumulative; lines are of the official score. Ranks are places: teams of equal score share one, the
next team has the next, and together they count as one team. So whoever hands in once more what is
there already (equal bundles are one contender, with one score) changes nobody else's rank or medal,
and nothing here tells equal bundles from scores that are equal otherwise. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from ladder.errors import Invalid


class Medal(StrEnum):
    GOLD = "gold"
    """By the table: the top 10 %, or the top 10 and 0.2 % in a league of 100 teams or more."""
    SILVER = "silver"
    """The next best: down to 20 %, 50 teams, or 5 %."""
    BRONZE = "bronze"
    """The next best: down to 40 %, 100 teams, or 10 %."""


class MedalStatus(StrEnum):
    LIKELY = "likely"
    """As it stands now; games to come may change it."""
    SEALED = "sealed"
    """Sure enough that no game changes it any more."""
    AWARDED = "awarded"
    """Given at the end though it was never sealed."""


class MedalRuleKind(StrEnum):
    TABLE = "table"
    """Kaggle's, by the number of ranked teams, equal ones counted once."""
    LINES = "lines"
    """The least official score of each class."""
    COUNTS = "counts"
    """So many teams in each class."""
    SHARES = "shares"
    """Such a part of the ranked teams in each class, equal ones counted once."""


BEST_FIRST: Final = tuple(Medal)
MOST_TEAMS: Final = 1_000_000
FARTHEST: Final = 1_000_000.0


def kaggle_cut_ranks(teams: int) -> tuple[int, int, int]:
    """The last rank that earns gold, silver and bronze by Kaggle's table."""
    if teams < 0:
        raise ValueError(f"teams: {teams} is negative")
    if teams < 100:
        return teams // 10, teams // 5, teams * 2 // 5
    if teams < 250:
        return 10, teams // 5, teams * 2 // 5
    if teams < 1000:
        return 10 + teams // 500, 50, 100
    return 10 + teams // 500, teams // 20, teams // 10


@dataclass(frozen=True, slots=True)
class MedalRules:
    """Who earns what. Raises Invalid naming the class whose number cannot be."""

    kind: MedalRuleKind = MedalRuleKind.TABLE
    gold: float = 0.0
    silver: float = 0.0
    bronze: float = 0.0

    def __post_init__(self) -> None:
        numbers = dict(zip(BEST_FIRST, (self.gold, self.silver, self.bronze), strict=True))
        for name, number in numbers.items():
            if not math.isfinite(number):
                raise Invalid(name, f"{number} is no number to award by")
            if self.kind is MedalRuleKind.TABLE and number != 0:
                raise Invalid(name, "the table has its own numbers; leave this one out")
            if self.kind is MedalRuleKind.LINES and abs(number) > FARTHEST:
                raise Invalid(name, f"a line lies between {-FARTHEST:.0f} and {FARTHEST:.0f}")
            if self.kind is MedalRuleKind.COUNTS and not (
                0 <= number <= MOST_TEAMS and number == int(number)
            ):
                raise Invalid(name, f"a count is a whole number from 0 to {MOST_TEAMS}")
            if self.kind is MedalRuleKind.SHARES and not 0 <= number <= 1:
                raise Invalid(name, "a share lies between 0 and 1")
        if self.kind is MedalRuleKind.LINES:
            if self.silver > self.gold:
                raise Invalid("silver", "its line lies above that of gold; lower it")
            if self.bronze > self.silver:
                raise Invalid("bronze", "its line lies above that of silver; lower it")
        if self.kind is MedalRuleKind.SHARES and self.gold + self.silver + self.bronze > 1 + 1e-9:
            raise Invalid("bronze", "the three shares are more than 1 together; lower one")

    @property
    def lines(self) -> tuple[float, float, float] | None:
        """The least score of gold, silver and bronze; None where ranks decide."""
        return (self.gold, self.silver, self.bronze) if self.kind is MedalRuleKind.LINES else None

    def cuts(self, teams: int) -> tuple[int, int, int]:
        """The last rank that earns gold, silver and bronze among this many ranked teams.

        Where scores decide, no rank earns anything.
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
    ) -> list[Medal | None]:
        """The medal of each ranked team, given rank and score of all, best first.

        Equal ranks share a medal and one of the places there are. What is ``sealed`` for a team is
        the least it gets, and takes a place, with whoever shares its rank.
        """
        kept = [None] * len(ranked) if sealed is None else sealed
        given: list[Medal | None] = [None] * len(ranked)
        for n, medal in reversed(list(enumerate(BEST_FIRST))):
            if self.lines is not None:
                earned = [score >= self.lines[n] for _, score in ranked]
                holds = [_is_medal_at_least(one, medal) for one in kept]
            else:
                holds = [_is_medal_at_least(one, medal) for one in kept]
                earned = _ranks_within_cut(self.cuts(teams)[n], [rank for rank, _ in ranked], holds)
            for place, (has, is_kept) in enumerate(zip(earned, holds, strict=True)):
                if has or is_kept:
                    given[place] = medal
        return given

    def to_json(self) -> dict[str, Any]:
        """As it stands in the season's row."""
        return {"kind": "table"} if self.kind is MedalRuleKind.TABLE else asdict(self)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> MedalRules:
        """What ``to_json`` wrote."""
        return cls(**{**stored, "kind": MedalRuleKind(stored["kind"])})


def _ranks_within_cut(cut: int, ranks: Sequence[int], holds: Sequence[bool]) -> list[bool]:
    """Whether each team's rank has a place: those with a seal, and the best that fit in beside."""
    kept = {rank for rank, is_kept in zip(ranks, holds, strict=True) if is_kept}
    free = max(0, cut - len(kept))
    others = sorted(set(ranks) - kept)
    placed = kept.union(others[:free])
    return [rank in placed for rank in ranks]


def _is_medal_at_least(one: Medal | None, other: Medal) -> bool:
    return one is not None and BEST_FIRST.index(one) <= BEST_FIRST.index(other)


def _cut_ranks_of_shares(
    sums: tuple[float, float, float], teams: int
) -> tuple[float, float, float]:
    """Shares of the teams; a tenth of ten is one, whatever binary makes of it."""
    gold, silver, bronze = (share * teams + 1e-6 for share in sums)
    return gold, silver, bronze
