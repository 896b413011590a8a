"""Planes of Snake: where the snake is, when it leaves each cell, and the apple."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import numpy as np

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
from games.snake import GAME, OFFSETS, State

NAMES: Final = tuple(OFFSETS)


def snake_planes(state: State) -> Planes:
    """Shape (width, height, 4), y downwards: head, body, moves until a cell is left, apple."""
    rules = state.rules
    flat = np.zeros((4, rules.cells), dtype=np.uint8)
    flat[:3] = body_planes(state.snake, rules.cells)
    if state.apple is not None:
        flat[3, state.apple] = 1
    return flat.reshape(4, -1, rules.width).transpose(2, 1, 0)


def legal_moves(state: State) -> Legal:
    """Moves into free cells. The rules allow no other."""
    near = state.rules.next_cell[state.snake[0]]
    return np.array([move in near and near[move] not in state.snake for move in NAMES])


def _samples(episode: Episode, seats: Collection[int]) -> Iterator[Sample]:
    for number, state, seat, move in recorded_moves(GAME, episode, seats):
        yield Sample(seat, number, snake_planes(state), legal_moves(state), NAMES.index(move))


_moves, _answer = direction_move_functions(NAMES)
ENCODER: Final = Encoder(
    game=GAME.name,
    moves=_moves,
    axes="x, y, plane (head, body, moves until left, apple)",
    samples=_samples,
    answer=_answer,
)
