"""Each rule of the Game of Life and Death in a hand-made position; x right, y down."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from games.golad import GAME, State, rules_for
from games.protocol import ConfigurationError, GameError, InvalidMove, Verdict
from sandbox.match.questions import TO_CHILD_CAP

BLOCKS = """
00..
00..
..11
..11
"""
"""Two stable blocks that touch at a corner."""

TWO = """
00..11
00..11
"""
"""Two separate stable blocks; each is whole again one generation after it lost a cell."""


def board(rows: str, *, seat: int = 0, number: int = 1, max_rounds: int = 100) -> State:
    """The position drawn in these rows, with ``seat`` to move in round ``number``."""
    lines = rows.split()
    rules = rules_for(len(lines[0]), len(lines), max_rounds)
    sides = [0, 0]
    for y, line in enumerate(lines):
        for x, letter in enumerate(line):
            if letter in "01":
                sides[int(letter)] |= 1 << (y * rules.stride + x)
    return State(
        rules=rules,
        round=number,
        seat=seat,
        cells=(sides[0], sides[1]),
        told=("null", "null"),
        standing=(Verdict.ACTIVE, Verdict.ACTIVE),
    )


def rows(state: State) -> str:
    return "\n".join("".join(row) for row in GAME.frame(state)["field"])


def half(state: State, move: Any) -> State:
    """The position after this answer of the player to move, passed on as by a referee."""
    assert state.seat is not None
    if not isinstance(move, Verdict):
        try:
            move = GAME.parse(state, state.seat, move)
        except InvalidMove:
            move = Verdict.INVALID
    return GAME.step(state, {state.seat: move}, Random(0))[0]


def test_a_living_cell_survives_with_two_or_three_neighbours() -> None:
    after = half(board("0.... \n.1... \n..0.. \n..... \n..... \n....1"), "pass")
    assert rows(after).split()[:3] == [".....", ".1...", "....."]


def test_a_living_cell_dies_with_four_neighbours() -> None:
    after = half(board(".0. \n010 \n.0. \n..."), "pass")
    assert rows(after).split()[1][1] == "."


@pytest.mark.parametrize(
    ("parents", "owner"), [("000", "0"), ("001", "0"), ("011", "1"), ("111", "1")]
)
def test_a_new_cell_belongs_to_the_majority_of_three_neighbours(parents: str, owner: str) -> None:
    after = half(board(f"..... \n.{parents}. \n..... \n....."), "pass")
    assert [row[2] for row in rows(after).split()] == [owner, parents[1], owner, "."]


def test_cells_outside_the_board_are_dead() -> None:
    after = half(board("00..1 \n....1 \n....1 \n....."), "pass")
    assert rows(after).split() == [".....", "...11", ".....", "....."]
    after = half(board("0..0 \n.... \n.... \n0..1"), "pass")
    assert after.cells == (0, 0)


def test_a_kill_removes_any_players_cell_before_the_generation() -> None:
    assert rows(half(board(TWO), "kill 4,0")).split() == TWO.split()
    assert rows(half(board(TWO), "kill 0,0")).split() == TWO.split()
    assert rows(half(board("00..... \n00...11"), "kill 6,1")).split() == ["00.....", "00....."]
    assert rows(half(board("00..... \n00...11"), "kill 0,1")).split() == ["00.....", "00....."]


def test_a_birth_sacrifices_two_cells_anywhere() -> None:
    start = board("00.... \n0.0... \n...... \n....11 \n....11 \n0.....")
    after = half(start, "birth 1,1 2,1 0,5")
    assert rows(after).split() == ["00....", "00....", "......", "....11", "....11", "......"]


def test_each_half_round_has_one_move_and_one_generation() -> None:
    start = board(".... \n000. \n.... \n.... \n..11 \n..11")
    one = half(start, "pass")
    two = half(one, "pass")
    assert (start.seat, one.seat, two.seat) == (0, 1, 0)
    assert (start.round, one.round, two.round) == (1, 1, 2)
    assert rows(one).split()[:3] == [".0..", ".0..", ".0.."]
    assert rows(two).split()[:3] == ["....", "000.", "...."]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("pass", "pass"),
        ("PASS", "pass"),
        ("pass on 9,9", "pass"),
        ("pass  ", "pass"),
        ("no_moves", "pass"),
        ("Kill 2,2", "kill 2,2"),
        ("kill 0,0", "kill 0,0"),
        ("kill +0,001", "kill 0,1"),
        ("kill 0,0,7", "kill 0,0"),
        ("kill 0,0,", "kill 0,0"),
        ("kill 0,0,seven", "kill 0,0"),
        ("kill 0,0\n", "kill 0,0"),
        ("bIRTH 3,0 0,0 1,1", "birth 3,0 0,0 1,1"),
        ("birth 3,0,1 0,0,2 1,1,3", "birth 3,0 0,0 1,1"),
    ],
)
def test_move_keywords_are_case_insensitive(text: str, canonical: str) -> None:
    state = board(BLOCKS)
    assert GAME.parse(state, 0, text) == canonical
    assert GAME.parse(state, 0, canonical) == canonical


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        ["pass"],
        "",
        " ",
        " pass",
        "null",
        "passing",
        "pass,",
        "kill",
        "kill  0,0",
        "kill 0",
        "kill 0;0",
        "kill 0, 0",
        "kill ,0",
        "kill 0.0,0",
        "kill ٠,٠",
        "kill 0,0 1,1",
        "kill_0,0",
        "birth 3,0",
        "birth 3,0 0,0",
        "birth 3,0 0,0  1,1",
        "birth 3,0 0,0 1,1 0,1",
        "birth 3,0 0,0 x,1",
        "mill 0,0",
    ],
)
def test_an_invalid_move_is_refused_with_the_expected_form(text: Any) -> None:
    with pytest.raises(InvalidMove, match=r'^expected "pass", "kill x,y" or "birth x,y a,b c,d"'):
        GAME.parse(board(BLOCKS), 0, text)


@pytest.mark.parametrize(
    ("seat", "text", "reason"),
    [
        (0, "kill 4,0", "4,0 is off the board of 4x4"),
        (0, "kill 0,-1", "0,-1 is off the board"),
        (0, "kill 3,0", "kill: 3,0 is dead already"),
        # The target comes first, then each sacrifice in turn, then one sacrifice twice.
        (0, "birth 4,0 9,9 9,9", "4,0 is off the board"),
        (0, "birth 0,0 9,9 9,9", "birth: 0,0 is alive already"),
        (0, "birth 2,2 9,9 9,9", "birth: 2,2 is alive already"),
        (0, "birth 3,0 9,9 8,8", "9,9 is off the board"),
        (0, "birth 3,0 2,2 8,8", "birth: 2,2 is no living cell of your own"),
        (1, "birth 3,0 0,0 2,2", "birth: 0,0 is no living cell of your own"),
        (0, "birth 3,0 3,1 3,1", "birth: 3,1 is no living cell of your own"),
        (0, "birth 3,0 3,0 0,0", "birth: 3,0 is no living cell of your own"),
        (0, "birth 3,0 0,0 8,8", "8,8 is off the board"),
        (0, "birth 3,0 0,0 3,1", "birth: 3,1 is no living cell of your own"),
        (0, "birth 3,0 0,0 0,0", "birth: 0,0 cannot be given up twice"),
        (1, "birth 3,0 2,2 2,2", "birth: 2,2 cannot be given up twice"),
    ],
)
def test_a_move_with_several_errors_reports_the_engines_first_error(
    seat: int, text: str, reason: str
) -> None:
    with pytest.raises(InvalidMove) as refused:
        GAME.parse(board(BLOCKS, seat=seat), seat, text)
    assert str(refused.value).startswith(reason)


def test_an_invalid_move_still_runs_the_generation() -> None:
    start = board("..... \n.000. \n..... \n....1 \n...11 \n...1.")
    for answer in ("kill 0,0", "nonsense", Verdict.INVALID, Verdict.TIMEOUT, Verdict.ERROR):
        assert half(start, answer).cells == half(start, "pass").cells


def test_opponent_move_is_one_word_or_null() -> None:
    state = board(BLOCKS)
    assert GAME.observe(state, 1)["opponent_move"] == "null"
    for move, told in (
        ("Pass", "pass"),
        ("kill 0,0", "kill_0,0"),
        ("birth 3,0 0,0 1,1", "birth_3,0_0,0_1,1"),
        ("kill 3,0", "null"),
        (Verdict.TIMEOUT, "null"),
    ):
        after = half(state, move)
        assert GAME.observe(after, 1)["opponent_move"] == told
        assert GAME.observe(after, 0)["opponent_move"] == "null"


def test_an_observation_uses_the_official_field_names() -> None:
    state = half(board("00. \n00. \n... \n... \n.11 \n.11", max_rounds=7), "pass")
    assert GAME.observe(state, 1) == {
        "round": 1,
        "width": 3,
        "height": 6,
        "max_rounds": 7,
        "you": 1,
        "field": "0,0,.,0,0,.,.,.,.,.,.,.,.,1,1,.,1,1",
        "living": [4, 4],
        "opponent_move": "pass",
    }


def test_a_seat_makes_no_move_after_a_timeout_or_error() -> None:
    for fault in (Verdict.TIMEOUT, Verdict.ERROR):
        state = half(half(board(TWO, max_rounds=2), fault), "pass")
        assert state.cells == board(TWO).cells
        after = GAME.step(state, {0: "kill 4,0"}, Random(0))[0]
        assert after.cells == half(state, "pass").cells
        assert GAME.observe(after, 1)["opponent_move"] == "null"
        after = half(half(state, Verdict.INVALID), "pass")
        outcome = GAME.outcome(after)
        assert outcome is not None
        assert outcome.verdicts == (fault, Verdict.DONE)
        assert outcome.rewards == (0.5, 0.5)


def test_a_player_without_any_valid_answer_is_invalid() -> None:
    for answers, verdict in (
        (["x", "x"], Verdict.INVALID),
        (["x", "pass"], Verdict.DONE),
        (["pass", "x"], Verdict.DONE),
        (["x", Verdict.TIMEOUT], Verdict.TIMEOUT),
        (["pass", Verdict.ERROR], Verdict.ERROR),
    ):
        state = board(TWO, max_rounds=2)
        for answer in answers:
            state = half(half(state, answer), "pass")
        outcome = GAME.outcome(state)
        assert outcome is not None
        assert outcome.verdicts == (verdict, Verdict.DONE)


def test_the_only_player_on_the_board_wins() -> None:
    after = half(board("00... \n00..1"), "pass")
    outcome = GAME.outcome(after)
    assert outcome is not None
    assert (outcome.rewards, outcome.placements) == ((1.0, 0.0), (1, 2))
    outcome = GAME.outcome(half(board("0..11 \n...11"), "pass"))
    assert outcome is not None
    assert (outcome.rewards, outcome.placements) == ((0.0, 1.0), (2, 1))


def test_the_second_half_is_skipped_after_a_win_in_the_first() -> None:
    after = half(board("00... \n00..1", number=3), "pass")
    assert GAME.to_move(after) == ()
    assert (after.round, GAME.frame(after)["to_move"]) == (3, None)
    assert GAME.outcome(after).verdicts == (Verdict.DONE, Verdict.DONE)  # type: ignore[union-attr]


def test_an_empty_board_is_a_draw() -> None:
    outcome = GAME.outcome(half(board("0...1 \n....."), "pass"))
    assert outcome is not None
    assert (outcome.rewards, outcome.placements) == ((0.5, 0.5), (1, 1))


def test_cell_counts_do_not_break_a_draw() -> None:
    state = half(board("00....11 \n00....11 \n00...... \n........", max_rounds=1), "pass")
    assert GAME.to_move(state) == (1,)
    state = half(state, "pass")
    assert (GAME.to_move(state), state.round) == ((), 1)
    outcome = GAME.outcome(state)
    assert outcome is not None
    assert outcome.rewards == (0.5, 0.5)


def test_one_hundred_rounds_are_two_hundred_halves() -> None:
    configuration = GAME.configure({"width": 5, "height": 2, "startingCells": 3})
    assert GAME.longest(configuration) == 200
    state, halves = board(TWO), 0
    while GAME.to_move(state):
        state, halves = half(state, "pass"), halves + 1
    assert (halves, state.round) == (200, 100)


def test_invalid_step_arguments_are_refused() -> None:
    state = board(BLOCKS)
    for moves in ({}, {1: "pass"}, {0: None}, {0: "kill 3,0"}, {0: Verdict.DONE}):
        with pytest.raises(GameError):
            GAME.step(state, moves, Random(0))
    with pytest.raises(GameError, match="chance"):
        GAME.step(state, {0: "pass"}, {"cells": []})
    over = half(board("0...1 \n....."), "pass")
    with pytest.raises(GameError, match="over"):
        GAME.step(over, {0: "pass"}, Random(0))


STANDARD = {
    "width": 18,
    "height": 16,
    "maxRounds": 100,
    "startingCells": 40,
    "separateStartingCells": True,
}


def test_the_standard_configuration_matches_the_official_site() -> None:
    assert GAME.configure({}) == STANDARD
    assert GAME.configure({"width": None, "separateStartingCells": False}) == {
        **STANDARD,
        "separateStartingCells": False,
    }


@pytest.mark.parametrize(
    ("overrides", "field"),
    [
        ({"height": 15}, "height"),
        ({"width": 300, "height": 202}, "height"),
        ({"height": 0}, "height"),
        ({"width": 0, "startingCells": 1}, "width"),
        ({"width": 10_000, "height": 10_000}, "height"),
        ({"maxRounds": 0}, "maxRounds"),
        ({"startingCells": 0}, "startingCells"),
        ({"startingCells": 87}, "startingCells"),
        ({"width": 6, "height": 6}, "startingCells"),
        ({"width": 6, "height": 6, "startingCells": 11}, "startingCells"),
        ({"width": 1, "height": 2, "startingCells": 1}, "startingCells"),
        ({"separateStartingCells": 1}, "separateStartingCells"),
        ({"separateStartingCells": "yes"}, "separateStartingCells"),
        ({"width": True}, "width"),
        ({"seed": 7}, "seed"),
    ],
)
def test_a_wrong_configuration_field_is_named(overrides: Any, field: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{field}: "):
        GAME.configure(overrides)


@pytest.mark.parametrize(("size", "most"), [((6, 6), 10), ((8, 8), 19), ((18, 16), 86)])
def test_starting_cells_fill_at_most_60_percent_of_the_board(
    size: tuple[int, int], most: int
) -> None:
    chosen = {"width": size[0], "height": size[1], "startingCells": most}
    assert GAME.configure(chosen)["startingCells"] == most
    with pytest.raises(ConfigurationError, match=f"at most {most} "):
        GAME.configure({**chosen, "startingCells": most + 1})


def test_a_recorded_start_must_fit_the_configuration() -> None:
    configuration = GAME.configure({"width": 6, "height": 6, "startingCells": 2})
    for chance in (
        {"cells": [1], "owners": [0]},
        {"cells": [1, 1], "owners": [0, 0]},
        {"cells": [1, 18], "owners": [0, 0]},
        {"cells": [1, 2], "owners": [0, 1]},
        {"cells": [1, 2], "owners": [0]},
    ):
        with pytest.raises(GameError):
            GAME.reset(configuration, 2, chance)
    with pytest.raises(GameError, match="seats"):
        GAME.reset(configuration, 1, Random(0))


def test_the_largest_board_fits_into_one_observation() -> None:
    configuration = GAME.configure({"width": 300, "height": 200, "startingCells": 18_000})
    state, _ = GAME.reset(configuration, 2, Random(1))
    assert len(json.dumps(GAME.observe(state, 0))) < TO_CHILD_CAP - 1000
