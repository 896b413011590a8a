"""Plays leagues in which a rule of the service matters: ``promises`` prints the figures.

- *medal teams*: uploads lock after one or two games of each of 100 agents. Before, teams of equal
  score counted as one.
- *told as faults*: in a league of two seats, ten agents end each lost game by a crash. Before, a
  fault was left out of the order of the others.
- *failing*: ten agents fail 20 to 40 % of their games, whatever the opponent.
- *slow*: one agent's matches last long, so it could hold many of the places in flight.

Lineups are random, so that the fit alone is measured. The rank error is the mean distance of the
ten agents' ranks from the true ones, with its sign: above 0 they stand too low. Cover is the share
of their 95 % intervals of ranks that hold the true rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating import worlds
from benchmarks.rating.official_ladder import BETA, START, Official
from benchmarks.rating.seasons import TOGETHER
from benchmarks.rating.worlds import Flags, Ints, World
from ladder.ids import EntryId, TeamId
from ladder.leagues.medals import MedalRules
from ladder.ratings.official.fit import fit_season
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.standing import OfficialStanding, build_standing

AGENTS, WATCHED, GAMES = 100, 10, 80
SEATS = (2, 3, 4, 8)
FAILURES = (0.2, 0.4)
SLOW, SLOW_SEATS, ROUNDS = 40, 4, 120
"""Rounds of the scheduler: those that a match of the slow agent lasts, and all."""


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


def most_in_flight(seed: int, limit: int | None) -> int:
    """The most matches in flight of a remote agent whose matches last ``SLOW`` rounds."""
    rng = np.random.default_rng([seed, 3])
    world = worlds.normal(AGENTS, SLOW_SEATS, rng)
    ladder, everybody = Official(SLOW_SEATS), np.arange(AGENTS, dtype=np.int32)
    if limit is not None:
        ladder.most_of_entry[0] = limit
    ladder.enter(np.full(AGENTS, -1, np.int32))
    waiting, most = list[tuple[int, list[int]]](), 0
    for turn in range(ROUNDS):
        places = (ladder.most_in_flight or 0) - len(waiting)
        lineups = ladder.lineups(everybody, places, rng).tolist()
        waiting += [(turn + SLOW * (0 in lineup), lineup) for lineup in lineups]
        most = max(most, sum(0 in lineup for _, lineup in waiting))
        ended = [each for each in waiting if each[0] <= turn][:TOGETHER]
        waiting = [each for each in waiting if each not in ended]
        found = np.array([lineup for _, lineup in ended], np.int32).reshape(-1, SLOW_SEATS)
        ladder.learn(found, *world.play(found, rng))
    return most
