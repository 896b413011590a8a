"""Recorded episodes as arrays to learn from: what a seat saw, and what it did.

A sample is one move of one seat. The planes of Hungry Geese are those that its players have trained
on since the contest: where each goose's head, tail, body and last head are, and the food, the seat
itself first and the others in the order of seats after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from games.episode import Episode, states
from games.hungry_geese import GAME as GEESE
from games.hungry_geese import MOVES as GOOSE_MOVES
from games.protocol import GameError

Planes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Sample:
    """One move of one seat."""

    seat: int
    step: int
    """Steps played before it."""
    planes: Planes
    move: int
    """Index into the encoder's ``moves``."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """How the episodes of one game become samples."""

    moves: tuple[str, ...]
    axes: str
    """What the axes of a sample's planes are, in words for the manifest."""
    samples: Callable[[Episode, Collection[int]], Iterator[Sample]]
    """The samples of these seats of an episode, step by step. Raises EpisodeError where the record
    does not fit the rules."""


def encoder(game: str) -> Encoder:
    """The encoder of this game. Raises GameError naming those there are."""
    try:
        return ENCODERS[game]
    except KeyError:
        known = ", ".join(sorted(ENCODERS))
        raise GameError(f"game: {game!r} cannot be encoded; those that can are {known}") from None


def goose_planes(
    observation: Mapping[str, Any], before: Mapping[str, Any] | None, rows: int, columns: int
) -> Planes:
    """Shape (columns, rows, 4 * geese + 1): heads, tails, bodies, last heads, food.

    ``before`` is the observation of the step before, None in the first: then no head has a past.
    """
    geese = observation["geese"]
    count = len(geese)
    flat = np.zeros((4 * count + 1, rows * columns), dtype=np.uint8)
    for place in range(count):
        seat = (observation["index"] + place) % count
        cells = list(geese[seat])
        if cells:
            flat[place, cells[0]] = 1
            flat[count + place, cells[-1]] = 1
            flat[2 * count + place, cells] = 1
        past = before["geese"][seat] if before is not None else ()
        if past:
            flat[3 * count + place, past[0]] = 1
    flat[4 * count, list(observation["food"])] = 1
    return flat.reshape(4 * count + 1, rows, columns).transpose(2, 1, 0)


def _goose_samples(episode: Episode, seats: Collection[int]) -> Iterator[Sample]:
    rows, columns = episode.configuration["rows"], episode.configuration["columns"]
    before: dict[int, Mapping[str, Any]] = {}
    played = zip(states(GEESE, episode), episode.steps, strict=False)  # the last has no move
    for number, (state, step) in enumerate(played):
        for seat in GEESE.to_move(state):
            move = step.moves[seat]
            if seat in seats and isinstance(move, str):
                seen = GEESE.observe(state, seat)
                planes = goose_planes(seen, before.get(seat), rows, columns)
                yield Sample(seat, number, planes, GOOSE_MOVES.index(move))
                before[seat] = seen


ENCODERS: Final[Mapping[str, Encoder]] = {
    GEESE.name: Encoder(
        moves=tuple(GOOSE_MOVES),
        axes="column, row, plane (heads, tails, bodies, last heads of each goose; food)",
        samples=_goose_samples,
    )
}
