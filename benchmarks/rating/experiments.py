"""The list of experiments: worlds, the ladders in each, and the numbers of seasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.rating import seasons, worlds
from benchmarks.rating.baselines import (
    View,
    at_random,
    halite_like,
    kaggle_like,
    random_trueskill,
    random_trueskill_still,
)
from benchmarks.rating.official_ladder import Official
from benchmarks.rating.seasons import Ladder, Life
from benchmarks.rating.worlds import Floats, World

TUNED = range(0, 32)
"""Seeds that chose the settings; no table uses them."""
FIRST_PRINTED = 9001

ORDER, LADDER, FINALS = "ours, order", "ours, ladder", "ours, finals"
FIT_ALONE = "random + official fit"
RANDOM, STILL = "random + TrueSkill", "random + TrueSkill, tau 0"
KAGGLE, HALITE = "Kaggle-like", "Halite-like"
ORPHANS = "ours, no parents"

Make = Callable[[World], Ladder]


def _closed(world: World) -> Ladder:
    """Our ladder, with uploads closed from the start."""
    ladder = Official(world.seats)
    ladder.close_uploads()
    return ladder


OURS: Mapping[str, Make] = {
    ORDER: lambda world: Official(world.seats, weight=0.0),
    LADDER: lambda world: Official(world.seats),
    FINALS: _closed,
}
OTHERS: Mapping[str, Make] = {
    FIT_ALONE: lambda world: Official(world.seats, matchmaker=at_random),
    RANDOM: lambda world: random_trueskill(world.seats),
    STILL: lambda world: random_trueskill_still(world.seats),
    KAGGLE: lambda world: kaggle_like(world.seats),
    HALITE: lambda world: halite_like(world.seats),
}
ALL = {**OURS, **OTHERS}
GAMES = (5, 10, 20, 40, 80, 160, 320)
MANY_GAMES = (5, 10, 15, 20, 30, 40, 60, 80, 100, 120, 140, 160, 200, 320)


@dataclass(frozen=True)
class Plan:
    """One world and the ladders to try in it."""

    title: str
    world: Callable[[np.random.Generator], World]
    ladders: Mapping[str, Make]
    games: tuple[int, ...] = GAMES
    """Games per agent at which the board is measured."""
    seeds: int = 8
    seconds: float = 60.0
    """The approximate time for one seed."""
    finals_at: float | None = None
    life: Life | None = None
    bundles: bool = False
    normal_field: tuple[int, int] | None = None
    """Agents and seats, if skills are normal with a deviation of one beta: limits are known."""
    quick: bool = False

    def shorter(self) -> Plan:
        """A shorter form of the plan."""
        life = None if self.life is None else replace(self.life, open_days=9, frozen_days=2)
        return replace(self, games=self.games[:5], seeds=min(self.seeds, 2), life=life)


def _static(agents: int, seats: int, **terms: Any) -> Plan:
    return Plan(
        f"{agents} agents, {seats} seats",
        partial(worlds.normal, agents, seats),
        normal_field=(agents, seats),
        **{"ladders": ALL, **terms},
    )


def _only(*names: str) -> dict[str, Make]:
    return {name: ALL[name] for name in names}


PLANS: Mapping[str, Plan] = {
    "static-100x2": _static(100, 2, seconds=10),
    "static-100x4": _static(100, 4, seconds=10, quick=True),
    "static-100x8": _static(100, 8, seconds=10),
    "static-1000x2": _static(
        1000, 2, games=GAMES[:6], seeds=1, seconds=40, ladders=_only(ORDER, LADDER, RANDOM, KAGGLE)
    ),
    "static-1000x4": _static(1000, 4, games=MANY_GAMES, seeds=6, seconds=90),
    "static-1000x8": _static(
        1000, 8, games=GAMES[:6], seeds=1, seconds=40, ladders=_only(ORDER, LADDER, RANDOM, KAGGLE)
    ),
    "near-copies": Plan(
        "families of four 0.01 to 0.05 beta apart, 100 agents, 4 seats",
        partial(worlds.near_copies, 100, 4),
        _only(ORDER, LADDER, FINALS, RANDOM, KAGGLE),
        seconds=10,
    ),
    "mild": Plan(
        "rock, paper, scissors 0.2 beta, 100 agents, 4 seats",
        partial(worlds.normal, 100, 4, cycle=worlds.CYCLE),
        _only(ORDER, LADDER, FINALS, FIT_ALONE, RANDOM, KAGGLE),
        seconds=10,
    ),
    "geese": Plan(
        "Hungry Geese replica: 879 agents, SD .95, 4 seats, 120 g open and 120 g finals",
        partial(worlds.normal, 879, 4, spread=0.95),
        _only(LADDER, FIT_ALONE, RANDOM, KAGGLE),
        games=(40, 80, 120, 160, 240),
        seeds=3,
        seconds=30,
        finals_at=120,
    ),
    "living": Plan(
        "living league: 120 agents, 2 arrivals and 4 resubmissions a day, 8 % crashers, cycle 0.2",
        partial(worlds.living, 120, 4),
        {
            LADDER: lambda world: Official(world.seats, growth=1.0),
            ORPHANS: lambda world: Official(world.seats, growth=1.0, parents=False),
            FIT_ALONE: lambda world: Official(world.seats, growth=1.0, matchmaker=at_random),
            **_only(RANDOM, KAGGLE, HALITE),
        },
        seconds=60,
        life=Life(),
        quick=True,
    ),
    "bundles": Plan(
        "ten bundles of one agent under ten teams, 100 agents, 4 seats: bytes differ",
        partial(worlds.ten_bundles, 100, 4, equal=False),
        _only(LADDER, RANDOM, KAGGLE),
        games=(40, 80, 160),
        seconds=5,
        bundles=True,
        quick=True,
    ),
    "equal-bundles": Plan(
        "the same, bytes equal",
        partial(worlds.ten_bundles, 100, 4, equal=True),
        {LADDER: lambda world: Official(world.seats, bundle=world.bundle)},
        games=(40, 80, 160),
        seconds=2,
        bundles=True,
    ),
}


@dataclass
class Record:
    """The measures of one season of one ladder."""

    world: str
    ladder: str
    seed: int
    snapshots: list[dict[str, float]] = field(default_factory=list)
    story: dict[str, Any] | None = None
    spread: float | None = None
    """The score change in beta after a permutation of the log and a renumbering of all entries."""
    bundles: dict[str, float] | None = None


def season(name: str, plan: Plan, ladder_name: str, seed: int) -> Record:
    """Play one season and measure it."""
    world = plan.world(np.random.default_rng([seed, 0]))
    ladder = plan.ladders[ladder_name](world)
    record = Record(name, ladder_name, seed)
    if plan.life is not None:
        story = seasons.play_living_season(ladder, world, plan.life, seed)
        record.story = asdict(story)
    else:
        last: list[tuple[View, Floats]] = []
        found = seasons.play_static_season(
            ladder,
            world,
            plan.games,
            seed,
            finals_at=plan.finals_at,
            seen=lambda view, truth: last.append((view, truth)),
        )
        record.snapshots = [asdict(each) for each in found]
        if plan.bundles:
            record.bundles = _luck(*last[-1])
    if isinstance(ladder, Official):
        record.spread = ladder.shuffled_spread(seed)
    return record


def _luck(view: View, truth: Floats) -> dict[str, float]:
    """The luck of ten copies of one agent (the last ten of the league), in beta."""
    off = (view.mu - view.mu.mean() - truth + truth.mean())[-10:]
    sigma = float(view.sigma[-10:].mean())
    return {
        "from_best_to_worst": float(np.ptp(off)),
        "best_above_truth": float(off.max()),
        "sigma": sigma,
        "within": float((np.abs(off - off.mean()) <= 1.96 * view.sigma[-10:]).mean()),
        "gain_by_sigma": 1.54 * sigma,
    }
