"""Estimates how surely a tournament finds the best of its field. Simulates it by the rating model.

In the model an entrant has a skill, known up to a normal error. In a game it performs by this skill
plus luck of deviation 1 (one beta), and the better performance wins. The simulation plays all draws
at once. It simplifies two things: a Swiss stage pairs neighbours in the table without a search, and
equal scores are ordered by game points, then by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ladder.tournaments.formats.elimination import bracket_nodes
from ladder.tournaments.formats.plan import (
    DoubleElimination,
    Gauntlet,
    Groups,
    Heats,
    KnockoutHeats,
    Plan,
    RoundRobin,
    SingleElimination,
    Solo,
    Stage,
    Swiss,
    SwissHeats,
)
from ladder.tournaments.formats.records import Key, Takes
from ladder.tournaments.formats.round_robin import divide_into_groups

DRAWS: Final = 1000
SWISS_DRAWS: Final = 300
"""A Swiss round is paired draw by draw, which is slow."""
GOAL: Final = 0.9
LENGTHS: Final = (1, 2, 3, 5, 7, 9, 13, 19, 25, 35)
"""Numbers of pairs (or of games of a heat) that are tried."""
BUDGET: Final = 1_500_000
"""Draws times the square of the field; larger fields get fewer draws."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Given = TypeVar("Given", bound=Stage)


@dataclass(frozen=True, slots=True)
class Certainty:
    """How surely the best entrant wins."""

    best_wins: float
    """Probability that the entrant with the highest skill wins."""
    error: float
    """Standard error of this probability."""
    needed: int | None
    """Fewest pairs of a series (games of a heat or of a solo round) for 90 %, among those tried;
    None if even the most do not reach it.
    """
    table: tuple[tuple[int, float], ...]
    """Pairs or games, and the probability."""


