"""Fits all results of a contest at once and compares the likely board with the official one. Pure.

A team stands by the submission with its best official score, as Kaggle's leaderboard does. Medals
follow Kaggle's table in both boards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.leagues.medals import BEST_FIRST, Medal, MedalRules
from ladder.ratings.official import ranks
from ladder.ratings.official.season_fit import fit_season
from ladder.reports.contest_luck.contest_tables import Contest

BETA: Final = 150.0
"""Points in one beta, as on Kaggle."""
START: Final = 600.0
DRAWS: Final = 2000

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LuckRow:
    """A team on both boards."""

    team: int
    submission: int
    games: int
    rank: int
    """Rank by the likely score."""
    rank_low: int
    """Best rank of the 95 % interval."""
    rank_high: int
    score: float
    """Likely score in points, on the scale of the official scores where they are known."""
    sigma: float
    chances: tuple[float, float, float]
    """Chances of gold, of silver or better, of any medal."""
    likely: Medal | None
    """Medal of the likely rank."""
    official_rank: int | None
    official_score: float | None
    official: Medal | None
    """Medal of the official rank."""
    deserved: float | None
    """Chance that the team deserves its official medal or a better one; None without a medal."""


@dataclass(frozen=True)
class ContestLuck:
    """Both boards, best likely rank first."""

    rows: tuple[LuckRow, ...]
    episodes: int
    wrong_medals: float | None
    """Expected number of official medals of a class that the team does not deserve."""


def measure_luck(contest: Contest, seed: int = 1) -> ContestLuck:
    """Returns both boards; equal arguments give equal results."""
    count = len(contest.submissions)
    fitted = fit_season(contest.games, np.full(count, -1, np.int32))
    there = contest.games.contenders[contest.games.contenders >= 0]
    games = np.bincount(there, minlength=count)
    standing = _standing_submissions(contest, fitted.mu, games)
    mu, sigma = fitted.mu[standing], fitted.shown_sigma[standing]
    official = contest.official[standing]
    known = ~np.isnan(official)
    offset = float((official - BETA * mu)[known].mean()) if known.any() else START
    everybody = np.arange(len(standing))
    cuts = MedalRules().cuts(len(standing))
    outlook = ranks.rank_outlook(
        ranks.draw_ranks(mu, sigma, everybody, everybody, DRAWS, seed), cuts
    )
    likely_rank = _ranks(mu)
    official_rank = _ranks(np.where(known, official, -np.inf))
    rows = []
    wrong = 0.0
    for n in np.argsort(likely_rank, kind="stable").tolist():
        gold, silver, bronze = outlook.chances[n].tolist()
        given = _medal(int(official_rank[n]), cuts) if known[n] else None
        if given is not None:
            at = BEST_FIRST.index(given)
            wrong += 1.0 - ((gold, silver, bronze)[at] - (0.0, gold, silver)[at])
        rows.append(
            LuckRow(
                team=int(contest.teams[standing[n]]),
                submission=int(contest.submissions[standing[n]]),
                games=int(games[standing[n]]),
                rank=int(likely_rank[n]),
                rank_low=int(outlook.rank_low[n]),
                rank_high=int(outlook.rank_high[n]),
                score=offset + BETA * float(mu[n]),
                sigma=BETA * float(sigma[n]),
                chances=(gold, silver, bronze),
                likely=_medal(int(likely_rank[n]), cuts),
                official_rank=int(official_rank[n]) if known[n] else None,
                official_score=float(official[n]) if known[n] else None,
                official=given,
                deserved=None if given is None else (gold, silver, bronze)[BEST_FIRST.index(given)],
            )
        )
    return ContestLuck(tuple(rows), len(contest.games), wrong if known.any() else None)


def _standing_submissions(
    contest: Contest, mu: Floats, games: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Returns the submission of each team: best official score, then best mean; played ones."""
    score = np.where(np.isnan(contest.official), -np.inf, contest.official)
    order = np.lexsort((-mu, -score, contest.teams))
    order = order[games[order] > 0]
    first = np.unique(contest.teams[order], return_index=True)[1]
    return order[first]


def _ranks(score: Floats) -> NDArray[np.int64]:
    """Returns ranks from 1; equal scores share one."""
    return 1 + np.searchsorted(np.sort(-score), -score)


def _medal(rank: int, cuts: tuple[int, int, int]) -> Medal | None:
    return next((medal for medal, cut in zip(BEST_FIRST, cuts, strict=True) if rank <= cut), None)
