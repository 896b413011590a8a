"""Every game's planes, legal moves and move numbers agree with its rules in random games."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import numpy as np
import pytest

from games import GAMES, battlesnake, encoders, golad, hungry_geese, snake
from games.battlesnake.rules import Cause
from games.encoders import Sample
from games.episode import Episode, Step, states
from games.hungry_geese import Ending
from games.protocol import InvalidMove
from tests.unit.games import snakes
from tests.unit.games.test_snake import position as snake_position

ROYALE = {"ruleset": "royale", "map": "royale", "shrinkEveryNTurns": 3, "width": 7, "height": 9}
SMALL = {"width": 5, "height": 6, "startingCells": 8, "maxRounds": 12}
PLAYED: tuple[tuple[str, int, Mapping[str, Any]], ...] = (
    ("battlesnake", 4, {}),
    ("battlesnake", 3, ROYALE),
    ("battlesnake", 2, {"ruleset": "wrapped", "width": 5, "height": 5}),
    ("battlesnake", 2, {"ruleset": "constrictor", "width": 6, "height": 5}),
    ("golad", 2, SMALL),
    ("golad", 2, {"separateStartingCells": False, "maxRounds": 5}),
    ("hungry_geese", 4, {}),
    ("snake", 1, {"width": 4, "height": 5}),
)
every_game = pytest.mark.parametrize(("name", "seats", "overrides"), PLAYED)
PLANES = {"battlesnake": (4, 2), "golad": (0, 2), "hungry_geese": (4, 1), "snake": (0, 4)}
"""The number of planes for each seat, and of common planes."""
MOST = {"battlesnake": 100, "golad": 1, "hungry_geese": 1, "snake": 20}
"""The largest value in a plane."""


def episode(name: str, seats: int, overrides: Mapping[str, Any], seed: int) -> Episode:
    """A recorded game of random moves."""
    game = GAMES[name]
    configuration = game.configure(overrides)
    chance, players = Random(seed), Random(f"players {seed}")
    state, start = game.reset(configuration, seats, chance)
    steps = []
    while asked := game.to_move(state):
        moves = {seat: game.parse(state, seat, game.sample(state, seat, players)) for seat in asked}
        state, event = game.step(state, moves, chance)
        everybody = tuple(moves.get(seat) for seat in range(seats))
        steps.append(Step(everybody, event, (None,) * seats, (None,) * seats))
    outcome = game.outcome(state)
    assert outcome is not None
    verdicts = tuple(map(str, outcome.verdicts))
    return Episode(
        *(name, game.version, configuration, {}, seats, start, tuple(steps)),
        *(outcome.placements, outcome.rewards, verdicts),
    )


def seen(
    name: str, seats: int, overrides: Mapping[str, Any]
) -> Iterator[tuple[Episode, Any, Sample]]:
    """Samples of all seats of some games, each with its state."""
    for seed in range(3):
        recorded = episode(name, seats, overrides, seed)
        position = list(states(GAMES[name], recorded))
        for one in encoders.encoder_of(name).samples(recorded, range(seats)):
            yield recorded, position[one.step], one


def after(recorded: Episode, state: Any, one: Sample, answer: Any) -> Any:
    """The position after the sample's step, with this answer of its seat."""
    game, step = GAMES[recorded.game], recorded.steps[one.step]
    moves = {seat: step.moves[seat] for seat in game.to_move(state)}
    moves[one.seat] = game.parse(state, one.seat, answer)
    return game.step(state, moves, Random(1))[0]


