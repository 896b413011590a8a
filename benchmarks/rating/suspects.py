"""Plays seasons in which some of 100 accounts collude, and reads the page of suspects.

- *copies*: 100 near-copies flood a league of 100 others. How many of them are in the groups that
  hosts see, and how many honest entries?
- *throw*: the ten strongest come last in each game with their favourite, an entry of the middle.
- *half*: they come last in half of these games.
- *behind*: they come in just behind the favourite whenever they would beat it.
- *ring*: 20 accounts share the first place of each game in which two or more of them sit.
- *tying ring*: the same in a game in which equals tie in a fifth of their meetings.
- *honest*: nobody colludes. Each named entry is a false alarm. These are many seasons, so partners
  are drawn by their true strengths. A third has no ties, a third many, and in a third the best
  share the first place, as in games that end before all is decided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating import crowds, worlds
from benchmarks.rating.baselines import Known, Matchmaker
from benchmarks.rating.official_ladder import BETA, Official, entry_id
from benchmarks.rating.seasons import Flight
from benchmarks.rating.worlds import Flags, Ints, World
from ladder.moderation.suspects import LEAST_SHARE
from ladder.ratings.official.equal_groups import find_equal_groups
from ladder.ratings.official.fit import GROWTH

AGENTS, SEATS, THROWERS, RING = 100, 4, 10, 20
GAMES = (100, 200)
"""Mean games of an entry at which the page is read."""
TIED_WITHIN, TOP = 0.6, 1.3
"""In beta: performances are rounded to this in a game with ties, and count at most this."""
NEARNESS = 0.5
"""In beta: how near partners are in a season of the cheap kind."""


@dataclass
class CollusionWorld(World):
    """A world in which some accounts collude."""

    colluders: tuple[int, ...] = ()
    favourite: int = -1
    thrown: float = 0.0
    """Share of the games with the favourite in which a colluder comes last."""
    stays_behind: bool = False
    tied_within: float = 0.0
    top: float = np.inf

    def play(self, lineups: Ints, rng: np.random.Generator) -> tuple[NDArray[np.int16], Flags]:
        shown = self.skill[lineups] + rng.standard_normal(lineups.shape)
        if self.tied_within:
            shown = np.round(shown / self.tied_within) * self.tied_within
        shown = np.minimum(shown, self.top)
        colludes = np.isin(lineups, self.colluders)
        if self.favourite < 0:
            together = colludes & (colludes.sum(axis=1) > 1)[:, None]
            shown[together] = np.inf
        else:
            is_favourite = lineups == self.favourite
            colludes &= is_favourite.any(axis=1)[:, None]
            shown[colludes & (rng.random(lineups.shape) < self.thrown)] -= 20.0
            if self.stays_behind:
                bound = np.where(is_favourite, shown, -np.inf).max(axis=1, keepdims=True)
                step = np.arange(1, self.seats + 1) * 1e-6
                shown = np.where(colludes & (shown > bound), bound - step, shown)
        ranks = 1 + (shown[:, None, :] > shown[:, :, None]).sum(axis=2)
        return ranks.astype(np.int16), np.zeros(lineups.shape, np.bool_)


def honest_world(seed: int) -> CollusionWorld:
    """One of three kinds, in turn."""
    world = worlds.normal(AGENTS, SEATS, np.random.default_rng([seed, 0]))
    even = CollusionWorld(SEATS, 0.0, world.skill, world.crash, world.plane)
    return (even, replace(even, tied_within=TIED_WITHIN), replace(even, top=TOP))[seed % 3]


def thrown_world(seed: int, thrown: float) -> CollusionWorld:
    """A league in which the strongest throw this share of games with an entry of the middle."""
    world = replace(honest_world(seed), tied_within=0.0, top=np.inf)
    order = np.argsort(-world.skill).tolist()
    return replace(
        world, colluders=tuple(order[:THROWERS]), favourite=order[AGENTS // 2], thrown=thrown
    )


def ring_world(seed: int, tied_within: float) -> CollusionWorld:
    """A league with a ring."""
    ring = np.random.default_rng([seed, 2]).choice(AGENTS, RING, replace=False).tolist()
    world = replace(honest_world(seed), tied_within=tied_within, top=np.inf)
    return replace(world, colluders=tuple(ring))


def world_of(name: str, seed: int) -> CollusionWorld:
    """The world of a row of the table."""
    if name.endswith("ring"):
        return ring_world(seed, TIED_WITHIN if name == "tying ring" else 0.0)
    world = thrown_world(seed, {"throw": 1.0, "half": 0.5, "behind": 0.0}[name])
    return replace(world, stays_behind=name == "behind")


@dataclass(frozen=True)
class Look:
    """The page at one moment of a season."""

    named: float
    """Share of the colluders that are named."""
    others: int
    """Others named."""
    gain: float
    """Score of those who gain, above their strength, in points."""


def play_season(
    world: CollusionWorld, seed: int, matchmaker: Matchmaker | None = None
) -> list[Look]:
    """Play a season and look at the page on the way."""
    growth = GROWTH if matchmaker is None else np.inf
    ladder = Official(SEATS, matchmaker=matchmaker, growth=growth)
    rng = np.random.default_rng([seed, 1])
    active = np.arange(AGENTS, dtype=np.int32)
    ladder.enter(np.full(AGENTS, -1, np.int32))
    flight, played, looks = Flight(ladder, world, rng), 0, []
    for games in GAMES:
        until = games * AGENTS // SEATS
        while played < until:
            played += len(flight.play(active, min(until - played, max(25, played // 20))))
        looks.append(look(ladder, world, active))
    return looks


def by_strength(world: World) -> Matchmaker:
    """Random lineups of entries of about one strength; needs no standing."""

    def pair(known: Known, seats: int, count: int, rng: np.random.Generator) -> Ints:
        agents = len(known.mu)
        lead = rng.permutation(np.arange(count) % agents)
        away = np.abs(world.skill[lead][:, None] - world.skill) / NEARNESS
        order = away - rng.gumbel(size=away.shape)
        order[np.arange(count), lead] = -np.inf
        return np.argsort(order, axis=1)[:, :seats].astype(np.int32)

    return pair


def look(ladder: Official, world: CollusionWorld, active: Ints) -> Look:
    """The page now."""
    view = ladder.view(active)
    number = {entry_id(entry): entry for entry in active.tolist()}
    favourites = {
        number[each.entry_id]: {number[thrower.entry_id] for thrower in each.throwers}
        for each in ladder.suspects.favourites
    }
    gap = BETA * (view.mu - world.skill)
    rest = np.setdiff1d(active, [world.favourite, *world.colluders])
    if world.favourite < 0:
        gainers, expected = list(world.colluders), set(world.colluders)
        named = set(favourites)
    else:
        gainers, expected = [world.favourite], set(world.colluders)
        named = favourites.pop(world.favourite, set[int]()) | set(favourites)
    return Look(
        len(named & expected) / len(expected) if expected else 0.0,
        len(named - expected),
        float(gap[gainers].mean() - gap[rest].mean()) if gainers else 0.0,
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
