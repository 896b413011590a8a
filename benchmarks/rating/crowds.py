"""Measures what many crashing entries and many near-copies cost the others.

    python -m benchmarks.rating.crowds [--seeds N] [--world NAME ...]

- *crashers*: 50 of 100 entries fail in each game.
- *flood*: 100 entries of nearly one strength, each of its own team and with its own bytes, enter a
  league of 100 others. Medal boundaries lie among them.

Each season is also played without the crowd, by the honest entries alone, with as many matches in
total. *before* pairs as if no entry failed and no group existed. The order is Spearman's
correlation with the true order of the honest entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating import worlds
from benchmarks.rating.baselines import View, at_random, kaggle_like
from benchmarks.rating.board_accuracy import medal_classes, places, spearman
from benchmarks.rating.figures import mean_text, seed_parser
from benchmarks.rating.official_ladder import Official
from benchmarks.rating.seasons import Flight, Ladder
from benchmarks.rating.worlds import World
from benchmarks.report_tables import aligned

SEATS = 4
HONEST = {"crashers": 50, "flood": 100}
CROWD = {"crashers": 50, "flood": 100}
GAMES = {"crashers": 52, "flood": 60}
"""Mean games of all entries, crowd included."""
FLOOD_SKILL, FLOOD_SPREAD = 1.0, 0.005

LADDERS: Mapping[str, Callable[[], Ladder]] = {
    "ours": lambda: Official(SEATS),
    "ours, before": lambda: Official(SEATS, paced=False),
    "random + official fit": lambda: Official(SEATS, matchmaker=at_random),
    "Kaggle-like": lambda: kaggle_like(SEATS),
}


@dataclass(frozen=True)
class Outcome:
    """One season with a crowd, and the same one without it."""

    order: float
    order_without: float
    games_share: float
    """Games of an honest entry, as a share of those without the crowd."""
    games: float
    crowd_games: float
    medals: float
    """Share of all medals that the crowd holds."""


def crowded(name: str, seed: int) -> World:
    """A league whose last entries are the crowd."""
    rng = np.random.default_rng([seed, 0])
    world = worlds.normal(HONEST[name] + CROWD[name], SEATS, rng)
    if name == "crashers":
        world.crash[HONEST[name] :] = 1.0
    else:
        world.skill[HONEST[name] :] = FLOOD_SKILL + FLOOD_SPREAD * rng.standard_normal(CROWD[name])
    return world


def alone(world: World, honest: int) -> World:
    """The same league without its crowd."""
    return replace(
        world,
        skill=world.skill[:honest],
        crash=world.crash[:honest],
        plane=world.plane[:honest],
    )


def play(
    make: Callable[[], Ladder],
    world: World,
    matches: int,
    seed: int,
    locks_after: float = np.inf,
) -> tuple[View, NDArray[np.int64]]:
    """The last board, and the games of each entry since uploads locked, if they did."""
    ladder, rng = make(), np.random.default_rng([seed, 1])
    agents = len(world.skill)
    active = np.arange(agents, dtype=np.int32)
    ladder.enter(np.full(agents, -1, np.int32))
    flight, games = Flight(ladder, world, rng), np.zeros(agents, np.int64)
    left = matches
    is_open = True
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
    matches = GAMES[name] * len(world.skill) // SEATS
    locks = matches / 2 if is_locked else np.inf
    board, games = play(LADDERS[ladder], world, matches, seed, locks)
    other, others_games = play(LADDERS[ladder], alone(world, honest), matches, seed, locks)
    true = places(world.skill[:honest])
    medals = medal_classes(places(board.order)) < 3
    return Outcome(
        spearman(places(board.order[:honest]), true),
        spearman(places(other.order), true),
        float(games[:honest].mean() / others_games.mean()),
        float(games[:honest].mean()),
        float(games[honest:].mean()),
        float(medals[honest:].sum() / medals.sum()),
    )


def row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The means of these seasons with standard errors."""
    columns = [
        ([each.order for each in outcomes], 4),
        ([each.order_without for each in outcomes], 4),
        ([each.order_without - each.order for each in outcomes], 4),
        ([each.games_share for each in outcomes], 3),
        ([each.games for each in outcomes], 1),
        ([each.crowd_games for each in outcomes], 1),
        ([each.medals for each in outcomes], 2),
    ]
    return (
        name,
        *(mean_text(values, digits) for values, digits in columns),
    )


def main() -> None:
    """Print a table for each world."""
    parser = seed_parser(__doc__)
    parser.add_argument("--world", action="append", choices=list(HONEST))
    parser.add_argument("--ladder", action="append", choices=list(LADDERS))
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    head = ("ladder", "order", "without", "lost", "games kept", "games", "of crowd", "its medals")
    for name in options.world or HONEST:
        lines: list[Sequence[str]] = [head]
        for ladder in options.ladder or LADDERS:
            lines.append(row(ladder, [compare(name, ladder, seed) for seed in seeds]))
        who = f"{HONEST[name]} honest entries, crowd of {CROWD[name]}, {GAMES[name]} games an entry"
        print(f"{name}: {who}; seeds {seeds[0]}-{seeds[-1]}\n{aligned(lines)}\n", flush=True)


if __name__ == "__main__":
    main()
