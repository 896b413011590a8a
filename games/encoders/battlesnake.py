"""Planes of Battlesnake: the living snakes, the moving snake first, then food and hazards."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import numpy as np

from games.battlesnake import GAME
from games.battlesnake.rules import MOVES, State
from games.encoders.samples import (
    Encoder,
    Legal,
    Planes,
    Sample,
    body_planes,
    direction_move_functions,
    recorded_moves,
)
from games.episode import Episode


def snake_planes(state: State, seat: int) -> Planes:
    """Shape (width, height, 4 * snakes + 2), y upwards.

    Each snake has four planes: head, body, moves until it leaves a cell, and health (0 to 100, on
    the whole plane). Two more planes have the food and the number of hazards.

    The snake of the seat comes first, then the others in the order of seats after it. A snake that
    is out has empty planes.
    """
    rules, count = state.rules, len(state.bodies)
    flat = np.zeros((4 * count + 2, len(rules.xy)), dtype=np.uint8)
    for place in range(count):
        other = (seat + place) % count
        if other in state.alive:
            flat[place : 3 * count : count] = body_planes(state.bodies[other], len(rules.xy))
            flat[3 * count + place] = state.health[other]
    flat[4 * count, list(state.food)] = 1
    np.add.at(flat[4 * count + 1], list(state.hazards), 1)
    ringed = flat.reshape(-1, rules.height + 2, rules.width + 2)
    return np.ascontiguousarray(ringed[:, 1:-1, 1:-1]).transpose(2, 1, 0)


def legal_moves(state: State, seat: int) -> Legal:
    """Moves that hit neither a wall nor the snake itself. The tail's last cell moves away."""
    rules, body = state.rules, state.bodies[seat]
    ways = [rules.offsets[move] + body[0] for move in MOVES]
    cells = [rules.wraps.get(cell, cell) for cell in ways]
    return np.array([cell not in rules.outside and cell not in body[:-1] for cell in cells])


def _samples(episode: Episode, seats: Collection[int]) -> Iterator[Sample]:
    for number, state, seat, move in recorded_moves(GAME, episode, seats):
        planes, mask = snake_planes(state, seat), legal_moves(state, seat)
        yield Sample(seat, number, planes, mask, MOVES.index(move))


_moves, _answer = direction_move_functions(MOVES)
ENCODER: Final = Encoder(
    game=GAME.name,
    moves=_moves,
    axes="x, y, plane (heads, bodies, moves until left, health of each snake; food, hazards)",
    samples=_samples,
    answer=_answer,
)
