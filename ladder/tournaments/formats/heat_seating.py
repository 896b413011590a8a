"""Divides a round's entrants into heats, with even seats and even encounters.

First each entrant gets a seat that it has had least often (a matching, so that each heat will have
every seat once). Then entrants of the same seat change places between heats as long as that lowers
the cost. So the seats stay even, whatever the encounters need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

PASSES: Final = 60
"""Most rounds of improvement; the search ends earlier where nothing improves."""
DISTANCE_WEIGHT: Final = 0.01
"""Cost of a step of distance in the table, squared, against one repeated encounter."""


@dataclass(frozen=True)
class Past:
    """What the entrants of a round did before, by their index."""

    seats: NDArray[np.int64]
    """[n, seats]: games by seat."""
    met: NDArray[np.int64]
    """[n, n]: games against each other."""


def seat_heats(
    past: Past, order: Sequence[int], heats: int, rank: Sequence[int] | None = None
) -> list[tuple[int, ...]]:
    """Returns the heats: each gives the entrants (indices) by seat.

    ``order`` holds the heats * seats entrants who play. With ``rank`` (place in the table of each
    index) neighbours in the table are kept together as well.
    """
    seats = past.seats.shape[1]
    seat_of = assign_even_seats(past.seats, order, heats)
    grid = np.empty((heats, seats), np.int64)
    for seat in range(seats):
        grid[:, seat] = [each for each in order if seat_of[each] == seat]
    place = None
    if rank is not None:
        place = np.asarray(rank, np.float64)
        for seat in range(seats):
            grid[:, seat] = grid[np.argsort(place[grid[:, seat]], kind="stable"), seat]
    _improve(grid, past, place)
    return [tuple(int(each) for each in row) for row in grid]


def assign_even_seats(
    had: NDArray[np.int64], order: Sequence[int], heats: int
) -> Mapping[int, int]:
    """Returns the seat of each entrant, such that each seat is given ``heats`` times.

    Where possible everybody gets a seat that it had least often: a matching by augmenting paths,
    first among these seats, then among those that it had once more, and so on.
    """
    seat_of: dict[int, int] = {}
    taken: list[list[int]] = [[] for _ in range(had.shape[1])]
    for slack in range(int(had.max(initial=0)) + 2):
        for entrant in order:
            if entrant not in seat_of:
                _augment(had, entrant, slack, heats, seat_of, taken)
        if len(seat_of) == len(order):
            return seat_of
    raise AssertionError("with enough slack every seat is allowed")


def _augment(
    had: NDArray[np.int64],
    start: int,
    slack: int,
    heats: int,
    seat_of: dict[int, int],
    taken: list[list[int]],
) -> bool:
    """Seats one more entrant and moves others as needed; returns whether that was possible."""
    came_from: dict[int, tuple[int, int]] = {}  # seat -> (entrant who wants it, its seat now)
    queue = [(start, -1)]
    for entrant, now in queue:
        allowed = np.flatnonzero(had[entrant] <= had[entrant].min() + slack)
        for seat in sorted(allowed.tolist(), key=lambda seat: len(taken[seat])):
            if seat in came_from:
                continue
            came_from[seat] = entrant, now
            if len(taken[seat]) < heats:
                _move_along(seat, came_from, seat_of, taken)
                return True
            queue += [(other, seat) for other in taken[seat]]
    return False


def _move_along(
    seat: int,
    came_from: Mapping[int, tuple[int, int]],
    seat_of: dict[int, int],
    taken: list[list[int]],
) -> None:
    while seat >= 0:
        entrant, before = came_from[seat]
        if before >= 0:
            taken[before].remove(entrant)
        taken[seat].append(entrant)
        seat_of[entrant] = seat
        seat = before


def _improve(grid: NDArray[np.int64], past: Past, place: NDArray[np.float64] | None) -> None:
    """Swaps entrants of the same seat between heats while that lowers the cost.

    The cost of two entrants in a heat is the square of their encounters, plus the square of their
    distance in the table.
    """
    heats, seats = grid.shape
    cost = past.met.astype(np.float64) ** 2 + 2.0 * past.met
    if place is not None:
        apart = (place[:, None] - place[None, :]) / seats
        cost = cost + DISTANCE_WEIGHT * apart**2
    np.fill_diagonal(cost, 0.0)
    for _ in range(PASSES):
        improved = False
        for seat in range(seats):
            members = grid[:, seat]
            others = np.delete(grid, seat, axis=1)
            # with[a, h]: the cost of member a among the others of heat h
            among = cost[members[:, None, None], others[None, :, :]].sum(axis=2)
            improved |= _swap_column(grid, seat, among)
        if not improved:
            return
    assert heats


def _swap_column(grid: NDArray[np.int64], seat: int, among: NDArray[np.float64]) -> bool:
    """Swaps members of one seat, best swap first; returns whether any swap was made."""
    place = np.arange(len(among))  # heat of each member
    swapped = False
    for _ in range(len(among)):
        now = among[np.arange(len(among)), place]
        moved = among[:, place]  # member a in the heat of member b
        gain = now[:, None] + now[None, :] - moved - moved.T
        best = int(np.argmax(gain))
        one, two = divmod(best, len(among))
        if gain[one, two] <= 1e-9:
            break
        place[one], place[two] = place[two], place[one]
        swapped = True
    if swapped:
        column = grid[:, seat].copy()
        grid[place, seat] = column
    return swapped
