"""Leagues with many crashing entries or many near-copies, and the same leagues without them.

- *crashers*: 50 of 100 entries fail in each game.
- *flood*: 100 entries of nearly one strength, each of its own team and with its own bytes, enter a
  league of 100 others. Medal boundaries lie among them.

Each season is also played by the honest entries alone, with as many matches in total.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating import worlds
from benchmarks.rating.baselines import KaggleLike, View
from benchmarks.rating.board_accuracy import places, spearman
from benchmarks.rating.official_ladder import Official
from benchmarks.rating.seasons import Flight, Ladder
from benchmarks.rating.worlds import World

SEATS = 4
HONEST = {"crashers": 50, "flood": 100}
CROWD = {"crashers": 50, "flood": 100}
GAMES = {"crashers": 52, "flood": 60}
"""Mean games of all entries, crowd included."""
FLOOD_SKILL, FLOOD_SPREAD = 1.0, 0.005
LADDERS: Mapping[str, Callable[[], Ladder]] = {
    "ours": lambda: Official(SEATS),
    "ours, before": lambda: Official(SEATS, paced=False),
    "Kaggle-like": lambda: KaggleLike(SEATS),
}
"""*before* pairs as if no entry failed and no group existed."""


@dataclass(frozen=True)
class Outcome:
    """One season with a crowd beside the same one without it."""

    order_lost: float
    """Of Spearman's correlation with the true order of the honest entries."""
    games_share: float
    """Games of an honest entry, as a share of those without the crowd."""


def crowded(name: str, seed: int) -> World:
    """A league whose last entries are the crowd."""
    rng = np.random.default_rng([seed, 0])
    world = worlds.normal(HONEST[name] + CROWD[name], SEATS, rng)
    if name == "crashers":
        world.crash[HONEST[name] :] = 1.0
    else:
        world.skill[HONEST[name] :] = FLOOD_SKILL + FLOOD_SPREAD * rng.standard_normal(CROWD[name])
    return world


def play(
    make: Callable[[], Ladder], world: World, matches: int, seed: int, locks_after: float = np.inf
) -> tuple[View, NDArray[np.int64]]:
    """The last board, and the games of each entry since uploads locked, if they did."""
    ladder, rng = make(), np.random.default_rng([seed, 1])
    agents = len(world.skill)
    active = np.arange(agents, dtype=np.int32)
    ladder.enter(np.full(agents, -1, np.int32))
    flight, games = Flight(ladder, world, rng), np.zeros(agents, np.int64)
    left, is_open = matches, True
    while left > 0:
        if is_open and matches - left >= locks_after:
            ladder.close_uploads()
            games[:], is_open = 0, False
        played = flight.play(active, min(left, max(agents // SEATS, (matches - left) // 20)))
        np.add.at(games, played.ravel(), 1)
        left -= len(played)
    ladder.finish_season()
    return ladder.view(active), games


def compare(name: str, ladder: str, seed: int, *, is_locked: bool = False) -> Outcome:
    """Play one season with the crowd and one without; uploads lock in the middle, or never."""
    honest, world = HONEST[name], crowded(name, seed)
    alone = replace(
        world, skill=world.skill[:honest], crash=world.crash[:honest], plane=world.plane[:honest]
    )
    matches = GAMES[name] * len(world.skill) // SEATS
    locks = matches / 2 if is_locked else np.inf
    board, games = play(LADDERS[ladder], world, matches, seed, locks)
    other, others_games = play(LADDERS[ladder], alone, matches, seed, locks)
    true = places(world.skill[:honest])
    lost = spearman(places(other.order), true) - spearman(places(board.order[:honest]), true)
    return Outcome(lost, float(games[:honest].mean() / others_games.mean()))
