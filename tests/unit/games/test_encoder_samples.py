"""Samples from recorded episodes hold the seats' observations and moves."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from games import encoders
from games.episode import states
from games.hungry_geese import GAME, MOVES
from games.protocol import GameError
from tests.unit.games.positions import episode

AGENT = Path(__file__).parents[3] / "agents" / "hungry_geese" / "convolutional" / "main.py"


@pytest.fixture(scope="module")
def network() -> ModuleType:
    spec = importlib.util.spec_from_file_location("convolutional", AGENT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(4))
def test_every_valid_move_gives_one_sample(seed: int) -> None:
    recorded = episode(seed)
    found = list(encoders.encoder_of("hungry_geese").samples(recorded, {0, 2}))
    made = [
        (number, seat, step.moves[seat])
        for number, step in enumerate(recorded.steps)
        for seat in (0, 2)
        if isinstance(step.moves[seat], str)
    ]
    assert [(one.step, one.seat, MOVES[one.move]) for one in found] == made


def test_planes_start_with_the_observing_seat() -> None:
    recorded = episode(5)
    position = list(states(GAME, recorded))
    for one in encoders.encoder_of("hungry_geese").samples(recorded, {1}):
        state = position[one.step]
        assert one.planes.shape == (11, 7, 17)
        for place in range(4):
            goose = state.geese[(1 + place) % 4]
            cells = {cell for cell in range(77) if one.planes[cell % 11, cell // 11, 8 + place]}
            assert cells == set(goose)
            for plane, end in ((place, goose[:1]), (4 + place, goose[-1:])):
                assert [tuple(at) for at in np.argwhere(one.planes[:, :, plane])] == [
                    (cell % 11, cell // 11) for cell in end
                ]
        food = {(cell % 11, cell // 11) for cell in state.food}
        assert {tuple(at) for at in np.argwhere(one.planes[:, :, 16])} == food


def test_the_previous_head_appears_from_the_second_move() -> None:
    recorded = episode(5)
    position = list(states(GAME, recorded))
    first, second, *_ = encoders.encoder_of("hungry_geese").samples(recorded, {0})
    assert not first.planes[:, :, 12:16].any()
    was = position[0].geese[0][0]
    assert second.planes[was % 11, was // 11, 12] == 1


def test_the_trained_agent_computes_the_same_planes(network: ModuleType) -> None:
    recorded = episode(7)
    position = list(states(GAME, recorded))
    past: list[int | None] | None = None
    compared = 0
    for one in encoders.encoder_of("hungry_geese").samples(recorded, {2}):
        seen = GAME.observe(position[one.step], 2)
        own = network.planes(seen["geese"], seen["food"], 2, past, 7, 11)
        assert np.array_equal(own, one.planes)
        past = [goose[0] if goose else None for goose in seen["geese"]]
        compared += 1
    assert compared > 3


@pytest.mark.parametrize("at_head", [False, True])
def test_the_network_is_invariant_under_torus_shifts(
    network: ModuleType, at_head: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = next(encoders.encoder_of("hungry_geese").samples(episode(9), {0}))
    mean = network.scores(one.planes)
    if at_head:
        monkeypatch.setitem(network.WEIGHTS, "at_head", np.ones(1))
    assert np.allclose(network.scores(one.planes), mean) != at_head
    moved = np.roll(one.planes, (4, 3), axis=(0, 1))
    assert np.allclose(network.scores(one.planes), network.scores(moved), atol=1e-3)


def test_a_game_without_planes_is_named() -> None:
    known = "battlesnake, golad, hungry_geese, snake"
    with pytest.raises(GameError, match=f"'chess' has no encoder; games with one: {known}"):
        encoders.encoder_of("chess")
