"""What an agent of Battlesnake sees and may answer, and the frame of a position."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from games.battlesnake import GAME
from games.protocol import GameError, InvalidMove, Verdict
from tests.unit.games.snakes import bodies, causes, position, step

A = [(2, 2), (2, 1), (2, 0)]
FAR = [(9, 9), (9, 8), (9, 7)]
"""A distant snake: if it goes left it meets no other snake in two turns."""


def test_a_faulty_answer_repeats_the_last_move() -> None:
    state = position([(5, 5)] * 3, FAR)
    state = step(state, Verdict.TIMEOUT, "left")
    assert bodies(state)[0][0] == (5, 6)
    state = step(state, "right", "left")
    for number, verdict in enumerate((Verdict.INVALID, Verdict.ERROR, Verdict.TIMEOUT)):
        state = step(state, verdict, "left")
        assert bodies(state)[0][0] == (7 + number, 6)


def test_a_seat_without_a_valid_answer_ends_with_a_fault() -> None:
    wall = [(5, 8), (5, 7)]
    state = step(position(wall, A, FAR), Verdict.TIMEOUT, Verdict.TIMEOUT, "left")
    state = step(state, Verdict.INVALID, "right", "left")
    state = step(state, Verdict.ERROR, Verdict.ERROR, "down")
    state = step(state, "up", "up")
    assert causes(state)[0] == "wall-collision"
    state = state._replace(alive=(2,))
    outcome = GAME.outcome(state)
    assert outcome is not None
    assert outcome.verdicts == (Verdict.ERROR, Verdict.DONE, Verdict.DONE)
    assert outcome.rewards[0] is None


@pytest.mark.parametrize("raw", ["up", {"move": "up"}, {"move": "up", "shout": "x", "more": 1}])
def test_a_bare_direction_or_a_server_response_is_a_move(raw: Any) -> None:
    assert GAME.parse(position(A, FAR), 0, raw) == "up"


@pytest.mark.parametrize(
    "raw", [None, "", "UP", "north", 1, [], ["up"], {}, {"move": None}, {"move": ["up"]}, True]
)
def test_another_answer_is_an_invalid_move(raw: Any) -> None:
    with pytest.raises(InvalidMove, match="expected one of up, down, left, right"):
        GAME.parse(position(A, FAR), 0, raw)


@pytest.mark.parametrize("move", [None, "north", Verdict.DONE, Verdict.ACTIVE])
def test_a_missing_move_raises_game_error(move: Any) -> None:
    with pytest.raises(GameError, match="seat 1"):
        GAME.step(position(A, FAR), {0: "up", 1: move}, {"food": [], "shrink": None})


def test_an_observation_is_the_official_request_with_neutral_names() -> None:
    state = position(A, FAR, [(0, 5)] * 3, food=[(5, 5)], hazards=[(0, 0)], ruleset="royale")
    state = step(state._replace(turn=3), "right", "left", "left")
    seen = GAME.observe(state, 0)
    mine = {
        "id": "s0",
        "name": "s0",
        "latency": "0",
        "health": 99,
        "body": [{"x": 3, "y": 2}, {"x": 2, "y": 2}, {"x": 2, "y": 1}],
        "head": {"x": 3, "y": 2},
        "length": 3,
        "shout": "",
        "squad": "",
        "customizations": {"color": "#888888", "head": "default", "tail": "default"},
    }
    assert seen["you"] == mine
    assert seen["board"]["snakes"][0] == mine
    assert [one["id"] for one in seen["board"]["snakes"]] == ["s0", "s1"]
    assert seen["board"]["food"] == [{"x": 5, "y": 5}]
    assert seen["board"]["hazards"] == [{"x": 0, "y": 0}]
    assert (seen["board"]["width"], seen["board"]["height"], seen["turn"]) == (11, 11, 4)
    assert seen["game"] == {
        "id": "g",
        "ruleset": {
            "name": "royale",
            "version": "v1",
            "settings": {
                "foodSpawnChance": 0,
                "minimumFood": 0,
                "hazardDamagePerTurn": 14,
                "hazardMap": "",
                "hazardMapAuthor": "",
                "royale": {"shrinkEveryNTurns": 25},
                "squad": {
                    "allowBodyCollisions": False,
                    "sharedElimination": False,
                    "sharedHealth": False,
                    "sharedLength": False,
                },
            },
        },
        "map": "standard",
        "timeout": 500,
        "source": "custom",
    }
    dead = GAME.observe(state, 2)
    assert dead["you"]["body"][0] == {"x": -1, "y": 5}
    assert len(dead["board"]["snakes"]) == 2


def test_random_move_on_a_wrapped_board_avoids_the_body() -> None:
    """The snake's own body is left of the head and below it, across the board's edges."""
    body = [(0, 0), (1, 0), (2, 0), (2, 10), (1, 10), (0, 10), (10, 10), (10, 0), (10, 1)]
    state = position(body, FAR, ruleset="wrapped")
    draw = Random(1)
    assert {GAME.sample(state, 0, draw) for _ in range(100)} == {"up"}


def test_observations_of_one_position_share_the_board() -> None:
    state = position(A, FAR)
    first, second = GAME.observe(state, 0), GAME.observe(state, 1)
    assert first["board"] is second["board"]
    assert first["you"] != second["you"]
    assert GAME.observe(step(state, "right", "left"), 0)["turn"] == state.turn + 1


def test_a_frame_shows_the_whole_position() -> None:
    state = position([(0, 2), (1, 2)], FAR, A, food=[(5, 5)], hazards=[(0, 0)])
    assert GAME.frame(step(state, "left", "left", "up")) == {
        "turn": 6,
        "width": 11,
        "height": 11,
        "snakes": [
            {
                "body": [[-1, 2], [0, 2]],
                "health": 99,
                "cause": "wall-collision",
                "eliminated_on": 6,
            },
            {
                "body": [[8, 9], [9, 9], [9, 8]],
                "health": 99,
                "cause": None,
                "eliminated_on": None,
            },
            {"body": [[2, 3], [2, 2], [2, 1]], "health": 99, "cause": None, "eliminated_on": None},
        ],
        "food": [[5, 5]],
        "hazards": [[0, 0]],
    }
