"""Medals by rank: Kaggle's table (facts/kaggle.md section 4), rounded down, cumulative."""

from __future__ import annotations

from enum import StrEnum


class Medal(StrEnum):
    GOLD = "gold"
    """The top 10 %, or the top 10 and 0.2 % in a league of 100 teams or more."""
    SILVER = "silver"
    """The next best: down to 20 %, 50 teams, or 5 %."""
    BRONZE = "bronze"
    """The next best: down to 40 %, 100 teams, or 10 %."""


def cuts(teams: int) -> tuple[int, int, int]:
    """The last rank that earns gold, silver and bronze among this many ranked teams."""
    if teams < 0:
        raise ValueError(f"teams: {teams} is negative")
    if teams < 100:
        return teams // 10, teams // 5, teams * 2 // 5
    if teams < 250:
        return 10, teams // 5, teams * 2 // 5
    if teams < 1000:
        return 10 + teams // 500, 50, 100
    return 10 + teams // 500, teams // 20, teams // 10


def medal(rank: int, teams: int) -> Medal | None:
    """The medal of a rank (1 is best), or None."""
    for kind, last in zip(Medal, cuts(teams), strict=True):
        if 1 <= rank <= last:
            return kind
    return None
