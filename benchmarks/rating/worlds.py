"""Worlds: agents of known strength, and the games they play."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating.online_trueskill import normal_cdf

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Flags = NDArray[np.bool_]

CRASHERS = 0.08
CRASHES = 0.9
"""The share of agents that crash (above), and the share of their games that they crash in."""
CYCLE = 0.2
ANCHOR_SKILLS = (-2.0, 0.0)
COPY_GAPS = (0.01, 0.05)
TIED = 0.05
"""Agents nearer than this are equal in a world with near-copies."""


@dataclass
class World:
    """All agents that ever entered, by number; the world grows as agents arrive.

    ``cycle`` is the spread of pairwise advantages beyond strength (rock, paper, scissors). Agents
    lie in a plane, and each beats those to its right.
    """

    seats: int
    cycle: float
    skill: Floats
    crash: Floats
    plane: Floats
    equal_within: float = 0.0
    anchors: int = 0
    """The last entries of the first day that are reference agents of no team."""

    def play(self, lineups: Ints, rng: np.random.Generator) -> tuple[NDArray[np.int16], Flags]:
        """Ranks from 1 and faults, by seat; crashed seats share the last place."""
        strength = self.skill[lineups]
        if self.cycle:
            strength = strength + self.seat_advantages(lineups)
        shown = strength + rng.standard_normal(lineups.shape)
        faults = rng.random(lineups.shape) < self.crash[lineups]
        shown[faults] = -np.inf
        ranks = 1 + (shown[:, None, :] > shown[:, :, None]).sum(axis=2)
        return ranks.astype(np.int16), faults

    def truth(self, active: Ints) -> Floats:
        """Each agent's strength against a random active opponent."""
        strength = self.skill[active].copy()
        if self.cycle:
            middle = self.plane[active].mean(axis=0)
            mine = self.plane[active]
            edge = mine[:, 0] * middle[1] - mine[:, 1] * middle[0]
            strength += self.cycle / sqrt(2) * edge
        crash = self.crash[active]
        if crash.any():
            grid = np.linspace(-12, 12, 2401)
            score = normal_cdf((grid[:, None] - strength) / sqrt(2)).mean(axis=1)
            own = np.interp(strength[crash > 0], grid, score) * (1 - crash[crash > 0])
            strength[crash > 0] = np.interp(own, score, grid)
        return strength

    def enter(self, parents: Ints, rng: np.random.Generator) -> None:
        """Add new agents (-1), and new versions with nearly the strength of their parents."""
        count = len(parents)
        skill = rng.standard_normal(count)
        changed = self.skill[np.maximum(parents, 0)] + rng.normal(0.1, 0.4, count)
        crash = np.where(rng.random(count) < CRASHERS, CRASHES, 0.0)
        self.skill = np.append(self.skill, np.where(parents < 0, skill, changed))
        self.crash = np.append(self.crash, crash)
        own = rng.standard_normal((count, 2))
        own[parents >= 0] = self.plane[parents[parents >= 0]]
        self.plane = np.concatenate([self.plane, own])

    def seat_advantages(self, lineups: Ints) -> Floats:
        """The advantage of each seat against the field of its game.

        It covers the part of pairs that one number can express, so a duel shows the whole advantage
        of a pair.
        """
        x, y = self.plane[lineups, 0], self.plane[lineups, 1]
        mean_x, mean_y = x.mean(axis=1, keepdims=True), y.mean(axis=1, keepdims=True)
        edge: Floats = self.cycle / sqrt(2) * (x * mean_y - y * mean_x)
        return edge


def normal(
    agents: int, seats: int, rng: np.random.Generator, *, spread: float = 1.0, cycle: float = 0.0
) -> World:
    """Strengths drawn from one normal distribution."""
    return World(
        seats,
        cycle,
        spread * rng.standard_normal(agents),
        np.zeros(agents),
        rng.standard_normal((agents, 2)),
    )


def near_copies(agents: int, seats: int, rng: np.random.Generator) -> World:
    """Families of four whose members lie 0.01 to 0.05 beta apart."""
    world = normal(agents, seats, rng)
    family = world.skill[np.arange(agents) // 4 * 4]
    steps = rng.uniform(*COPY_GAPS, agents) * (np.arange(agents) % 4 > 0)
    for member in (2, 3):
        steps[member::4] += steps[member - 1 :: 4][: len(steps[member::4])]
    return replace(world, skill=family + steps, equal_within=TIED)


def living(agents: int, seats: int, rng: np.random.Generator) -> World:
    """The first day of a living league: some crash, some are unusually strong.

    As many anchors as seats play too, like in a league with the defaults. They are weak and do not
    crash.
    """
    world = normal(agents + seats, seats, rng, cycle=CYCLE)
    world.crash = np.where(rng.random(agents + seats) < CRASHERS, CRASHES, 0.0)
    return with_anchors(world, seats)


def with_anchors(world: World, count: int) -> World:
    """The world whose last entries are anchors, with strengths in the lower half."""
    skill, crash = world.skill.copy(), world.crash.copy()
    skill[-count:], crash[-count:] = np.linspace(*ANCHOR_SKILLS, count), 0.0
    return replace(world, skill=skill, crash=crash, anchors=count)
