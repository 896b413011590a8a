"""Measures how soon newcomers find their ranks: improved forks of a popular agent, and jumps.

*Forks*: half of a league are forks of one public agent, all of nearly its strength. Then a dozen
newcomers enter that are a little better than the forks.

*Jumps*: each season has 100 agents with 40 games each. Then six of them send a new version, which
plays on beside the old one: two are 1.5 beta better, two 1.5 beta worse, and two as strong as
before.
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
"""Games of each entry after that, at which the ranks of forks are read."""
AGENTS = 100
JUMPS = (1.5, 1.5, -1.5, -1.5, 0.0, 0.0)
JUMP_GAMES = (5, 10, 15, 25, 40)


def fork_errors(seed: int, *, paced: bool = True) -> list[float]:
    """The mean distance of the improved forks' ranks from the true ones, at each look."""
    rng = np.random.default_rng([seed, 1])
    world = worlds.normal(OTHERS + FORKS + IMPROVED, SEATS, np.random.default_rng([seed, 0]))
    forks = slice(OTHERS, OTHERS + FORKS)
    world.skill[forks] = FORK_SKILL + FORK_SPREAD * rng.standard_normal(FORKS)
    world.skill[OTHERS + FORKS :] = FORK_SKILL + GAIN
    ladder = Official(SEATS, paced=paced)
    flight = Flight(ladder, world, rng)
    everybody = np.arange(OTHERS + FORKS + IMPROVED, dtype=np.int32)
    true = places(world.skill)

    def play_games(count: int, games: int) -> None:
        left = games * count // SEATS
        while left > 0:
            left -= len(flight.play(everybody[:count], min(left, count // SEATS)))

    ladder.enter(np.full(OTHERS + FORKS, -1, np.int32))
    play_games(OTHERS + FORKS, EARLIER_GAMES)
    ladder.enter(np.full(IMPROVED, -1, np.int32))
    errors, played = list[float](), 0
    for look in LOOKS:
        play_games(len(everybody), look - played)
        played = look
        shown = places(ladder.view(everybody).order)
        errors.append(float(np.abs(shown - true)[OTHERS + FORKS :].mean()))
    return errors


def jump_distances(seed: int) -> dict[tuple[float, int], list[float]]:
    """By jump and own games: distances of ranks from the true ones, as shares of the league."""
    rng = np.random.default_rng([seed, 1])
    world = worlds.normal(AGENTS, SEATS, np.random.default_rng([seed, 0]))
    ladder = Official(SEATS)
    active = np.arange(AGENTS, dtype=np.int32)
    ladder.enter(np.full(AGENTS, -1, np.int32))
    flight, played = Flight(ladder, world, rng), 0
    while played < EARLIER_GAMES * AGENTS // SEATS:
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
    distances: dict[tuple[float, int], list[float]] = {}
    seen = set[tuple[int, int]]()
    while games[new].min() < JUMP_GAMES[-1] and played < 4 * EARLIER_GAMES * AGENTS:
        lineups = flight.play(active, 4)
        played += len(lineups)
        np.add.at(games, lineups.ravel(), 1)
        due = [
            (n, goal)
            for n, entry in enumerate(new.tolist())
            for goal in JUMP_GAMES
            if games[entry] >= goal and (n, goal) not in seen
        ]
        if due:
            shown = places(ladder.view(active).order)
        for n, goal in due:
            seen.add((n, goal))
            off = abs(int(shown[new[n]]) - int(true[new[n]])) / len(active)
            distances.setdefault((abs(JUMPS[n]), goal), []).append(off)
    return distances
