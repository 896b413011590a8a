"""Measures how soon improved forks of a popular agent find their rank.

Half of a league are forks of one public agent, all of nearly its strength. Then a dozen newcomers
enter that are a little better than the forks. The rank error is the mean distance of their ranks
from the true ones.
"""

from __future__ import annotations

import numpy as np

from benchmarks.rating import worlds
from benchmarks.rating.board_accuracy import places
from benchmarks.rating.official_ladder import Official
from benchmarks.rating.seasons import Flight

SEATS = 4
OTHERS, FORKS, IMPROVED = 60, 60, 12
FORK_SKILL, FORK_SPREAD, GAIN = 0.5, 0.005, 0.3
"""In beta."""
EARLIER_GAMES = 40
"""Games of each entry before the newcomers enter."""
LOOKS = (40, 90)
"""Games of each entry after that, at which the ranks are read."""


def play(seed: int, *, paced: bool = True) -> list[tuple[float, float]]:
    """The rank error of the newcomers and their games at each look."""
    rng = np.random.default_rng([seed, 1])
    world = worlds.normal(OTHERS + FORKS + IMPROVED, SEATS, np.random.default_rng([seed, 0]))
    forks = slice(OTHERS, OTHERS + FORKS)
    world.skill[forks] = FORK_SKILL + FORK_SPREAD * rng.standard_normal(FORKS)
    world.skill[OTHERS + FORKS :] = FORK_SKILL + GAIN
    ladder = Official(SEATS, paced=paced)
    flight = Flight(ladder, world, rng)
    everybody = np.arange(OTHERS + FORKS + IMPROVED, dtype=np.int32)
    games = np.zeros(len(everybody), np.int64)
    true = places(world.skill)

    def play_games(count: int, each_games: int) -> None:
        left = each_games * count // SEATS
        while left > 0:
            played = flight.play(everybody[:count], min(left, count // SEATS))
            np.add.at(games, played.ravel(), 1)
            left -= len(played)

    ladder.enter(np.full(OTHERS + FORKS, -1, np.int32))
    play_games(OTHERS + FORKS, EARLIER_GAMES)
    ladder.enter(np.full(IMPROVED, -1, np.int32))
    found, done = [], 0
    for look in LOOKS:
        play_games(len(everybody), look - done)
        done = look
        board = ladder.view(everybody)
        error = np.abs(places(board.order) - true)[OTHERS + FORKS :].mean()
        found.append((float(error), float(games[OTHERS + FORKS :].mean())))
    return found
