"""Computes the fewest games per agent that reach an aim, if their number is fixed beforehand.

An aim is the most loss of the order or of the medals. Skills are normal with a deviation of one
beta. Every opponent is as strong as the agent, and known. So each game gives the information of
``fisher_information``. Wrong medals are counted at the true boundaries. A pairing that learns from
results may need fewer games for medals, but not for the order.
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
"""Numbers of games that one agent may get: [300]."""
NODES, SHARES = np.polynomial.hermite_e.hermegauss(15)
"""Gauss-Hermite nodes and weights, for means over a normal skill."""
RATIOS = np.exp(np.linspace(-3, 3, 31))
"""Prices of the loss of medals against that of the order; ``fewest_games`` tries each."""
BISECTIONS = 40


@dataclass(frozen=True)
class Losses:
    """Each agent's part of the field's loss, by its number of games; both are [agents, 300]."""

    order: Floats
    """1 minus Spearman's correlation."""
    medals: Floats
    """Share of the medallists without a medal of their class."""


@lru_cache
def losses(agents: int, seats: int) -> Losses:
    """Returns the losses in a normal field, the best agent first."""
    precision = GAMES * fisher_information(seats)
    quantiles = (np.arange(agents) + 0.5) / agents
    skill = np.array([NormalDist().inv_cdf(1 - each) for each in quantiles])
    shares = SHARES / SHARES.sum()
    places = normal_cdf(skill[:, None, None] + NODES * np.sqrt(1 / (1 + precision))[:, None])
    order = 6 / agents * (places**2 @ shares - (places @ shares) ** 2)
    cuts = MedalRules().cuts(agents)
    edges = [(skill[cut - 1] + skill[cut]) / 2 for cut in cuts]
    medals = np.zeros_like(order)
    for cut, edge in zip(cuts, edges, strict=True):
        crosses = normal_cdf(-np.abs(skill - edge)[:, None] * np.sqrt(precision))
        # At the last boundary, one medal is wrong for two agents.
        medals += crosses * (0.5 if cut == cuts[-1] else 1.0) / cuts[-1]
    return Losses(order, medals)


def fewest_games(
    agents: int, seats: int, *, order: float = np.inf, medals: float = np.inf
) -> float:
    """Returns the fewest mean games per agent that leave at most these losses; inf is no aim.

    ``order`` is 1 minus Spearman's correlation, ``medals`` the share of wrong medals. At least one
    is an aim.
    """
    known = losses(agents, seats)
    aims = [(known.order, order), (known.medals, medals)]
    wanted = [(each / aim, 1.0) for each, aim in aims if np.isfinite(aim)]
    if len(wanted) == 1:
        return _fewest_games(wanted)
    (first, _), (second, _) = wanted
    return min(_fewest_games([(first, 1.0), (second, float(price))]) for price in RATIOS)


def _fewest_games(wanted: Sequence[tuple[Floats, float]]) -> float:
    """Returns the fewest mean games per agent with which each loss meets its aim.

    ``wanted`` holds losses divided by their aims, [agents, 300], and their prices. The loop looks
    for the number of games that a unit of loss is worth.
    """
    priced = sum(price * loss for loss, price in wanted)
    rows = np.arange(len(wanted[0][0]))
    low, high, fewest = 0.0, 1e9, float("inf")
    for _ in range(BISECTIONS):
        worth = (low * high) ** 0.5 if low else high**0.5
        chosen = (GAMES + worth * priced).argmin(axis=1)
        if all(loss[rows, chosen].sum() <= 1 for loss, _ in wanted):
            high, fewest = worth, float(GAMES[chosen].mean())
        else:
            low = worth
    return fewest
