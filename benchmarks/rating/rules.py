"""Measures rules of counting: medal teams at an early lock, and faults in the order.

    python -m benchmarks.rating.rules [--seeds N]

- *medal teams*: uploads lock after one or two games of each of 100 agents. Before, teams of equal
  score counted as one.
- *told as faults*: in a league of two seats, ten agents end each lost game by a crash. Before, a
  fault was left out of the order of the others.
- *failing*: ten agents fail 20 to 40 % of their games, whatever the opponent.

Lineups are random, so that the fit alone is measured. The rank error is the mean distance of the
ten agents' ranks from the true ones, with its sign: above 0 they stand too low. Cover is the share
of their 95 % intervals of ranks that hold the true rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating import worlds
from benchmarks.rating.figures import mean_text, seed_parser
from benchmarks.rating.official_ladder import BETA, START
from benchmarks.rating.worlds import Flags, Ints, World
from benchmarks.report_tables import aligned
from ladder.ids import EntryId, TeamId
from ladder.leagues.medals import MedalRules
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.season_fit import fit_season
from ladder.ratings.official.standing import OfficialStanding, build_standing

AGENTS, WATCHED, GAMES = 100, 10, 80
SEATS = (2, 3, 4, 8)
FAILURES = (0.2, 0.4)


@dataclass(frozen=True)
class Outcome:
    """The watched agents at the end of a season."""

    error: float
    cover: float


def draw_lineups(world: World, games: int, rng: np.random.Generator) -> Ints:
    """Random lineups in which each agent plays about this often."""
    agents, seats = len(world.skill), world.seats
    rounds = [rng.permutation(agents)[: agents // seats * seats] for _ in range(games)]
    return np.concatenate(rounds).reshape(-1, seats).astype(np.int32)


def standing_of(games: GameTable, *, is_before: bool, seed: int = 0) -> OfficialStanding:
    """The standing by the rules, or by those before."""
    fit = fit_season(games, np.full(AGENTS, -1, np.int32), faults_are_losses=not is_before)
    playing = set(games.contenders.ravel().tolist())
    entrants = [
        Entrant(
            EntryId(f"ent_{n:03d}"),
            TeamId(f"tea_{n}"),
            n if n in playing else -1,
            -1,
            is_anchor=False,
            games=GAMES,
        )
        for n in range(AGENTS)
    ]
    return build_standing(
        fit,
        entrants,
        mu0=START,
        beta=BETA,
        seed=seed,
        boundary_weight=0.1,
        rules=MedalRules(),
        equal_scores_count_once=is_before,
    )


def count_medal_teams(seats: int, games: int, seed: int, *, is_before: bool) -> int:
    """The number of teams that is fixed when uploads lock after these games of each agent."""
    rng = np.random.default_rng([seed, 0])
    world = worlds.normal(AGENTS, seats, rng)
    lineups = draw_lineups(world, games, rng)
    ranks, faults = world.play(lineups, rng)
    return standing_of(GameTable(lineups, ranks, faults), is_before=is_before).teams


def play_faults(seats: int, seed: int, *, tells_losses: bool, is_before: bool) -> Outcome:
    """One season with agents whose faults are their losses, or that fail at random."""
    rng = np.random.default_rng([seed, 2])
    world = worlds.normal(AGENTS, seats, rng)
    watched = np.arange(WATCHED)
    if not tells_losses:
        world.crash[watched] = rng.uniform(*FAILURES, WATCHED)
    lineups = draw_lineups(world, GAMES, rng)
    ranks, faults = world.play(lineups, rng)
    if tells_losses:
        faults = _told_losses(lineups, ranks, faults)
    standing = standing_of(GameTable(lineups, ranks, faults), is_before=is_before, seed=seed)
    truth = world.truth(np.arange(AGENTS, dtype=np.int32))
    true = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    places = [standing.places[n] for n in watched.tolist()]
    scores = np.array([place.score for place in standing.places])
    ranked = 1 + (scores[None, :] > scores[:, None]).sum(axis=1)
    inside = [
        place.rank_low <= rank <= place.rank_high
        for place, rank in zip(places, true[watched].tolist(), strict=True)
    ]
    return Outcome(float((ranked - true)[watched].mean()), float(np.mean(inside)))


def _told_losses(lineups: Ints, ranks: NDArray[np.int16], faults: Flags) -> Flags:
    is_last: Flags = ranks == ranks.max(axis=1, keepdims=True)
    of_watched: Flags = lineups < WATCHED
    return np.logical_or(faults, np.logical_and(is_last, of_watched))


def main() -> None:
    """Print a table for each rule."""
    options = seed_parser(__doc__).parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    lines: list[Sequence[str]] = [("seats", "games", "before", "ours")]
    for seats in SEATS:
        for games in (1, 2):
            found = [
                [count_medal_teams(seats, games, seed, is_before=before) for seed in seeds]
                for before in (True, False)
            ]
            lines.append((str(seats), str(games), *(mean_text(each, 1) for each in found)))
    print(f"medal teams of {AGENTS}; seeds {seeds[0]}-{seeds[-1]}\n{aligned(lines)}\n", flush=True)
    lines = [("league", "ladder", "rank error", "cover")]
    for seats, tells_losses, name in (
        (2, True, "2 seats, losses told as faults"),
        (2, False, "2 seats, failing"),
        (4, False, "4 seats, failing"),
    ):
        for before in (True, False):
            played = [
                play_faults(seats, seed, tells_losses=tells_losses, is_before=before)
                for seed in seeds
            ]
            errors, covers = [one.error for one in played], [one.cover for one in played]
            ladder = "before" if before else "ours"
            lines.append((name, ladder, mean_text(errors, 1), mean_text(covers, 2)))
    who = f"{WATCHED} of {AGENTS} agents, {GAMES} games each"
    print(f"faults: {who}; seeds {seeds[0]}-{seeds[-1]}\n{aligned(lines)}")


if __name__ == "__main__":
    main()
