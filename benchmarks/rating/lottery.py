"""Measures what many uploads of one agent gain: ``python -m benchmarks.rating.lottery``.

A league of agents of fixed strength plays for 20 days with open uploads and for 6 days without. One
team enters the same agent again and again, each time with other bytes. Its rank and score at the
end should be those of one upload.

- *one*: it uploads once.
- *newest*: it uploads five times a day and declares nothing.
- *lucky*: it also declares the entry with the best official score, after each upload. It may do so
  only while that entry stands for it, and the declaration ends when uploads lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.rating import worlds
from benchmarks.rating.figures import mean_text, seed_parser
from benchmarks.rating.official_ladder import BETA, DEFAULTS, Official
from benchmarks.rating.seasons import Flight
from benchmarks.rating.worlds import Ints
from benchmarks.report_tables import aligned

AGENTS = 100
OPEN_DAYS, FINAL_DAYS = 20, 6
UPLOADS = 5
"""Uploads a day of the lottery's team."""
GAMES = 8
"""Games per agent and day."""
SEATS = 4
STRATEGIES = ("one", "newest", "lucky")


@dataclass(frozen=True)
class Outcome:
    """The row of the team at the end."""

    gain_points: float
    """Score minus true strength, on the scale of the others."""
    gain_ranks: float
    """True rank minus rank."""
    score_covered: bool
    rank_covered: bool


def play_season(seed: int, strategy: str, limit: int | None, agents: int = AGENTS) -> Outcome:
    """Play one season; at most ``limit`` entries of the team are active (None: all)."""
    rng = np.random.default_rng([seed, 7])
    world = worlds.normal(agents + SEATS, SEATS, np.random.default_rng([seed, 0]))
    world = worlds.with_anchors(world, SEATS)
    ladder = Official(SEATS, growth=1.0)
    ladder.enter(np.full(agents, -1, np.int32))
    ladder.enter(np.full(SEATS, -1, np.int32), are_anchors=True)
    others = np.arange(agents - 1, dtype=np.int32)
    anchors = np.arange(agents, agents + SEATS, dtype=np.int32)
    own, flight = [agents - 1], Flight(ladder, world, rng)
    for day in range(OPEN_DAYS + FINAL_DAYS):
        if day == OPEN_DAYS:
            ladder.close_uploads()
        for turn in range(UPLOADS):
            active = np.concatenate([others, anchors, own]).astype(np.int32)
            left = round(len(others) * GAMES / UPLOADS / SEATS)
            while left > 0:
                left -= len(flight.play(active, left))
            if day < OPEN_DAYS and strategy != "one" and (day, turn) != (0, 0):
                own.append(_upload(world, ladder, own[-1], rng))
                if strategy == "lucky":
                    _declare_best(ladder, own)
                if limit is not None and len(own) > limit:
                    ladder.declared.discard(own.pop(0))
    ladder.view(np.concatenate([others, anchors, own]).astype(np.int32))
    return _outcome(ladder, world, np.concatenate([others, own]).astype(np.int32), len(others))


def _upload(world: worlds.World, ladder: Official, parent: int, rng: np.random.Generator) -> int:
    world.enter(np.array([parent], np.int32), rng)
    world.skill[-1], world.crash[-1] = world.skill[parent], 0.0
    ladder.enter(np.array([parent], np.int32))
    return len(world.skill) - 1


def _declare_best(ladder: Official, own: Sequence[int]) -> None:
    played = [each for each in own if ladder.games_of(each) > 0]
    best = max(played, key=lambda each: ladder.place_of(each).score, default=own[0])
    if not played or ladder.place_of(best).rank is not None:
        ladder.declared = {best}


def _outcome(ladder: Official, world: worlds.World, active: Ints, others: int) -> Outcome:
    places = [ladder.place_of(entry) for entry in active.tolist()]
    gaps = np.array([place.score for place in places]) - BETA * world.skill[active]
    middle = float(gaps[:others].mean())
    (at,) = (n for n in range(others, len(active)) if places[n].rank is not None)
    place, skill = places[at], world.skill[active[at]]
    true_rank = 1 + int((world.skill[:others] > skill).sum())
    off = float(gaps[at]) - middle
    assert place.rank is not None
    return Outcome(
        off,
        true_rank - place.rank,
        abs(off) <= 1.96 * place.sigma,
        place.rank_low <= true_rank <= place.rank_high,
    )


def row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The means of these seasons with standard errors."""
    columns = [
        [each.gain_points for each in outcomes],
        [each.gain_ranks for each in outcomes],
        [float(each.score_covered) for each in outcomes],
        [float(each.rank_covered) for each in outcomes],
    ]
    digits = (1, 1, 3, 3)
    return (
        name,
        *(mean_text(values, n) for values, n in zip(columns, digits, strict=True)),
    )


def main() -> None:
    """Print the table."""
    parser = seed_parser(__doc__, 20)
    parser.add_argument("--agents", type=int, default=AGENTS)
    parser.add_argument("--limit", type=int, default=DEFAULTS.team_active_limit)
    parser.add_argument("--strategy", action="append", choices=STRATEGIES)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    head = ("uploads", "gain, points", "gain, ranks", "score covered", "rank covered")
    lines: list[Sequence[str]] = [head]
    for strategy in options.strategy or STRATEGIES:
        found = [play_season(seed, strategy, options.limit, options.agents) for seed in seeds]
        lines.append(row(strategy, found))
    few = f"{options.agents} agents, {UPLOADS * OPEN_DAYS} uploads, {options.limit} active"
    print(f"{few}, seeds {seeds[0]}-{seeds[-1]}\n{aligned(lines)}")


if __name__ == "__main__":
    main()
