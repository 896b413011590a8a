"""The peer: TrueSkill game by game, with the pairing of Kaggle as far as it is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating import online_trueskill
from benchmarks.rating.worlds import Flags, Floats, Ints

POINTS = 150.0
"""Points in one beta."""
KAGGLE_FLOOR = 35 / POINTS
KAGGLE_SIGMA = 200 / POINTS
KAGGLE_WIDTH = 0.5
"""The width of the bell curve around an agent's rating from which opponents are drawn."""
KAGGLE_NEW, KAGGLE_HASTE = 50, 6.0
"""Below this number of games, an agent leads this many times more often."""


@dataclass
class View:
    """The board of some agents, in units of beta; ``order`` ranks the best first."""

    mu: Floats
    sigma: Floats
    order: Floats


@dataclass
class Known:
    """The facts that a matchmaker may use about the active agents."""

    mu: Floats
    sigma: Floats
    games: NDArray[np.int64]


Matchmaker = Callable[[Known, int, int, np.random.Generator], Ints]


class KaggleLike:
    """A ladder that updates ratings game by game and keeps no history. Opponents have similar
    ratings, and sigma is at least 35 points."""

    most_in_flight: int | None = None

    def __init__(self, seats: int) -> None:
        self._seats = seats
        self._mu, self._sigma = np.zeros(0), np.zeros(0)
        self._games = np.zeros(0, dtype=np.int64)

    def enter(self, parents: Ints, *, are_anchors: bool = False) -> None:
        """Add newcomers; a new version of an agent starts like a new agent."""
        count = len(parents)
        self._mu = np.append(self._mu, np.zeros(count))
        self._sigma = np.append(self._sigma, np.full(count, KAGGLE_SIGMA))
        self._games = np.append(self._games, np.zeros(count, dtype=np.int64))

    def ranked(self, active: Ints) -> Flags | None:
        """None: the newest entry of each team."""

    def lineups(self, active: Ints, count: int, rng: np.random.Generator) -> Ints:
        """The next games, as many as asked."""
        known = Known(self._mu[active], self._sigma[active], self._games[active])
        return active[by_similar_rating(known, self._seats, count, rng)]

    def learn(self, lineups: Ints, ranks: NDArray[np.int16], faults: Flags) -> None:
        """Learn results in this order; a fault counts as a last place."""
        for wave in online_trueskill.split_into_batches(lineups, len(self._mu)):
            who = lineups[wave]
            mu, sigma = online_trueskill.update(self._mu[who], self._sigma[who], ranks[wave])
            self._mu[who], self._sigma[who] = mu, np.maximum(sigma, KAGGLE_FLOOR)
        np.add.at(self._games, lineups.ravel(), 1)

    def close_uploads(self) -> None:
        """Do nothing: the finals change nothing here."""

    def finish_season(self) -> None:
        """Do nothing: the ratings are already final."""

    def view(self, active: Ints) -> View:
        """The current board."""
        mu, sigma = self._mu[active], self._sigma[active]
        return View(mu, sigma, mu)


def by_similar_rating(known: Known, seats: int, count: int, rng: np.random.Generator) -> Ints:
    """Kaggle's pairing as far as it is known: any agent leads, new ones more often, against similar
    ones."""
    haste = np.where(known.games < KAGGLE_NEW, KAGGLE_HASTE, 1.0)
    shuffled = rng.permutation(len(haste))
    total = np.cumsum(haste[shuffled])
    ticks = (rng.random() + np.arange(count)) * total[-1] / count
    leads = shuffled[np.minimum(np.searchsorted(total, ticks), len(haste) - 1)]
    apart = (known.mu[leads, None] - known.mu[None, :]) / KAGGLE_WIDTH
    # The largest values are a weighted draw without replacement.
    likely = rng.gumbel(size=apart.shape) - 0.5 * apart**2
    likely[np.arange(count), leads] = -np.inf
    others = np.argpartition(-likely, seats - 1, axis=1)[:, : seats - 1]
    return np.column_stack([leads, others]).astype(np.int32)
