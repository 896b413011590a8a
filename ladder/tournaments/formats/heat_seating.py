"""Plans heats: who plays in each round, in which heat and on which seat. Pure.

Entrants take turns to sit out, so their numbers of heats differ by at most one. A heat is a set of
entrants; ``even_heats`` chooses them so that everybody meets everybody about equally often.
``color_seats`` gives the seats: each run of as many heats of an entrant as there are seats has each
seat once, so an entrant's seats differ by at most one. That is an edge coloring of a bipartite
graph, which always exists (König, 1916).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
            one = mine.index(-1)
            two = at_heat[number].index(None)
            if one != two:
                _flip(at_block, at_heat, number, one, two)
            mine[one] = number
            at_heat[number][one] = block
    seated = iter(at_heat)
    return [
        [tuple(block[0] for block in next(seated) if block is not None) for _ in round]
        for round in rounds
    ]


def _flip(
    at_block: dict[tuple[int, int], list[int]],
    at_heat: list[list[tuple[int, int] | None]],
    heat: int,
    one: int,
    two: int,
) -> None:
    """Frees seat ``one`` of the heat: exchanges two seats along the path that begins there."""
    path: list[tuple[int, tuple[int, int], int]] = []
    seat, other = one, two
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
        new = two if held == one else one
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
        one, two = divmod(int(np.argmax(gain)), len(members))
        if gain[one, two] <= 1e-9:
            break
        where[[one, two]] = where[[two, one]]
        swaps += 1
    grid[:] = members[where].reshape(heats, seats)
    return swaps > 0
