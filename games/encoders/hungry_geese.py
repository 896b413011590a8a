"""Planes of Hungry Geese: each goose's head, tail, body and last head, and the food.

Agents have trained on these planes since the contest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import numpy as np

from games.encoders.samples import (
    Encoder,
    Legal,
    Planes,
    Sample,
    direction_move_functions,
    recorded_moves,
)
from games.episode import Episode
from games.hungry_geese import GAME, MOVES, OPPOSITE, State

NAMES: Final = tuple(MOVES)


def goose_planes(
    observation: Mapping[str, Any], before: Mapping[str, Any] | None, rows: int, columns: int
) -> Planes:
    """Shape (columns, rows, 4 * geese + 1): heads, tails, bodies, last heads, food.

    ``before`` is the observation of the step before. In the first step it is None, and the planes
    of last heads are empty.
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


def legal_moves(state: State, seat: int) -> Legal:
    """Moves that neither turn back nor bite the goose itself. The tail moves away."""
    body, last = state.geese[seat], state.last_moves[seat]
    return np.array(
        [
            last != OPPOSITE[move] and state.rules.next_cell[move][body[0]] not in body[:-1]
            for move in NAMES
        ]
    )


def _samples(episode: Episode, seats: Collection[int]) -> Iterator[Sample]:
    rows, columns = episode.configuration["rows"], episode.configuration["columns"]
    before: dict[int, Mapping[str, Any]] = {}
    for number, state, seat, move in recorded_moves(GAME, episode, seats):
        seen = GAME.observe(state, seat)
        planes = goose_planes(seen, before.get(seat), rows, columns)
        yield Sample(seat, number, planes, legal_moves(state, seat), NAMES.index(move))
        before[seat] = seen


_moves, _answer = direction_move_functions(NAMES)
ENCODER: Final = Encoder(
    game=GAME.name,
    moves=_moves,
    axes="column, row, plane (heads, tails, bodies, last heads of each goose; food)",
    samples=_samples,
    answer=_answer,
)
