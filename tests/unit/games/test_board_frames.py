"""The frame format that every player and picture can draw."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from games import GAMES
from games.frames import board_frame, parse_frame
from games.protocol import GameError

GOOD: dict[str, Any] = {
    "board": {"columns": 3, "rows": 2, "wraps": True},
    "tokens": [
        {"cell": [2, 1], "seat": 1, "text": "X"},
        {"shape": "body", "cells": [[0, 0], [1, 0]], "seat": 0},
        {"shape": "wall", "cell": (1, 1)},
    ],
    "text": "Seat 1 is to move.",
    "seats": [{"value": 2}, {"value": 0.5, "note": "waits", "out": True}],
    "further": {"keys": "are left alone"},
}


def test_a_frame_in_the_format_is_read() -> None:
    found = parse_frame(GOOD, 2)
    assert (found.columns, found.rows, found.wraps, found.text) == (3, 2, True, GOOD["text"])
    assert [(one.shape, one.cells, one.seat) for one in found.tokens] == [
        ("disc", ((2, 1),), 1),
        ("body", ((0, 0), (1, 0)), 0),
        ("wall", ((1, 1),), None),
    ]
    assert found.values == (2.0, 0.5)
    assert parse_frame({"text": "only words"}, 1).columns == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"board": {"columns": 0, "rows": 2}}, "board.columns"),
        ({"board": {"columns": 3, "rows": 257}}, "board.rows"),
        ({"board": None}, "board"),
        ({"tokens": "X"}, "tokens"),
        ({"tokens": [{"cell": [3, 0]}]}, "tokens[0].cell"),
        ({"tokens": [{"cell": [True, 0]}]}, "tokens[0].cell"),
        ({"tokens": [{"shape": "blob", "cell": [0, 0]}]}, "tokens[0].shape"),
        ({"tokens": [{"shape": "body", "cells": []}]}, "tokens[0].cells"),
        ({"tokens": [{"cell": [0, 0], "seat": 2}]}, "tokens[0].seat"),
        ({"tokens": [{"cell": [0, 0], "text": "hello"}]}, "tokens[0].text"),
        ({"text": 5}, "text"),
        ({"text": "x" * 4001}, "text"),
        ({"seats": [{"value": 1}]}, "seats"),
        ({"seats": [{"value": "1"}, {}]}, "seats[0].value"),
    ],
)
def test_the_wrong_part_of_a_frame_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(GameError) as wrong:
        parse_frame({**GOOD, **change}, 2)
    assert wrong.value.field == field


@pytest.mark.parametrize("name", GAMES)
def test_frames_of_our_games_fit_the_format(name: str) -> None:
    game = GAMES[name]
    seats = max(count for count in game.seats if count <= 4)
    configuration = game.configure({})
    rng = Random(5)
    state, _ = game.reset(configuration, seats, rng)
    for _ in range(30):
        if not (asked := game.to_move(state)):
            break
        moves = {seat: game.parse(state, seat, game.sample(state, seat, rng)) for seat in asked}
        state, _ = game.step(state, moves, rng)
        shown = board_frame(name, configuration, game.frame(state), seats)
        tokens = [
            {"shape": one.shape, "cells": one.cells, "cell": one.cells[0], "seat": one.seat}
            for one in shown.tokens
        ]
        board = {"columns": shown.columns, "rows": shown.rows, "wraps": shown.wraps}
        told = [{"value": value} for value in shown.values]
        again = parse_frame({"board": board, "tokens": tokens, "seats": told}, seats)
        assert again == shown
        assert any(one.seat is not None for one in shown.tokens)