def how_sure(plan: Plan, mu: Sequence[float], sigma: Sequence[float], seed: int = 1) -> Certainty:
    """Returns the certainty for these skills (in beta, in seed order). The seed fixes the answer.

    It plays up to 1,000 draws for each length, fewer for large fields.
    """
    draws = max(50, min(DRAWS, BUDGET // len(mu) ** 2))
    if any(isinstance(stage, Swiss) for stage in plan.stages):
        draws = min(draws, SWISS_DRAWS)
    rng = np.random.Generator(np.random.PCG64(seed))
    skill = np.asarray(mu) + np.asarray(sigma) * rng.standard_normal((draws, len(mu)))
    best = skill.argmax(axis=1)
    chance = _chance(plan, skill, best, seed)
    table: list[tuple[int, float]] = []
    for length in LENGTHS:
        table.append((length, _chance(_with_length(plan, length), skill, best, seed)))
        if table[-1][1] >= GOAL:
            break
    needed = table[-1][0] if table[-1][1] >= GOAL else None
    error = float(np.sqrt(max(chance * (1 - chance), 1 / draws) / draws))
    return Certainty(chance, error, needed, tuple(table))


def _with_length(plan: Plan, length: int) -> Plan:
    return Plan(tuple(_stage_with_length(stage, length) for stage in plan.stages))


def _stage_with_length(stage: Given, length: int) -> Given:
    if isinstance(stage, Heats | SwissHeats | KnockoutHeats):
        heat = msgspec.structs.replace(stage.heat, games=length)
        return msgspec.structs.replace(stage, heat=heat)
    if isinstance(stage, Solo):
        return msgspec.structs.replace(stage, games=length)
    series = msgspec.structs.replace(stage.series, pairs=length)
    return msgspec.structs.replace(stage, series=series)


def _chance(plan: Plan, skill: Floats, best: Ints, seed: int) -> float:
    world = _World(skill, np.random.Generator(np.random.PCG64(seed + 1)))
    field = np.tile(np.arange(skill.shape[1]), (len(skill), 1))
    for stage in plan.stages:
        field = world.play(stage, field)
    return float((field[:, 0] == best).mean())


class _World:
    """Plays stages in all draws at once. A field is [draws, n]: entrants in seed order."""

    def __init__(self, skill: Floats, rng: np.random.Generator) -> None:
        self._skill = skill
        self._rng = rng
        self._rows = np.arange(len(skill))

    def play(self, stage: Stage, field: Ints) -> Ints:
        """Returns who goes on, best first; all entrants after the last stage."""
        count = field.shape[1]
        going = stage.advance or count
        match stage:
            case SingleElimination() | DoubleElimination():
                order = self._bracket(stage, field)
            case Groups():
                places = [
                    self._table(field[:, [n - 1 for n in group]], stage.cycles, stage.series.pairs)
                    for group in divide_into_groups(range(1, count + 1), stage.groups)
                ]
                return np.stack(
                    [each[:, place] for place in range(going) for each in places], axis=1
                )
            case RoundRobin():
                order = self._table(field, stage.cycles, stage.series.pairs)
            case Gauntlet():
                order = self._table(field, 1, stage.series.pairs, stage)
            case Swiss():
                order = self._swiss(stage, field)
            case Heats() | SwissHeats():
                order = self._heats(stage, field)
            case KnockoutHeats():
                order = self._knockout_heats(stage, field)
            case Solo():
                order = self._solo(stage, field)
        return order[:, :going]

    def _points(self, one: Ints, two: Ints, pairs: int) -> Ints:
        """Returns the games that ``one`` wins in this many pairs, in each draw."""
        return self._rng.binomial(2 * pairs, self._win_chance(one, two))

    def _win_chance(self, one: Ints, two: Ints) -> Floats:
        rows = self._rows.reshape(-1, *(1,) * (one.ndim - 1))
        return _normal_share((self._skill[rows, one] - self._skill[rows, two]) / np.sqrt(2.0))

    def _winner_first(
        self, one: Ints, two: Ints, stage: SingleElimination | DoubleElimination
    ) -> NDArray[np.bool_]:
        """Whether ``one`` wins; ``one`` is the better seed, which wins if all is level."""
        lead = self._points(one, two, stage.series.pairs) - stage.series.pairs
        for _ in range(stage.series.more_pairs):
            more = self._points(one, two, 1) - 1
            lead = np.where(lead == 0, more, lead)
        return np.asarray(lead >= 0)

    def _bracket(self, stage: SingleElimination | DoubleElimination, field: Ints) -> Ints:
        """Returns the champion first; the order of the others is that of the field."""
        count = field.shape[1]
        at: dict[tuple[Key, Takes], Ints] = {}
        champion = unbeaten = field[:, 0]
        for node in bracket_nodes(stage, 1, count):
            sides = []
            for origin in node.origins:
                if origin.key is None:
                    seed = origin.number - 1
                    sides.append(np.full(len(field), seed if seed < count else -1))
                else:
                    sides.append(at[origin.key, origin.takes])
            one, two = sides
            swap = ((two < one) & (two >= 0)) | (one < 0)
            first, second = np.where(swap, two, one), np.where(swap, one, two)
            safe = np.maximum(first, 0), np.maximum(second, 0)
            won = self._winner_first(
                field[self._rows, safe[0]], field[self._rows, safe[1]], stage
            ) | (second < 0)
            if node.is_reset:  # the first place is the loser of the first final
                played = at[node.origins[0].key or node.key, Takes.LOSER] == unbeaten
                won = np.where(played, won, first == two)
            winner, loser = np.where(won, first, second), np.where(won, second, first)
            at[node.key, Takes.WINNER], at[node.key, Takes.LOSER] = winner, loser
            if node.section == "final":
                if not node.is_reset:
                    unbeaten = one
                champion = winner
        rest = np.argsort(np.arange(count) != champion[:, None], axis=1, kind="stable")
        return np.asarray(np.take_along_axis(field, rest, axis=1))

    def _table(
        self, field: Ints, cycles: int, pairs: int, gauntlet: Gauntlet | None = None
    ) -> Ints:
        count = field.shape[1]
        one, two = np.triu_indices(count, 1)
        heads = gauntlet.heads if gauntlet else 0
        if gauntlet:
            met = (one < heads) & (two >= heads)
            one, two = one[met], two[met]
        score = np.zeros(field.shape)
        rows = self._rows[:, None]
        for _ in range(cycles):
            points = self._points(field[:, one], field[:, two], pairs)
            gained = _series_score(points, pairs)
            np.add.at(score, (rows, one[None, :]), gained + 1e-4 * points)
            np.add.at(score, (rows, two[None, :]), 1 - gained + 1e-4 * (2 * pairs - points))
        if gauntlet and gauntlet.by_mean:
            score[:, :heads] /= count - heads
            score[:, heads:] /= heads
        elif gauntlet:  # the others meet fewer opponents
            score[:, heads:] -= count
        return _by_score(field, score)

    def _swiss(self, stage: Swiss, field: Ints) -> Ints:
        count = field.shape[1]
        score = np.zeros(field.shape)
        met = np.zeros((len(field), count, count), np.bool_)
        for _ in range(stage.rounds):
            one, two = self._swiss_pairs(score, met)
            rows = self._rows[:, None]
            points = self._points(field[rows, one], field[rows, two], stage.series.pairs)
            gained = _series_score(points, stage.series.pairs)
            alone = one == two  # the bye
            met[rows, one, two] = met[rows, two, one] = True
            score[rows, one] += np.where(alone, 1.0, gained + 1e-4 * points)
            rest = 1 - gained + 1e-4 * (2 * stage.series.pairs - points)
            score[rows, two] += np.where(alone, 0.0, rest)
        return _by_score(field, score)

    def _swiss_pairs(self, score: Floats, met: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Pairs upper and lower halves of equal scores, and neighbours who have not met."""
        ones, twos = [], []
        for row, order in enumerate(np.argsort(-np.floor(score * 2), axis=1, kind="stable")):
            level = np.floor(score[row] * 2)
            left = order.tolist()
            one, two = [], []
            while len(left) > 1:
                top = left.pop(0)
                equal = 1 + sum(level[each] == level[top] for each in left)
                start = max(0, equal // 2 - 1)
                tried = [*range(start, len(left)), *range(start - 1, -1, -1)]
                pick = next((n for n in tried if not met[row, top, left[n]]), start)
                one.append(top)
                two.append(left.pop(pick))
            if left:
                one.append(left[0])
                two.append(left[0])
            ones.append(one)
            twos.append(two)
        return np.array(ones), np.array(twos)

    def _heats(self, stage: Heats | SwissHeats, field: Ints) -> Ints:
        """Ranks by points per heat; entrants take turns to sit out, in a drawn order."""
        count = field.shape[1]
        many = count // stage.seats * stage.seats
        score, played, mean = np.zeros(field.shape), np.zeros(field.shape), np.zeros(field.shape)
        rows = self._rows[:, None]
        turns = self._rng.permuted(np.tile(np.arange(count), (len(field), 1)), axis=1)
        for round in range(stage.rounds):
            here = np.arange(round * many, (round + 1) * many) % count
            playing = self._rng.permuted(turns[:, here], axis=1)
            if isinstance(stage, SwissHeats):
                near = np.argsort(-mean[rows, playing], axis=1, kind="stable")
                playing = np.take_along_axis(playing, near, axis=1)
            for first in range(0, many, stage.seats):
                members = playing[:, first : first + stage.seats]
                score[rows, members] += self._heat_points(field[rows, members], stage.heat.games)
            played[rows, playing] += 1
            mean = score / np.maximum(played, 1)
        return _by_score(field, mean)

    def _heat_points(self, members: Ints, games: int) -> Floats:
        """Returns the sums of beaten opponents, [draws, members]."""
        skill = self._skill[self._rows[:, None], members]
        total = np.zeros(members.shape)
        for _ in range(games):
            luck = skill + self._rng.standard_normal(members.shape)
            total += luck.argsort(axis=1).argsort(axis=1)
        return total

    def _knockout_heats(self, stage: KnockoutHeats, field: Ints) -> Ints:
        left = field
        while left.shape[1] > stage.seats:
            size = left.shape[1]
            drop = stage.seats - stage.winners
            heats = max(1, min(size // stage.seats, -(-(size - stage.seats) // drop)))
            waiting = size - heats * stage.seats
            goal = max(stage.seats, size - heats * drop)
            score = np.full(left.shape, np.inf)
            groups = divide_into_groups(range(waiting, size), heats)
            for group in groups:
                points = self._heat_points(left[:, group], stage.heat.games)
                place = (-points).argsort(axis=1, kind="stable").argsort(axis=1)
                score[:, group] = -place + 1e-4 * points
            left = _by_score(left, score)[:, :goal]
        return _by_score(left, self._heat_points(left, stage.heat.games))

    def _solo(self, stage: Solo, field: Ints) -> Ints:
        left = field
        for cut in (*stage.cuts, left.shape[1]):
            skill = self._skill[self._rows[:, None], left]
            luck = self._rng.standard_normal(left.shape) * np.sqrt(stage.games)
            left = _by_score(left, skill * stage.games + luck)[:, :cut]
        return left


def _series_score(points: Ints, pairs: int) -> Floats:
    return np.asarray(np.sign(points - pairs) / 2 + 0.5)


def _by_score(field: Ints, score: Floats) -> Ints:
    order = np.argsort(-score, axis=1, kind="stable")
    return np.asarray(np.take_along_axis(field, order, axis=1))


def _normal_share(x: Floats) -> Floats:
    """Returns the share of a normal distribution below x, to 1e-7.

    Source: Abramowitz and Stegun, 26.2.17.
    """
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    tail = (
        np.exp(-(x**2) / 2)
        / np.sqrt(2 * np.pi)
        * t
        * (
            0.319381530
            + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
        )
    )
    return np.asarray(np.where(x >= 0, 1.0 - tail, tail))
