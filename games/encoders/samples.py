"""What every encoder gives: samples, each a move of a seat with what the seat saw."""

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
    """Steps played before it."""
    planes: Planes
    """Shape (columns, rows, planes), as the seat sees the board."""
    legal: Legal
    """For each of the encoder's ``moves``, whether the rules take it and it does not by itself end
    the seat at once, whatever the others do. A recorded move need not be among them."""
    move: int
    """Index into the encoder's ``moves``."""
    rest: tuple[int, ...] = ()
    """What else the move says, by the names of the encoder's ``rest``."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """How the episodes of one game become samples, and a choice of moves an answer."""

    game: str
    moves: Callable[[Mapping[str, Json]], tuple[str, ...]]
    """The names of all moves under a configuration, in the order of their numbers."""
    axes: str
    """What the axes of a sample's planes are, in words for the manifest."""
    samples: Callable[[Episode, Collection[int]], Iterator[Sample]]
    """The samples of these seats of an episode, step by step. Raises EpisodeError where the record
    does not fit the rules."""
    answer: Callable[[Mapping[str, Json], int, int, tuple[int, ...]], Json]
    """What a seat answers that chose this move, by its number and its rest."""
    rest: tuple[str, ...] = ()


def direction_moves(moves: tuple[str, ...]) -> tuple[Any, Any]:
    """``moves`` and ``answer`` of a game whose moves are these words alone."""
    return lambda configuration: moves, lambda configuration, seat, move, rest: moves[move]


def recorded_moves(
    game: Game[S], episode: Episode, seats: Collection[int]
) -> Iterator[tuple[int, S, int, str]]:
    """Step, state, seat and move of every move that these seats made; faults are none."""
    played = zip(states(game, episode), episode.steps, strict=False)  # the last has no move
    for number, (state, step) in enumerate(played):
        for seat in game.to_move(state):
            move = step.moves[seat]
            if seat in seats and isinstance(move, str):
                yield number, state, seat, move


def body_planes(body: tuple[int, ...], cells: int) -> NDArray[np.uint8]:
    """Shape (3, cells) of a snake's cells, head first: head, body, and in how many moves it leaves
    a cell if it eats nothing (at most 255). Cells that lie on each other count by the first."""
    planes = np.zeros((3, cells), dtype=np.uint8)
    if body:
        planes[0, body[0]] = 1
        planes[1, list(body)] = 1
        for place in range(len(body) - 1, -1, -1):
            planes[2, body[place]] = min(len(body) - place, 255)
    return planes
