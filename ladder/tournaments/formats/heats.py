"""Runs stages of heats and of solo games, and plans heats: who plays in each round, on which seat.

Entrants take turns to sit out, so their numbers of heats differ by at most one. A heat is a set of
entrants; ``even_heats`` chooses them so that everybody meets everybody about equally often.
``color_seats`` gives the seats: each run of as many heats of an entrant as there are seats has each
seat once, so an entrant's seats differ by at most one. That is an edge coloring of a bipartite
graph, which always exists (König, 1916).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.tournaments.formats.plan import Heats, Solo
from ladder.tournaments.formats.records import Key, Pairing, State, draw_order
from ladder.tournaments.formats.stage_run import (
    Place,
    SoloRules,
    StageCourse,
    StageRun,
    is_finished,
    judge_solo,
)

Heat = tuple[int, ...]
"""Entrants by index. Their order is that of the seats, where seats are given."""
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
PASSES: Final = 4
"""How often each round is improved again, after all rounds are planned."""
MOST_SWAPS: Final = 300
"""In one improvement of one round."""


def take_turns(order: Sequence[int], heats: int, seats: int, rounds: int) -> list[list[int]]:
    """Returns who plays in each round: the next ``heats * seats`` in this order, in a circle."""
    many = heats * seats
    return [
        [order[(round * many + n) % len(order)] for n in range(many)] for round in range(rounds)
    ]


def even_heats(players: Sequence[Sequence[int]], seats: int, met: Counts) -> list[list[Heat]]:
    """Returns the heats of each round, with encounters as even as the search finds.

    ``met`` [n, n] counts earlier encounters.
    """
    total = met.astype(np.int64).copy()
    grids = []
    for playing in players:
        grid = np.array(playing, np.int64).reshape(-1, seats)
        _swap_while_better(grid, _encounter_cost(total))
        _count(total, grid, 1)
        grids.append(grid)
    for _ in range(PASSES):
        changed = False
        for grid in grids:
            _count(total, grid, -1)
            changed |= _swap_while_better(grid, _encounter_cost(total))
            _count(total, grid, 1)
        if not changed:
            break
    return [[tuple(row) for row in grid.tolist()] for grid in grids]


def color_seats(rounds: Sequence[Sequence[Heat]], seats: int) -> list[list[Heat]]:
    """Returns the same heats with their entrants by seat."""
    games: dict[int, int] = {}
    at_block: dict[tuple[int, int], list[int]] = {}  # (entrant, block) -> heat by seat, -1: none
    at_heat: list[list[tuple[int, int] | None]] = []  # heat -> block by seat
    for heat in (heat for round in rounds for heat in round):
        at_heat.append([None] * seats)
        number = len(at_heat) - 1
        for entrant in heat:
            block = entrant, games.get(entrant, 0) // seats
            games[entrant] = games.get(entrant, 0) + 1
            mine = at_block.setdefault(block, [-1] * seats)
            free = mine.index(-1)
            two = at_heat[number].index(None)
            if free != two:
                _flip(at_block, at_heat, number, free, two)
            mine[free] = number
            at_heat[number][free] = block
    seated = iter(at_heat)
    return [
        [tuple(block[0] for block in next(seated) if block is not None) for _ in round]
        for round in rounds
    ]


def _flip(
    at_block: dict[tuple[int, int], list[int]],
    at_heat: list[list[tuple[int, int] | None]],
    heat: int,
    first: int,
    second: int,
) -> None:
    """Frees seat ``first`` of the heat: exchanges two seats along the path that begins there."""
    path: list[tuple[int, tuple[int, int], int]] = []
    seat, other = first, second
    while True:
        block = at_heat[heat][seat]
        if block is None:
            break
        path.append((heat, block, seat))
        heat = at_block[block][other]
        if heat < 0:
            break
        path.append((heat, block, other))
    for number, block, held in path:
        at_heat[number][held] = None
        at_block[block][held] = -1
    for number, block, held in path:
        new = second if held == first else first
        at_heat[number][new] = block
        at_block[block][new] = number


def _encounter_cost(met: Counts) -> Floats:
    """Returns what one more encounter adds to the sum of their squares."""
    cost = 2.0 * met.astype(np.float64) + 1.0
    np.fill_diagonal(cost, 0.0)
    return cost


def _count(total: Counts, grid: Counts, by: int) -> None:
    for seat in range(grid.shape[1]):
        for other in range(grid.shape[1]):
            if seat != other:
                total[grid[:, seat], grid[:, other]] += by


def _swap_while_better(grid: Counts, cost: Floats) -> bool:
    """Swaps entrants between heats, the best swap first; returns whether it swapped any."""
    heats, seats = grid.shape
    members = grid.ravel()
    own = cost[np.ix_(members, members)]
    heat = np.repeat(np.arange(heats), seats)
    where = np.arange(len(members))  # the entrant, by its place in `members`, on each chair
    swaps = 0
    while swaps < MOST_SWAPS:
        now = own[np.ix_(where, where)]
        among = np.add.reduceat(now, np.arange(0, len(members), seats), axis=1)
        stay = among[np.arange(len(members)), heat]
        move = among[:, heat]  # chair a's entrant in the heat of chair b
        gain = stay[:, None] + stay[None, :] - move - move.T + 2.0 * now
        gain[heat[:, None] == heat[None, :]] = 0.0
        first, second = divmod(int(np.argmax(gain)), len(members))
        if gain[first, second] <= 1e-9:
            break
        where[[first, second]] = where[[second, first]]
        swaps += 1
    grid[:] = members[where].reshape(heats, seats)
    return swaps > 0


REASON: Final = "Everybody meets everybody as evenly as possible; seats stay even."


def run_heats(run: StageRun, stage: Heats) -> StageCourse:
    """Returns the course of a fixed number of rounds of heats, up to the first unfinished one.

    In each round as many full heats are played as possible.
    """
    rounds: list[list[Pairing]] = []
    planned: list[list[Heat]] = []
    before: list[int] = []
    while len(rounds) < stage.rounds:
        number = len(rounds) + 1
        here = run.here(number)
        if len(here) < stage.seats:
            break
        if here != before:  # somebody withdrew: the rounds that are left are planned again
            planned = [[]] * len(rounds) + _plan(run, stage, rounds, here)
            before = here
        rounds.append(
            [
                run.heat(
                    Place(Key(run.number, number, n), "", f"Round {number}", REASON),
                    tuple(run.field[member] for member in members),
                    stage.heat,
                )
                for n, members in enumerate(planned[len(rounds)], 1)
            ]
        )
        if not is_finished(rounds[-1]):
            return StageCourse(_flat(rounds), False)
    return StageCourse(_flat(rounds), True)


def _flat(rounds: Sequence[Sequence[Pairing]]) -> tuple[Pairing, ...]:
    return tuple(heat for round in rounds for heat in round)


def _plan(
    run: StageRun,
    stage: Heats,
    rounds: Sequence[Sequence[Pairing]],
    here: Sequence[int],
) -> list[list[Heat]]:
    """Plans the rounds that are left; entrants are indices in the field, by seat."""
    met = _encounters(run, rounds)
    order = _order_of_turns(run, rounds, here)
    return _planned_heats(
        order, stage.seats, stage.rounds - len(rounds), met.shape[0], met.tobytes()
    )


def _order_of_turns(
    run: StageRun, rounds: Sequence[Sequence[Pairing]], here: Sequence[int]
) -> tuple[int, ...]:
    """Returns the order in which entrants take turns: fewer heats so far first, then as drawn."""
    games = _games(run, rounds)
    label = run.label(f"heats from round {len(rounds) + 1}")
    drawn = draw_order(run.event.seed, label, [str(entrant) for entrant in here])
    return tuple(sorted((run.seeds[int(entrant)] - 1 for entrant in drawn), key=lambda n: games[n]))


def plans_of_turns(
    run: StageRun, stage: Heats, pairings: Sequence[Pairing]
) -> dict[int, list[set[int]]]:
    """Returns the plans of a stage with these heats; the key is the first round of the plan.

    A plan lists the entrants of its first round and of each later round.
    """
    plans: dict[int, list[set[int]]] = {}
    before: list[int] = []
    last = max((pairing.key.round for pairing in pairings), default=0)
    rounds = [
        [pairing for pairing in pairings if pairing.key.round == n] for n in range(1, last + 1)
    ]
    for number in range(1, last + 1):
        here = run.here(number)
        if here != before:
            order = _order_of_turns(run, rounds[: number - 1], here)
            left = stage.rounds - number + 1
            turns = take_turns(order, len(order) // stage.seats, stage.seats, left)
            plans[number] = [{run.field[n] for n in playing} for playing in turns]
            before = here
    return plans


def missed_heats(run: StageRun, stage: Heats, pairings: Sequence[Pairing]) -> Counter[int]:
    """Counts the later heats that were planned for each entrant when it left."""
    missed: Counter[int] = Counter()
    plans = plans_of_turns(run, stage, pairings)
    for entrant in run.field:
        last = run.gone_after(entrant)
        if last and plans:
            first = max(number for number in plans if number <= last)
            missed[entrant] = sum(entrant in heat for heat in plans[first][last + 1 - first :])
    return missed


@lru_cache(maxsize=64)
def _planned_heats(
    order: tuple[int, ...], seats: int, rounds: int, field: int, met: bytes
) -> list[list[Heat]]:
    """Returns the plan for this order; the search takes long for many entrants, hence the cache."""
    players = take_turns(order, len(order) // seats, seats, rounds)
    before = np.frombuffer(met, np.int64).reshape(field, field)
    return color_seats(even_heats(players, seats, before), seats)


def _games(run: StageRun, rounds: Sequence[Sequence[Pairing]]) -> Counter[int]:
    return Counter(
        run.seeds[number] - 1
        for pairing in _flat(rounds)
        for number in pairing.entrants
        if number is not None
    )


def _encounters(run: StageRun, rounds: Sequence[Sequence[Pairing]]) -> NDArray[np.int64]:
    met = np.zeros((len(run.field), len(run.field)), np.int64)
    for pairing in _flat(rounds):
        members = [run.seeds[number] - 1 for number in pairing.entrants if number is not None]
        for first, second in combinations(members, 2):
            met[first, second] += 1
            met[second, first] += 1
    return met


def run_solo(run: StageRun, stage: Solo) -> StageCourse:
    """Returns the course of solo rounds; after each, the lowest sums of rewards are cut."""
    left = list(run.field)
    rounds: list[list[Pairing]] = []
    for number, cut in enumerate((*stage.cuts, 0), 1):
        round = []
        for n, entrant in enumerate(left, 1):
            key = Key(run.number, number, n)
            rules = SoloRules(stage.games, run.event.seed, run.gone_after(entrant) is not None)
            judged = judge_solo(key, entrant, run.games(key, (entrant,)), rules)
            state = State.READY if judged.outcome is None else State.FINISHED
            place = Place(key, "", f"Round {number}", "All play the same seeds.")
            round.append(
                run.pairing(place, (entrant,), state, judged.outcome, wanted=judged.wanted)
            )
        rounds.append(round)
        if not is_finished(round):
            return StageCourse(_flat(rounds), False)
        left = solo_order(run, round)[:cut]
    return StageCourse(_flat(rounds), True)


def solo_order(run: StageRun, round: Sequence[Pairing]) -> list[int]:
    """Returns the entrants of a finished round, highest reward first; who withdrew is last."""
    here = set(run.here(round[0].key.round + 1))
    outcomes = [pairing.outcome for pairing in round if pairing.outcome is not None]
    points = {item.order[0]: item.scores[0] for item in outcomes}
    return sorted(points, key=lambda item: (item not in here, -points[item], run.seeds[item]))