@every_game
def test_planes_have_the_declared_shape_and_type(
    name: str, seats: int, overrides: Mapping[str, Any]
) -> None:
    encoder, made = encoders.encoder_of(name), 0
    for recorded, _, one in seen(name, seats, overrides):
        configuration = recorded.configuration
        sides = ("columns", "rows") if name == "hungry_geese" else ("width", "height")
        width, height = (int(configuration[side]) for side in sides)
        each, besides = PLANES[name]
        assert one.planes.shape == (width, height, each * seats + besides)
        assert one.planes.dtype == np.uint8
        names = encoder.moves(configuration)
        expected = 1 + 2 * width * height if name == "golad" else 4
        assert len(names) == len(set(names)) == expected
        assert one.legal.shape == (expected,)
        assert one.legal.dtype == np.bool_
        assert len(one.rest) == len(encoder.rest)
        assert one.planes.max() <= MOST[name]
        made += 1
    assert made > 3 * seats


@every_game
def test_a_decoded_move_number_gives_the_recorded_position(
    name: str, seats: int, overrides: Mapping[str, Any]
) -> None:
    game, encoder = GAMES[name], encoders.encoder_of(name)
    for recorded, state, one in seen(name, seats, overrides):
        answer = encoder.answer(recorded.configuration, one.seat, one.move, one.rest)
        did = recorded.steps[one.step].moves[one.seat]
        assert one.legal[one.move] or name in {"battlesnake", "hungry_geese"}
        assert game.frame(after(recorded, state, one, answer)) == game.frame(
            after(recorded, state, one, did)
        )


@pytest.mark.parametrize(("name", "seats", "overrides"), [PLAYED[n] for n in (0, 1, 2, 3, 6)])
def test_an_illegal_move_eliminates_the_seat(
    name: str, seats: int, overrides: Mapping[str, Any]
) -> None:
    own = {Cause.WALL, Cause.SELF, Ending.REVERSED, Ending.BIT_ITSELF}
    tried = [0, 0]
    for recorded, state, one in seen(name, seats, overrides):
        for move, is_legal in enumerate(one.legal):
            answer = encoders.encoder_of(name).answer(recorded.configuration, one.seat, move, ())
            then = after(recorded, state, one, answer)
            ends = then.causes if name == "battlesnake" else then.endings
            if is_legal:
                assert ends[one.seat] not in own
            else:
                # A death by hunger or hazards in the same turn has that cause.
                assert ends[one.seat] in own | {Cause.HAZARD, Cause.OUT_OF_HEALTH}
            tried[int(is_legal)] += 1
    assert min(tried) > 10


@pytest.mark.parametrize(("name", "seats", "overrides"), [PLAYED[n] for n in (4, 5, 7)])
def test_the_legal_mask_matches_the_rules(
    name: str, seats: int, overrides: Mapping[str, Any]
) -> None:
    game, encoder = GAMES[name], encoders.encoder_of(name)
    for recorded, state, one in seen(name, seats, overrides):
        rest: tuple[int, ...] = ()
        if name == "golad":
            own = np.flatnonzero(one.planes[..., 0].T)
            rest = tuple(map(int, own[:2])) if len(own) > 1 else (0, 1)
        for move, is_legal in enumerate(one.legal):
            answer = encoder.answer(recorded.configuration, one.seat, move, rest)
            try:
                game.parse(state, one.seat, answer)
            except InvalidMove:
                assert not is_legal, answer
            else:
                assert is_legal, answer


def body(head: Any, left: Any) -> list[tuple[int, ...]]:
    """The cells of a snake, head first, from the planes of its head and of its leaving times."""
    cells = {int(left[at]): at for at in zip(*map(np.ndarray.tolist, left.nonzero()), strict=True)}
    found = [tuple(map(int, at)) for at in np.argwhere(head)]
    assert len(found) <= 1
    for moves in range(max(cells, default=0) - 1, 0, -1):
        found.append(tuple(cells.get(moves, found[-1])))  # stacked on the previous one
    return found


