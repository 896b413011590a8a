"""Encodes recorded episodes as arrays for training: what a seat saw and what it did.

A sample is one move of one seat. Its planes show the board as the seat sees it: its own things
first, then the others in the order of seats after it.

In Game of Life and Death the second seat sees the board turned by 180 degrees, as its half of the
start is. So both see the same start, and one network plays either seat. Its moves are turned too.
Agents have trained on the planes of Hungry Geese since the contest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from games import battlesnake, golad, hungry_geese, snake
from games.episode import Episode, states
from games.protocol import Game, GameError, Json, S

_GOOSE_MOVES: Final = tuple(hungry_geese.MOVES)
_SNAKE_MOVES: Final = tuple(snake.OFFSETS)
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


def _direction_encoder(
    game: Game[Any],
    moves: tuple[str, ...],
    axes: str,
    samples: Callable[[Episode, Collection[int]], Iterator[Sample]],
) -> Encoder:
    """The encoder of a game whose moves are only these words."""
    return Encoder(game.name, lambda _: moves, axes, samples, lambda _c, _s, move, _r: moves[move])


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


def battlesnake_planes(state: battlesnake.rules.State, seat: int) -> Planes:
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


def battlesnake_moves(state: battlesnake.rules.State, seat: int) -> Legal:
    """Moves that hit neither a wall nor the snake itself. The tail's last cell moves away."""
    rules, body = state.rules, state.bodies[seat]
    ways = [rules.offsets[move] + body[0] for move in battlesnake.rules.MOVES]
    cells = [rules.wraps.get(cell, cell) for cell in ways]
    return np.array([cell not in rules.outside and cell not in body[:-1] for cell in cells])


def _battlesnake_samples(episode: Episode, seats: Collection[int]) -> Iterator[Sample]:
    for number, state, seat, move in recorded_moves(battlesnake.GAME, episode, seats):
        planes, mask = battlesnake_planes(state, seat), battlesnake_moves(state, seat)
        yield Sample(seat, number, planes, mask, battlesnake.rules.MOVES.index(move))


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


def goose_moves(state: hungry_geese.State, seat: int) -> Legal:
    """Moves that neither turn back nor bite the goose itself. The tail moves away."""
    body, last = state.geese[seat], state.last_moves[seat]
    return np.array(
        [
            last != hungry_geese.OPPOSITE[move]
            and state.rules.next_cell[move][body[0]] not in body[:-1]
            for move in _GOOSE_MOVES
        ]
    )


def _goose_samples(episode: Episode, seats: Collection[int]) -> Iterator[Sample]:
    rows, columns = episode.configuration["rows"], episode.configuration["columns"]
    before: dict[int, Mapping[str, Any]] = {}
    for number, state, seat, move in recorded_moves(hungry_geese.GAME, episode, seats):
        seen = hungry_geese.GAME.observe(state, seat)
        planes = goose_planes(seen, before.get(seat), rows, columns)
        yield Sample(seat, number, planes, goose_moves(state, seat), _GOOSE_MOVES.index(move))
        before[seat] = seen


def snake_planes(state: snake.State) -> Planes:
    """Shape (width, height, 4), y downwards: head, body, moves until a cell is left, apple."""
    rules = state.rules
    flat = np.zeros((4, rules.cells), dtype=np.uint8)
    flat[:3] = body_planes(state.snake, rules.cells)
    if state.apple is not None:
        flat[3, state.apple] = 1
    return flat.reshape(4, -1, rules.width).transpose(2, 1, 0)


def snake_moves(state: snake.State) -> Legal:
    """Moves into free cells. The rules allow no other."""
    near = state.rules.next_cell[state.snake[0]]
    return np.array([move in near and near[move] not in state.snake for move in _SNAKE_MOVES])


def _snake_samples(episode: Episode, seats: Collection[int]) -> Iterator[Sample]:
    for number, state, seat, move in recorded_moves(snake.GAME, episode, seats):
        yield Sample(
            seat, number, snake_planes(state), snake_moves(state), _SNAKE_MOVES.index(move)
        )


_NOTHING: Final = (-1, -1)


def cell_planes(state: golad.State, seat: int) -> Planes:
    """Shape (width, height, 2), x to the right and y downwards as the seat sees it."""
    sides = [_cell_array(state.rules, state.cells[side]) for side in (seat, 1 - seat)]
    planes = np.stack(sides, axis=-1)
    return planes[::-1, ::-1] if seat else planes


def golad_moves(state: golad.State, seat: int) -> Legal:
    """Legal moves in the order of ``golad_move_names``.

    A pass is always legal. A kill needs a living cell. A birth needs a dead cell and two cells to
    give up.
    """
    own, other = np.moveaxis(cell_planes(state, seat), -1, 0).astype(bool)
    living = (own | other).T.ravel()  # cells are y * width + x
    births = ~living & (own.sum() >= 2)
    return np.concatenate([[True], living, births])


def golad_move_names(configuration: Mapping[str, Json]) -> tuple[str, ...]:
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
        return 0, _NOTHING
    width, height = configuration["width"], configuration["height"]
    cells = []
    for point in points:
        x, y = map(int, point.split(","))
        cells.append(_rotated_cell(y * width + x, width * height, seat))
    if word == "kill":
        return 1 + cells[0], _NOTHING
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


def _golad_samples(episode: Episode, seats: Collection[int]) -> Iterator[Sample]:
    for number, state, seat, move in recorded_moves(golad.GAME, episode, seats):
        index, rest = encode_move(episode.configuration, seat, move)
        yield Sample(seat, number, cell_planes(state, seat), golad_moves(state, seat), index, rest)


def _cell_array(rules: golad.Rules, side: int) -> Planes:
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


ENCODERS: Final[Mapping[str, Encoder]] = {
    encoder.game: encoder
    for encoder in (
        _direction_encoder(
            battlesnake.GAME,
            battlesnake.rules.MOVES,
            "x, y, plane (heads, bodies, moves until left, health of each snake; food, hazards)",
            _battlesnake_samples,
        ),
        _direction_encoder(
            hungry_geese.GAME,
            _GOOSE_MOVES,
            "column, row, plane (heads, tails, bodies, last heads of each goose; food)",
            _goose_samples,
        ),
        Encoder(
            game=golad.GAME.name,
            moves=golad_move_names,
            axes="x, y, plane (cells of the moving seat, of the other),"
            " turned by 180 degrees for seat 1",
            samples=_golad_samples,
            answer=decode_move,
            rest=("first cell given up", "second cell given up"),
        ),
        _direction_encoder(
            snake.GAME,
            _SNAKE_MOVES,
            "x, y, plane (head, body, moves until left, apple)",
            _snake_samples,
        ),
    )
}


def encoder_of(game: str) -> Encoder:
    """The encoder of this game. Raises GameError naming the games that have one."""
    try:
        return ENCODERS[game]
    except KeyError:
        known = ", ".join(sorted(ENCODERS))
        raise GameError(f"game: {game!r} has no encoder; games with one: {known}") from None
