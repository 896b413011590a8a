"""Measures how soon improved forks of a popular agent find their rank.

    python -m benchmarks.rating.forks [--seeds N]

Half of a league are forks of one public agent, all of nearly its strength. Then a dozen newcomers
enter that are a little better than the forks. The rank error is the mean distance of their ranks
from the true ones. *before* pairs as if no entry failed and no group existed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.rating import worlds
from benchmarks.rating.board_accuracy import places
from benchmarks.rating.figures import mean_text, seed_parser
from benchmarks.rating.official_ladder import Official
from benchmarks.rating.seasons import Flight
from benchmarks.report_tables import aligned

SEATS = 4
OTHERS, FORKS, IMPROVED = 60, 60, 12
FORK_SKILL, FORK_SPREAD, GAIN = 0.5, 0.005, 0.3
"""In beta."""
EARLIER_GAMES = 40
"""Games of each entry before the newcomers enter."""
LOOKS = (40, 90)
"""Games of each entry after that, at which the ranks are read."""

LADDERS: Mapping[str, Callable[[], Official]] = {
    "ours": lambda: Official(SEATS),
    "ours, before": lambda: Official(SEATS, paced=False),
}


def play(ladder_name: str, seed: int) -> list[tuple[float, float]]:
    """The rank error of the newcomers and their games at each look."""
    rng = np.random.default_rng([seed, 1])
    world = worlds.normal(OTHERS + FORKS + IMPROVED, SEATS, np.random.default_rng([seed, 0]))
    forks = slice(OTHERS, OTHERS + FORKS)
    world.skill[forks] = FORK_SKILL + FORK_SPREAD * rng.standard_normal(FORKS)
    world.skill[OTHERS + FORKS :] = FORK_SKILL + GAIN
    ladder = LADDERS[ladder_name]()
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


def row(name: str, seasons: Sequence[Sequence[tuple[float, float]]]) -> tuple[str, ...]:
    """The means of these seasons with standard errors."""
    columns = [[season[look][kind] for season in seasons] for look in (0, 1) for kind in (0, 1)]
    return (
        name,
        *(mean_text(values, 1) for values in columns),
    )


def main() -> None:
    """Print the table."""
    options = seed_parser(__doc__).parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    heads = [head for look in LOOKS for head in (f"error at {look} games", "own games")]
    lines: list[Sequence[str]] = [("ladder", *heads)]
    for name in LADDERS:
        lines.append(row(name, [play(name, seed) for seed in seeds]))
    who = f"{OTHERS} others, {FORKS} forks, {IMPROVED} newcomers {GAIN} beta better"
    print(f"forks: {who}; seeds {seeds[0]}-{seeds[-1]}\n{aligned(lines)}")


if __name__ == "__main__":
    main()