@pytest.mark.parametrize(("name", "seats", "overrides"), PLAYED[:4])
def test_battlesnake_planes_determine_the_position(
    name: str, seats: int, overrides: Mapping[str, Any]
) -> None:
    for _, state, one in seen(name, seats, overrides):
        xy = state.rules.xy
        for place in range(seats):
            seat, is_alive = (one.seat + place) % seats, (one.seat + place) % seats in state.alive
            heads, bodies, left, health = (one.planes[..., place + n * seats] for n in range(4))
            cells = [xy[cell] for cell in state.bodies[seat]] if is_alive else []
            assert body(heads, left) == cells
            assert {tuple(at) for at in np.argwhere(bodies).tolist()} == set(cells)
            assert set(np.unique(bodies)) <= {0, 1}
            assert (health == (state.health[seat] if is_alive else 0)).all()
        for plane, things in ((-2, state.food), (-1, state.hazards)):
            counts = np.zeros_like(one.planes[..., plane])
            for cell in things:
                counts[xy[cell]] += 1
            assert np.array_equal(one.planes[..., plane], counts)


def test_snake_planes_determine_the_position() -> None:
    for _, state, one in seen(*PLAYED[7]):
        frame = snake.GAME.frame(state)
        assert body(one.planes[..., 0], one.planes[..., 2]) == [*map(tuple, frame["snake"])]
        assert [tuple(at) for at in np.argwhere(one.planes[..., 3]).tolist()] == [
            tuple(frame["apple"])
        ]


@pytest.mark.parametrize(("name", "seats", "overrides"), PLAYED[4:6])
def test_golad_planes_determine_the_position(
    name: str, seats: int, overrides: Mapping[str, Any]
) -> None:
    for _, state, one in seen(name, seats, overrides):
        board = one.planes[::-1, ::-1] if one.seat else one.planes
        letters = np.full(board.shape[:2], ".")
        letters[board[..., 0] == 1] = str(one.seat)
        letters[board[..., 1] == 1] = str(1 - one.seat)
        assert ["".join(row) for row in letters.T] == [
            "".join(row) for row in golad.GAME.frame(state)["field"]
        ]
        assert not (board[..., 0] & board[..., 1]).any()


@pytest.mark.parametrize("seed", range(5))
def test_both_golad_seats_see_the_same_start(seed: int) -> None:
    configuration = golad.GAME.configure(SMALL)
    state, _ = golad.GAME.reset(configuration, 2, Random(seed))
    first, second = (encoders.cell_planes(state, seat) for seat in (0, 1))
    assert np.array_equal(first, second)
    assert np.array_equal(encoders.golad_moves(state, 0), encoders.golad_moves(state, 1))
    assert encoders.decode_move(configuration, 0, 1 + 7, (-1, -1)) == "kill 2,1"
    assert encoders.decode_move(configuration, 1, 1 + 7, (-1, -1)) == "kill 2,4"


def test_a_birth_move_encodes_the_cell_and_the_sacrifices() -> None:
    configuration = golad.GAME.configure(SMALL)
    assert encoders.encode_move(configuration, 0, "birth 1,0 4,5 0,2") == (1 + 30 + 1, (10, 29))
    assert encoders.encode_move(configuration, 1, "birth 1,0 4,5 0,2") == (1 + 30 + 28, (0, 19))
    for seat in (0, 1):
        number, rest = encoders.encode_move(configuration, seat, "birth 1,0 4,5 0,2")
        back = encoders.decode_move(configuration, seat, number, rest)
        assert back in {"birth 1,0 4,5 0,2", "birth 1,0 0,2 4,5"}
        name = encoders.golad_move_names(configuration)[number]
        assert name == ("birth 1,0" if seat == 0 else "birth 3,5")


