"""Planes of Game of Life and Death: the cells of the moving seat, and those of the other.

The second seat sees the board turned by 180 degrees, as its half of the start is. So both see the
same start, and one network plays either seat. Its moves are turned too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final

import numpy as np

from games.encoders.samples import Encoder, Legal, Planes, Sample, recorded_moves
from games.episode import Episode
from games.golad import GAME, Rules, State
from games.protocol import Json

NOTHING: Final = (-1, -1)


def cell_planes(state: State, seat: int) -> Planes:
    """Shape (width, height, 2), x to the right and y downwards as the seat sees it."""
    sides = [_cell_array(state.rules, state.cells[side]) for side in (seat, 1 - seat)]
    planes = np.stack(sides, axis=-1)
    return planes[::-1, ::-1] if seat else planes


def legal_moves(state: State, seat: int) -> Legal:
    """Legal moves in the order of ``move_names``.

    A pass is always legal. A kill needs a living cell. A birth needs a dead cell and two cells to
    give up.
    """
    own, other = np.moveaxis(cell_planes(state, seat), -1, 0).astype(bool)
    living = (own | other).T.ravel()  # cells are y * width + x
    births = ~living & (own.sum() >= 2)
    return np.concatenate([[True], living, births])


def move_names(configuration: Mapping[str, Json]) -> tuple[str, ...]:
    """``pass``, a kill of each cell, a birth in each cell, row after row."""
    return _move_names(configuration["width"], configuration["height"])


def encode_move(
    configuration: Mapping[str, Json], seat: int, move: str
) -> tuple[int, tuple[int, int]]:
    """The number of a canonical move as its seat sees it, and the two cells that a birth gives up.

    The lower cell comes first. Other moves have -1 twice.
    """
    word, *points = move.split(" ")
    if not points:
        return 0, NOTHING
    width, height = configuration["width"], configuration["height"]
    cells = []
    for point in points:
        x, y = map(int, point.split(","))
        cells.append(_rotated_cell(y * width + x, width * height, seat))
    if word == "kill":
        return 1 + cells[0], NOTHING
    return 1 + width * height + cells[0], (min(cells[1:]), max(cells[1:]))


def decode_move(
    configuration: Mapping[str, Json], seat: int, move: int, rest: tuple[int, ...]
) -> Json:
    """The move as the game takes it: the inverse of ``encode_move``."""
    if move == 0:
        return "pass"
    width, size = configuration["width"], configuration["width"] * configuration["height"]
    word, cell = ("kill", move - 1) if move <= size else ("birth", move - 1 - size)
    cells = [_rotated_cell(one, size, seat) for one in (cell, *(rest if word == "birth" else ()))]
    return " ".join([word, *(f"{one % width},{one // width}" for one in cells)])


def _samples(episode: Episode, seats: Collection[int]) -> Iterator[Sample]:
    for number, state, seat, move in recorded_moves(GAME, episode, seats):
        index, rest = encode_move(episode.configuration, seat, move)
        yield Sample(seat, number, cell_planes(state, seat), legal_moves(state, seat), index, rest)


def _cell_array(rules: Rules, side: int) -> Planes:
    size = rules.stride * rules.height
    packed = np.frombuffer(side.to_bytes(size // 8 + 1, "little"), dtype=np.uint8)
    bits = np.unpackbits(packed, bitorder="little")[:size]
    return bits.reshape(rules.height, rules.stride)[:, : rules.width].T


def _rotated_cell(cell: int, size: int, seat: int) -> int:
    return size - 1 - cell if seat else cell


@lru_cache(maxsize=16)
def _move_names(width: int, height: int) -> tuple[str, ...]:
    points = [f"{x},{y}" for y in range(height) for x in range(width)]
    kinds = ("kill", "birth")
    return ("pass", *(f"{kind} {point}" for kind in kinds for point in points))


ENCODER: Final = Encoder(
    game=GAME.name,
    moves=move_names,
    axes="x, y, plane (cells of the moving seat, of the other), turned by 180 degrees for seat 1",
    samples=_samples,
    answer=decode_move,
    rest=("first cell given up", "second cell given up"),
)
