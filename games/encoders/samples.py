"""The type of a sample, and helpers that the encoders share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.episode import Episode, states
from games.protocol import Game, Json, S

Planes = NDArray[np.uint8]
Legal = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sample:
    """One move of one seat."""

    seat: int
    step: int
    """Steps played before the move."""
    planes: Planes
    """Shape (columns, rows, planes), as the seat sees the board."""
    legal: Legal
    """For each of the encoder's ``moves``: whether the rules allow it and it does not end the
    seat at once by itself. A recorded move may be another one.
    """
    move: int
    """Index into the encoder's ``moves``."""
    rest: tuple[int, ...] = ()
    """Further numbers of the move, named by the encoder's ``rest``."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """Turns episodes of one game into samples, and chosen moves into answers."""

    game: str
    moves: Callable[[Mapping[str, Json]], tuple[str, ...]]
    """The names of all moves under a configuration, in the order of their numbers."""
    axes: str
    """Meaning of the axes of a sample's planes, for the manifest."""
    samples: Callable[[Episode, Collection[int]], Iterator[Sample]]
    """The samples of these seats of an episode, step by step. Raises EpisodeError if the record
    does not fit the rules.
    """
    answer: Callable[[Mapping[str, Json], int, int, tuple[int, ...]], Json]
    """The answer of a seat that chose this move, by its number and its rest."""
    rest: tuple[str, ...] = ()


def direction_move_functions(moves: tuple[str, ...]) -> tuple[Any, Any]:
    """``moves`` and ``answer`` of a game whose moves are only these words."""
    return lambda configuration: moves, lambda configuration, seat, move, rest: moves[move]


def recorded_moves(
    game: Game[S], episode: Episode, seats: Collection[int]
) -> Iterator[tuple[int, S, int, str]]:
    """Step, state, seat and move of every move that these seats made. Faults are left out."""
    played = zip(states(game, episode), episode.steps, strict=False)  # the last state has no move
    for number, (state, step) in enumerate(played):
        for seat in game.to_move(state):
            move = step.moves[seat]
            if seat in seats and isinstance(move, str):
                yield number, state, seat, move


def body_planes(body: tuple[int, ...], cells: int) -> NDArray[np.uint8]:
    """Planes of a snake's cells, head first. Shape (3, cells).

    They are head, body and the moves until it leaves a cell if it eats nothing (at most 255). Of
    cells that lie on each other the first counts.
    """
    planes = np.zeros((3, cells), dtype=np.uint8)
    if body:
        planes[0, body[0]] = 1
        planes[1, list(body)] = 1
        for place in range(len(body) - 1, -1, -1):
            planes[2, body[place]] = min(len(body) - place, 255)
    return planes