@pytest.mark.parametrize(("name", "seats", "overrides"), PLAYED[:4])
def test_a_mirrored_battlesnake_board_has_mirrored_planes(
    name: str, seats: int, overrides: Mapping[str, Any]
) -> None:
    for _, state, one in seen(name, seats, overrides):
        rules = state.rules

        def across(cells: tuple[int, ...], rules: Any = rules) -> tuple[int, ...]:
            return tuple(
                rules.cell(rules.width - 1 - rules.xy[c][0], rules.xy[c][1]) for c in cells
            )

        mirrored = state._replace(
            bodies=tuple(map(across, state.bodies)),
            food=across(state.food),
            hazards=across(state.hazards),
        )
        assert np.array_equal(encoders.battlesnake_planes(mirrored, one.seat), one.planes[::-1])
        assert np.array_equal(
            encoders.battlesnake_moves(mirrored, one.seat), one.legal[[0, 1, 3, 2]]
        )


def test_a_mirrored_snake_board_has_mirrored_planes() -> None:
    for _, state, one in seen(*PLAYED[7]):
        width = state.rules.width
        flipped = [cell - cell % width + width - 1 - cell % width for cell in state.snake]
        apple = state.apple - state.apple % width + width - 1 - state.apple % width
        mirrored = state._replace(snake=tuple(flipped), apple=apple)
        assert np.array_equal(encoders.snake_planes(mirrored), one.planes[::-1])
        assert np.array_equal(encoders.snake_moves(mirrored), one.legal[[0, 1, 3, 2]])


def test_a_shifted_hungry_geese_board_has_shifted_planes() -> None:
    for _, state, one in seen(*PLAYED[6]):
        shifted = state._replace(
            geese=tuple(tuple(map(_shifted, goose)) for goose in state.geese),
            food=tuple(map(_shifted, state.food)),
        )
        here, there = (
            encoders.goose_planes(hungry_geese.GAME.observe(at, one.seat), None, 7, 11)
            for at in (state, shifted)
        )
        assert np.array_equal(np.roll(here, (3, 2), axis=(0, 1)), there)
        assert np.array_equal(encoders.goose_moves(shifted, one.seat), one.legal)


def _shifted(cell: int) -> int:
    return (cell // 11 + 2) % 7 * 11 + (cell % 11 + 3) % 11


def test_a_known_battlesnake_position_has_the_expected_planes() -> None:
    state = snakes.position(
        [(1, 2), (1, 1), (0, 1)],
        [(4, 4), (4, 4), (4, 4)],
        health=(50, 100),
        food=[(2, 2)],
        hazards=[(0, 0), (0, 0), (4, 0)],
        width=5,
        height=6,
    )
    found = encoders.battlesnake_planes(state, 1)
    assert found.shape == (5, 6, 10)
    assert [(found[4, 4, n], found[1, 2, n]) for n in (0, 1)] == [(1, 0), (0, 1)]
    assert (found[4, 4, 4], found[1, 2, 5], found[1, 1, 5], found[0, 1, 5]) == (3, 3, 2, 1)
    assert (found[3, 3, 6], found[3, 3, 7]) == (100, 50)
    assert (found[2, 2, 8], found[0, 0, 9], found[4, 0, 9]) == (1, 2, 1)
    assert list(encoders.battlesnake_moves(state, 0)) == [True, False, True, True]
    assert list(encoders.battlesnake_moves(state, 1)) == [True, True, True, False]


def test_a_known_snake_position_has_the_expected_planes() -> None:
    found = encoders.snake_planes(snake_position([(1, 0), (0, 0), (0, 1)], (3, 2)))
    assert found[:, :, 2].T.tolist() == [[2, 3, 0, 0], [1, 0, 0, 0], [0] * 4, [0] * 4]
    assert np.argwhere(found[:, :, 0]).tolist() == [[1, 0]]
    assert np.argwhere(found[:, :, 3]).tolist() == [[3, 2]]


def test_a_full_snake_board_has_no_apple_plane() -> None:
    assert not encoders.snake_planes(snake_position([(0, 0)], None))[:, :, 3].any()


def test_every_built_in_game_has_an_encoder() -> None:
    assert set(encoders.ENCODERS) == set(GAMES)
    for name, game in ((module.GAME.name, module.GAME) for module in (battlesnake, golad, snake)):
        assert GAMES[name] is game
