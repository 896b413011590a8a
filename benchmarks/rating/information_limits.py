"""Computes the fewest games with which any fixed split can reach an aim, in a normal field.

Skills have the deviation of one beta. All opponents are known and equal, so each game has the
information of ``fisher_information``. Medals are judged by their true boundaries. A pairing may
split its games while it learns. So it may need fewer games for medals, but not for the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from benchmarks.rating.worlds import Floats
from ladder.leagues.medals import MedalRules
from ladder.matches.pairing.information_gain import fisher_information
from ladder.ratings.official.truncated_gaussian import normal_cdf

GAMES = np.exp(np.linspace(np.log(0.5), np.log(5000), 300))
"""Games that one agent may get."""
NODES, SHARES = np.polynomial.hermite_e.hermegauss(15)
RATIOS = np.exp(np.linspace(-3, 3, 31))
"""Prices of a wrong medal against a wrong order."""
HALVINGS = 40


@dataclass(frozen=True)
class Losses:
    """The loss of each agent by its number of games: [agents, GAMES]; a sum is a field's loss."""

    order: Floats
    """1 minus Spearman's correlation."""
    medals: Floats
    """Share of the medallists without a medal of their class."""


@lru_cache
def losses(agents: int, seats: int) -> Losses:
    """The losses in a normal field."""
    told = GAMES * fisher_information(seats)
    quantiles = (np.arange(agents) + 0.5) / agents
    skill = np.array([NormalDist().inv_cdf(1 - each) for each in quantiles])
    shares = SHARES / SHARES.sum()
    places = normal_cdf(skill[:, None, None] + NODES * np.sqrt(1 / (1 + told))[:, None])
    order = 6 / agents * (places**2 @ shares - (places @ shares) ** 2)
    cuts = MedalRules().cuts(agents)
    edges = [(skill[cut - 1] + skill[cut]) / 2 for cut in cuts]
    medals = np.zeros_like(order)
    for cut, edge in zip(cuts, edges, strict=True):
        crosses = normal_cdf(-np.abs(skill - edge)[:, None] * np.sqrt(told))
        # Who loses the last medal and who gets it share one wrong medal.
        medals += crosses * (0.5 if cut == cuts[-1] else 1.0) / cuts[-1]
    return Losses(order, medals)


def fewest_games(
    agents: int, seats: int, *, order: float = np.inf, medals: float = np.inf
) -> float:
    """The fewest games per agent that leave at most this loss of order and of medals."""
    known = losses(agents, seats)
    aims = [(known.order, order), (known.medals, medals)]
    wanted = [(each / aim, 1.0) for each, aim in aims if np.isfinite(aim)]
    if len(wanted) == 1:
        return _fewest_games(wanted)
    (first, _), (second, _) = wanted
    return min(_fewest_games([(first, 1.0), (second, float(price))]) for price in RATIOS)


def _fewest_games(wanted: Sequence[tuple[Floats, float]]) -> float:
    """The same for losses in parts of their aims, at fixed prices; [agents, GAMES] each."""
    priced = sum(price * loss for loss, price in wanted)
    rows = np.arange(len(wanted[0][0]))
    low, high, fewest = 0.0, 1e9, float("inf")
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5 if low else high**0.5
        chosen = (GAMES + middle * priced).argmin(axis=1)
        if all(loss[rows, chosen].sum() <= 1 for loss, _ in wanted):
            high, fewest = middle, float(GAMES[chosen].mean())
        else:
            low = middle
    return fewest
