"""Measures how soon a resubmission that is much better or worse than its parent finds its place.

    python -m benchmarks.rating.jumps [--seeds N] [--first-seed N]

Each season has 100 agents with 40 games each. Then six of them send a new version, which plays on
beside the old one: two are 1.5 beta better, two 1.5 beta worse, and two as strong as before. The
tables show the distance of their ranks from the true ones, as a share of the league, by games of
their own. *unknown* is the same season in which no version knows its parent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.rating import worlds
from benchmarks.rating.board_accuracy import places
from benchmarks.rating.figures import mean_text, seed_parser
from benchmarks.rating.official_ladder import Official
from benchmarks.rating.seasons import Flight
from benchmarks.report_tables import aligned

AGENTS, SEATS = 100, 4
BEFORE = 40
"""Games of each agent before the resubmissions."""
JUMPS = (1.5, 1.5, -1.5, -1.5, 0.0, 0.0)
GAMES = (5, 10, 15, 25, 40)


def distances(seed: int, parents: bool) -> dict[tuple[float, int], list[float]]:
    """The distances by jump and own games of one season."""
    rng = np.random.default_rng([seed, 1])
    world = worlds.normal(AGENTS, SEATS, np.random.default_rng([seed, 0]))
    ladder = Official(SEATS, parents=parents)
    active = np.arange(AGENTS, dtype=np.int32)
    ladder.enter(np.full(AGENTS, -1, np.int32))
    flight, played = Flight(ladder, world, rng), 0
    while played < BEFORE * AGENTS // SEATS:
        played += len(flight.play(active, AGENTS // SEATS))
    room = np.flatnonzero(np.abs(world.skill) < 1.0)  # the new version stays in the field's range
    old = rng.choice(room, len(JUMPS), replace=False).astype(np.int32)
    world.skill = np.append(world.skill, world.skill[old] + np.array(JUMPS))
    world.crash = np.append(world.crash, np.zeros(len(JUMPS)))
    world.plane = np.concatenate([world.plane, world.plane[old]])
    ladder.enter(old)
    new = np.arange(AGENTS, AGENTS + len(JUMPS), dtype=np.int32)
    active = np.concatenate([active, new])
    true = places(world.skill)
    games = np.zeros(len(active), np.int64)
    found: dict[tuple[float, int], list[float]] = {}
    seen = set[tuple[int, int]]()
    while games[new].min() < GAMES[-1] and played < 4 * BEFORE * AGENTS:
        lineups = flight.play(active, 4)
        played += len(lineups)
        np.add.at(games, lineups.ravel(), 1)
        due = [
            (n, goal)
            for n, entry in enumerate(new.tolist())
            for goal in GAMES
            if games[entry] >= goal and (n, goal) not in seen
        ]
        if due:
            shown = places(ladder.view(active).order)
        for n, goal in due:
            seen.add((n, goal))
            off = abs(int(shown[new[n]]) - int(true[new[n]])) / len(active)
            found.setdefault((abs(JUMPS[n]), goal), []).append(off)
    return found


def main() -> None:
    """Print the table."""
    options = seed_parser(__doc__).parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    lines: list[Sequence[str]] = [("jump", "parent", *(f"{games} games" for games in GAMES))]
    for parents in (True, False):
        seasons = [distances(seed, parents) for seed in seeds]
        for jump in sorted({abs(each) for each in JUMPS}):
            cells = []
            for games in GAMES:
                off = [float(np.mean(one[jump, games])) for one in seasons if (jump, games) in one]
                cells.append(mean_text(off, 3))
            lines.append((f"{jump} beta", "known" if parents else "unknown", *cells))
    print(f"resubmissions, seeds {seeds[0]}-{seeds[-1]}\n{aligned(lines)}")


if __name__ == "__main__":
    main()
