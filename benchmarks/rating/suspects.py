"""Measures what the page of suspects finds: ``python -m benchmarks.rating.suspects``.

- *copies*: 100 near-copies flood a league of 100 others. How many of them are in the groups that
  hosts see, and how many honest entries?
- *throwers*: the ten strongest of 100 entries come last in each game with their favourite, an entry
  of the middle. How many of them are named, how many others, and what does the favourite
  gain?
- *honest*: nobody throws. Each named favourite is a false alarm.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating import crowds, worlds
from benchmarks.rating.experiments import FIRST_PRINTED
from benchmarks.rating.official_ladder import BETA, Official, entry_id
from benchmarks.rating.seasons import Flight
from benchmarks.rating.worlds import Flags, Ints, World
from benchmarks.report_tables import aligned
from ladder.moderation.suspects import LEAST_SHARE
from ladder.ratings.official.equal_groups import find_equal_groups

AGENTS, SEATS, THROWERS = 100, 4, 10
GAMES = (100, 200, 300)
"""Mean games of an entry at which the page is read."""


@dataclass
class ThrowersWorld(World):
    """A world in which some entries throw their games with a favourite."""

    throwers: tuple[int, ...] = ()
    favourite: int = -1

    def play(self, lineups: Ints, rng: np.random.Generator) -> tuple[NDArray[np.int16], Flags]:
        shown = self.skill[lineups] + rng.standard_normal(lineups.shape)
        together = (lineups == self.favourite).any(axis=1)[:, None]
        shown[together & np.isin(lineups, self.throwers)] -= 20.0
        ranks = 1 + (shown[:, None, :] > shown[:, :, None]).sum(axis=2)
        return ranks.astype(np.int16), np.zeros(lineups.shape, np.bool_)


@dataclass(frozen=True)
class Look:
    """The page at one moment of a season."""

    named: int
    """Throwers named."""
    others: int
    """Others named as throwers of the favourite."""
    false_favourites: int
    gain: float
    """Score of the favourite above its strength, in points."""


def honest_world(seed: int) -> World:
    return worlds.normal(AGENTS, SEATS, np.random.default_rng([seed, 0]))


def thrown_world(seed: int) -> ThrowersWorld:
    """The league of ``honest_world``, in which the strongest throw."""
    world = honest_world(seed)
    order = np.argsort(-world.skill)
    return ThrowersWorld(
        SEATS,
        0.0,
        world.skill,
        world.crash,
        world.plane,
        throwers=tuple(order[:THROWERS].tolist()),
        favourite=int(order[AGENTS // 2]),
    )


def play_season(world: World, seed: int) -> list[Look]:
    """Play a season and look at the page on the way."""
    ladder, rng = Official(SEATS), np.random.default_rng([seed, 1])
    active = np.arange(AGENTS, dtype=np.int32)
    ladder.enter(np.full(AGENTS, -1, np.int32))
    flight, played, looks = Flight(ladder, world, rng), 0, []
    for games in GAMES:
        until = games * AGENTS // SEATS
        while played < until:
            played += len(flight.play(active, min(until - played, max(25, played // 20))))
        looks.append(look(ladder, world, active))
    return looks


def look(ladder: Official, world: World, active: Ints) -> Look:
    """The page now."""
    view = ladder.view(active)
    found = ladder.suspects.favourites
    throwers = set(world.throwers) if isinstance(world, ThrowersWorld) else set()
    favourite = world.favourite if isinstance(world, ThrowersWorld) else -1
    number = {entry_id(entry): entry for entry in active.tolist()}
    named = {
        number[each.entry_id]
        for suspect in found
        if number[suspect.entry_id] == favourite
        for each in suspect.throwers
    }
    gap = view.mu - world.skill
    others = np.setdiff1d(np.arange(AGENTS), [favourite, *throwers])
    return Look(
        len(named & throwers),
        len(named - throwers),
        sum(1 for each in found if number[each.entry_id] != favourite),
        float(BETA * (gap[favourite] - gap[others].mean())) if favourite >= 0 else 0.0,
    )


def copies_named(seed: int) -> tuple[float, float]:
    """Copies and honest entries in the groups that hosts see."""
    world = crowds.crowded("flood", seed)
    matches = crowds.GAMES["flood"] * len(world.skill) // SEATS
    board, _ = crowds.play(crowds.LADDERS["ours"], world, matches, seed)
    groups = find_equal_groups(board.mu, board.sigma)
    named = [member for group in groups if group.share >= LEAST_SHARE for member in group.members]
    copies = sum(1 for member in named if member >= crowds.HONEST["flood"])
    return float(copies), float(len(named) - copies)


def text(values: Sequence[float], digits: int = 1) -> str:
    """A mean with its standard error."""
    return f"{np.mean(values):.{digits}f} ±{np.std(values, ddof=1) / sqrt(len(values)):.{digits}f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--honest-seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=FIRST_PRINTED)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    few = f"seeds {seeds[0]}-{seeds[-1]}"
    copies, honest = zip(*map(copies_named, seeds), strict=True)
    print(f"copies, {few}: named {text(copies)} of 100, and {text(honest)} of 100 honest entries")
    seasons = [play_season(thrown_world(seed), seed) for seed in seeds]
    head = ("games", "named of 10", "least", "others", "favourites besides", "gain, points")
    lines: list[Sequence[str]] = [head]
    for n, games in enumerate(GAMES):
        looks = [season[n] for season in seasons]
        lines.append(
            (
                str(games),
                text([each.named for each in looks]),
                str(min(each.named for each in looks)),
                text([each.others for each in looks]),
                text([each.false_favourites for each in looks], 2),
                text([each.gain for each in looks]),
            )
        )
    print(f"\nthrowers, {AGENTS} agents, {few}\n{aligned(lines)}", flush=True)
    seeds = range(options.first_seed, options.first_seed + options.honest_seeds)
    quiet = [play_season(honest_world(seed), seed) for seed in seeds]
    alarms = [sum(each.false_favourites for each in season) for season in quiet]
    few = f"seeds {seeds[0]}-{seeds[-1]}"
    print(f"\nhonest, {few}: {sum(alarms)} false alarms in {len(quiet)} seasons")


if __name__ == "__main__":
    main()
