"""Measures the distance between a ladder's board and the true strengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating.baselines import View
from benchmarks.rating.official_ladder import DEFAULTS
from benchmarks.rating.worlds import Flags, Floats
from ladder.leagues.medals import BEST_FIRST, MedalRules
from ladder.ratings.medal_sealing import Chances, sealed_medal
from ladder.ratings.official.standing import DRAWS, draw_ranks, rank_outlook

SEAL = DEFAULTS.medal_confidence
NORMAL_95 = 1.96


@dataclass(frozen=True)
class Snapshot:
    """The measures of one ladder at one moment; shares unless another unit is given."""

    games: float
    """Games per agent."""
    rho: float
    medal_error: float
    """The share of true medallists without a medal of their class."""
    rank_cover: float
    score_cover: float
    top_ten: float
    sealed: int
    sealed_wrong: int
    """A sealed medal is wrong if its class is too good: the service seals a class or a better
    one."""


def places(strength: Floats) -> NDArray[np.int64]:
    """Ranks from 1, strongest first; ties in the order of their numbers."""
    order = np.argsort(-strength, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def spearman(ours: NDArray[np.int64], true: NDArray[np.int64]) -> float:
    """The Spearman correlation of two orders."""
    agents = len(true)
    return float(1 - 6 * np.sum((ours - true) ** 2.0) / (agents * (agents**2 - 1)))


def medal_classes(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 gold, 1 silver, 2 bronze, 3 none, by the ladder's own table."""
    return np.searchsorted(np.array(MedalRules().cuts(len(ranks))), ranks).astype(np.int64)


def snapshot(
    games: float,
    view: View,
    truth: Floats,
    seed: int,
    *,
    equal_within: float = 0.0,
    steady: Flags | None = None,
) -> Snapshot:
    """All measures of a board against the true strengths.

    Scores count only for ``steady`` agents, whose results one number can describe. An agent less
    than ``equal_within`` away from a medal deserves it too.
    """
    shown, true = places(view.order), places(truth)
    cuts = MedalRules().cuts(len(truth))
    own, right = medal_classes(shown), medal_classes(true)
    everybody = np.arange(len(truth))
    ahead = rank_outlook(draw_ranks(view.mu, view.sigma, everybody, everybody, DRAWS, seed), cuts)
    best = 1 + len(truth) - np.searchsorted(np.sort(truth), truth + equal_within, side="right")
    seals = np.array([_sealed_class(chances) for chances in ahead.chances.tolist()])
    known = np.ones(len(truth), dtype=bool) if steady is None else steady
    gap = view.mu - truth
    off = np.abs(gap - gap[known].mean())[known]
    return Snapshot(
        games=games,
        rho=spearman(shown, true),
        medal_error=float((own != right)[right < 3].mean()),
        rank_cover=float(((ahead.rank_low <= true) & (true <= ahead.rank_high)).mean()),
        score_cover=float((off <= NORMAL_95 * view.sigma[known]).mean()),
        top_ten=float((shown[true <= 10] <= 10).mean()),
        sealed=int((seals < 3).sum()),
        sealed_wrong=int(((seals < 3) & (seals < np.searchsorted(cuts, best))).sum()),
    )


def _sealed_class(chances: Sequence[float]) -> int:
    """The class that the service would seal at the end of the season; 3: none."""
    gold, silver, bronze = chances
    looks: list[Chances] = [(gold, silver, bronze)]
    medal = sealed_medal(looks, MedalRules(), SEAL)
    return 3 if medal is None else BEST_FIRST.index(medal)


def games_until(games: Sequence[float], values: Sequence[float], aim: float) -> float | None:
    """The point where a falling curve first meets the aim, or None; interpolates logarithms."""
    floor = 1e-4
    for number, value in enumerate(values):
        if value > aim:
            continue
        if number == 0:
            return games[0]
        before = np.log(max(values[number - 1], floor))
        share = (before - np.log(aim)) / (before - np.log(max(value, floor)))
        first, second = np.log(games[number - 1]), np.log(games[number])
        return float(np.exp(first + share * (second - first)))
    return None
