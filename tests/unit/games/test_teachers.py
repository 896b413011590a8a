"""The script that measures how well the reference geese can be imitated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from games.hungry_geese import GAME, MOVES
from tests.unit.games.positions import play as careless_play
from training import imitation_limits
from training.imitation_limits import BOTH, NAMES, TEACHERS, Teacher, mirrored

FIELD = ("survivor", "numpy_heuristic", "greedy", "random_legal")


@pytest.mark.parametrize(("across", "down"), BOTH)
def test_a_mirrored_position_plays_like_the_original(across: bool, down: bool) -> None:
    states, events, moves = careless_play(GAME.configure({}), 4, 3)
    for state, after, asked in zip(states, states[1:], moves, strict=False):
        image = mirrored(state, across, down)
        assert mirrored(image, across, down) == state
        if after.food != state.food:
            continue  # new food is placed without mirroring
        turned = {
            seat: imitation_limits._turned(move, across, down) if move in MOVES else move
            for seat, move in asked.items()
        }
        then, _ = GAME.step(image, turned, {"food": []})
        assert then.geese == mirrored(after, across, down).geese
    assert events


@pytest.mark.parametrize("name", ["survivor", "numpy_heuristic"])
def test_a_teachers_opinion_is_the_played_move(name: str) -> None:
    fresh = Teacher(name, GAME.configure({}), 1)
    number = TEACHERS.index(name)
    asked = [one for one in imitation_limits.play_games(1, 5, FIELD) if one.teacher == number]
    assert len(asked) > 10
    for one in asked[::3]:
        assert fresh.move_at_position(one.state, one.seat) == one.move


def test_teacher_games_become_dataset_arrays(tmp_path: Path) -> None:
    imitation_limits.write_teacher_moves(1, 2, FIELD, ["survivor"], tmp_path / "teachers.npz")
    with np.load(tmp_path / "teachers.npz", allow_pickle=False) as data:
        count = len(data["moves"])
        assert data["planes"].shape == (count, 11, 7, 17)
        assert set(data["teacher"].tolist()) == {TEACHERS.index("survivor")}
        assert (data["moves"] < len(NAMES)).all()
        assert all(len(data[name]) == count for name in data)
