"""Each rule of Hungry Geese by a position made by hand. The board has 11 columns and 7 rows."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from games.hungry_geese import GAME, Ending
from games.protocol import GameError, InvalidMove, Verdict
from tests.unit.games.positions import position, step

N, E, S, W = "NORTH", "EAST", "SOUTH", "WEST"
FAR = (60,)
"""A goose out of everybody's way: going west it meets nobody in one step."""


def test_a_move_advances_the_goose_one_cell() -> None:
    after = step(position([[14, 13, 12], FAR]), E, W)
    assert after.geese == ((15, 14, 13), (59,))
    assert after.step == 6


@pytest.mark.parametrize(
    ("head", "move", "there"), [(5, N, 71), (71, S, 5), (10, E, 0), (11, W, 21)]
)
def test_the_board_is_a_torus(head: int, move: str, there: int) -> None:
    assert step(position([[head], [38]], food=(40, 41)), move, N).geese[0] == (there,)


def test_a_goose_that_eats_keeps_its_tail() -> None:
    after = step(position([[14, 13], FAR], food=(15, 70)), E, W, food=[3])
    assert after.geese[0] == (15, 14, 13)
    assert after.food == (70, 3)


def test_a_reversal_eliminates_the_goose() -> None:
    after = step(position([[14, 13], FAR, [38]], last=[E, None, None]), W, W, N)
    assert after.geese[0] == ()
    assert after.verdicts[0] is Verdict.DONE
    assert after.endings[0] is Ending.REVERSED


def test_a_reversal_eliminates_a_goose_of_length_one() -> None:
    assert step(position([[14], FAR, [38]], last=[E, None, None]), W, W, N).geese[0] == ()


def test_the_first_step_has_no_reversal() -> None:
    after = step(position([[14], FAR], step=0), S, W)
    assert after.geese[0] == (25,)
    assert after.active == (0, 1)


def test_a_reversing_goose_eats_no_food() -> None:
    after = step(position([[14], FAR, [38]], food=(13, 70), last=[E, None, None]), W, W, N)
    assert after.food == (13, 70)


def test_a_goose_that_bites_itself_is_eliminated() -> None:
    body = [14, 15, 26, 25, 24, 23]
    after = step(position([body, FAR, [48]]), S, W, N)
    assert after.geese[0] == ()
    assert after.endings[0] is Ending.BIT_ITSELF


def test_a_goose_may_follow_its_own_tail() -> None:
    after = step(position([[14, 15, 26, 25], FAR]), S, W)
    assert after.geese[0] == (25, 14, 15, 26)


def test_a_goose_that_hits_a_body_is_eliminated() -> None:
    after = step(position([[14], [27, 26, 25, 24], FAR]), S, E, W)
    assert after.geese == ((), (28, 27, 26, 25), (59,))
    assert after.endings[0] is Ending.COLLIDED


def test_a_head_collision_eliminates_both_geese() -> None:
    after = step(position([[14], [16], FAR, [38]]), E, W, W, N)
    assert after.geese[:2] == ((), ())
    assert after.active == (2, 3)


def test_geese_of_length_one_can_swap_cells() -> None:
    assert step(position([[14], [15], FAR]), E, W, W).geese[:2] == ((15,), (14,))


def test_a_goose_can_enter_the_cell_of_a_leaving_tail() -> None:
    after = step(position([[14], [27, 26, 25], FAR]), S, E, W)
    assert after.geese[:2] == ((25,), (28, 27, 26))


def test_the_tail_of_an_eating_goose_blocks() -> None:
    after = step(position([[14], [27, 26, 25], FAR], food=(28, 70)), S, E, W, food=[3])
    assert after.geese[:2] == ((), (28, 27, 26, 25))


def test_contested_food_goes_to_the_lower_seat() -> None:
    after = step(position([[14], [16, 17], FAR, [38]], food=(15, 70)), E, W, W, N, food=[2])
    assert after.geese[:2] == ((), ())
    assert after.food == (70, 2)


def test_a_goose_removed_in_a_collision_still_blocks_other_geese() -> None:
    # Seat 0 runs into the body of seat 1 and ends; seat 2 runs into seat 0, which still counts.
    geese = [[14, 13, 12], [26, 15, 16, 17], [2], FAR]
    after = step(position(geese), E, S, S, W)
    assert after.geese == ((), (37, 26, 15, 16), (), (59,))
    assert after.endings[2] is Ending.COLLIDED


@pytest.mark.parametrize("fault", [Verdict.ERROR, Verdict.INVALID, Verdict.TIMEOUT])
def test_a_failed_goose_leaves_the_board_before_collisions(fault: Verdict) -> None:
    after = step(position([[3], [13, 14, 15], FAR]), S, fault, W)
    assert after.geese == ((14,), (), (59,))
    assert after.verdicts[1] is fault
    assert after.rewards[1] is None
    assert after.endings[1] is Ending.FAILED


def test_a_reversed_goose_frees_its_cells_in_the_same_step() -> None:
    after = step(position([[3], [13, 14, 15], FAR], last=[None, W, None]), S, E, W)
    assert after.geese == ((14,), (), (59,))


def test_a_goose_that_bites_itself_frees_its_cells_in_the_same_step() -> None:
    geese = [[14, 15, 26, 25, 24, 23], [4], FAR]
    assert step(position(geese), S, S, W).geese == ((), (15,), (59,))


def test_length_is_capped_at_max_length() -> None:
    after = step(position([[14, 13, 12], FAR], food=(15, 70), max_length=3), E, W, food=[2])
    assert after.geese[0] == (15, 14, 13)


def test_a_capped_goose_without_food_keeps_its_length() -> None:
    assert len(step(position([[14, 13, 12], FAR], max_length=3), E, W).geese[0]) == 3


def test_hunger_takes_a_cell_every_hunger_rate_steps() -> None:
    state = position([[14, 13, 12], [60, 61]], step=39)
    assert step(state, E, W).geese == ((15, 14), (59,))


def test_a_goose_of_length_one_starves() -> None:
    after = step(position([[14], [60, 61], [38, 39]], step=79), E, W, W)
    assert after.geese[0] == ()
    assert after.endings[0] is Ending.STARVED


def test_hunger_cancels_growth_in_the_same_step() -> None:
    after = step(position([[14], [60, 61]], food=(15, 70), step=39), E, W, food=[2])
    assert after.geese[0] == (15,)
    assert after.active == (0, 1)


def test_food_is_refilled_to_the_free_cells() -> None:
    state = position([[0, 1], [8]], food=(3, 2), columns=3, rows=3, min_food=9)
    after = step(state, S, N, food=[8, 4, 6, 7])
    assert after.geese == ((3, 0, 1), (5,))
    assert after.food == (2, 8, 4, 6, 7)


def test_the_reward_ranks_survival_before_length() -> None:
    after = step(position([[14, 13], FAR], step=0), E, W)
    assert after.rewards == (2 * 100 + 2, 201)
    after = step(position([[14, 13], FAR], step=9, max_length=8), E, W)
    assert after.rewards == (11 * 9 + 2, 11 * 9 + 1)


def test_a_dying_goose_keeps_the_reward_of_the_previous_step() -> None:
    state = step(position([[14, 13, 12], FAR, [38]]), E, W, N)
    after = step(state, W, W, N)
    assert state.rewards[0] == after.rewards[0] == 703
    assert GAME.frame(after)["rewards"][0] == 703


def test_a_goose_that_dies_in_the_first_step_gets_zero_reward() -> None:
    after = step(position([[14], [16], FAR, [38]], step=0), E, W, W, N)
    assert after.rewards[:2] == (0, 0)


def test_the_last_goose_gets_the_reward_of_the_final_step() -> None:
    after = step(position([[14, 13], FAR], last=[E, None], step=9), W, W)
    outcome = GAME.outcome(after)
    assert outcome is not None
    assert after.active == ()
    assert outcome.rewards == (1002, 1101)
    assert outcome.placements == (2, 1)
    assert outcome.verdicts == (Verdict.DONE, Verdict.DONE)
    assert after.endings == (Ending.REVERSED, Ending.SURVIVED)


def test_the_last_step_ends_the_game_for_every_goose() -> None:
    after = step(position([[14, 13], FAR], step=198), E, W)
    outcome = GAME.outcome(after)
    assert outcome is not None
    assert outcome.rewards == (20_002, 20_001)
    assert outcome.placements == (1, 2)
    assert after.endings == (Ending.SURVIVED, Ending.SURVIVED)


def test_the_game_runs_until_the_last_step() -> None:
    assert GAME.outcome(step(position([[14, 13], FAR], step=197), E, W)) is None


def test_equally_long_geese_that_die_in_one_step_tie() -> None:
    outcome = GAME.outcome(step(position([[14], [16]], last=[None, None], step=9), E, W))
    assert outcome is not None
    assert outcome.placements == (1, 1)
    assert outcome.rewards == (1001, 1001)


def test_a_game_of_one_player_ends_after_one_step() -> None:
    state, _ = GAME.reset(GAME.configure({}), 1, Random(1))
    after, _ = GAME.step(state, {0: N}, Random(1))
    assert GAME.outcome(after) is not None
    assert after.rewards[0] in (201, 202)


def test_failed_geese_tie_for_last_place() -> None:
    state = position([[14, 13], FAR, [38], [3]], last=[E, None, None, None], step=0)
    outcome = GAME.outcome(step(state, W, W, Verdict.TIMEOUT, Verdict.ERROR))
    assert outcome is not None
    assert outcome.placements == (2, 1, 3, 3)
    assert outcome.rewards == (0, 201, None, None)


def test_failed_geese_tie_for_first_place_when_all_fail() -> None:
    outcome = GAME.outcome(step(position([[14], [60]]), Verdict.ERROR, Verdict.INVALID))
    assert outcome is not None
    assert outcome.placements == (1, 1)
    assert outcome.verdicts == (Verdict.ERROR, Verdict.INVALID)


def test_a_missing_answer_is_the_default_move() -> None:
    assert GAME.parse(position([[14]]), 0, None) == "NORTH"


@pytest.mark.parametrize("move", [N, E, S, W])
def test_the_four_directions_are_moves(move: str) -> None:
    assert GAME.parse(position([[14]]), 0, move) == move


@pytest.mark.parametrize("raw", ["north", "UP", "", 0, 1, True, 1.5, [], ["NORTH"], {}, "NORTH "])
def test_the_error_for_an_invalid_move_lists_four_directions(raw: Any) -> None:
    with pytest.raises(InvalidMove, match="NORTH, EAST, SOUTH, WEST"):
        GAME.parse(position([[14]]), 0, raw)


def test_a_missing_move_raises_game_error() -> None:
    with pytest.raises(GameError, match="seat 1"):
        GAME.step(position([[14], [60]]), {0: N}, Random(1))
    with pytest.raises(GameError, match="seat 1"):
        GAME.step(position([[14], [60]]), {0: N, 1: Verdict.DONE}, Random(1))


@pytest.mark.parametrize("food", [[], [14], [60], [70, 71], [77], [71]])
def test_recorded_food_must_be_on_free_cells(food: list[int]) -> None:
    state = position([[14, 13], [60]], food=(4, 71))
    with pytest.raises(GameError, match="food"):
        GAME.step(state._replace(food=(71,)), {0: E, 1: W}, {"food": [15, *food]})
    with pytest.raises(GameError, match="food"):
        GAME.step(state._replace(food=(71,)), {0: E, 1: N}, {"food": food and [food[0]] * 2})


def test_superfluous_recorded_food_is_refused() -> None:
    with pytest.raises(GameError, match="step 6"):
        GAME.step(position([[14], [60]]), {0: E, 1: W}, {"food": [3]})


@pytest.mark.parametrize("seats", [0, 9, -1])
def test_a_game_has_one_to_eight_players(seats: int) -> None:
    with pytest.raises(GameError, match="seats"):
        GAME.reset(GAME.configure({}), seats, Random(1))


@pytest.mark.parametrize("heads", [[1], [1, 1], [1, 77], [1, -1], [1, 2, 3]])
def test_recorded_heads_must_be_distinct_cells(heads: list[int]) -> None:
    with pytest.raises(GameError, match="heads"):
        GAME.reset(GAME.configure({}), 2, {"heads": heads, "food": [5, 6]})


def test_a_full_board_gets_the_food_that_fits() -> None:
    configuration = GAME.configure({"columns": 3, "rows": 3, "min_food": 5})
    state, chance = GAME.reset(configuration, 8, Random(1))
    assert len(state.food) == 1
    assert sorted([*chance["heads"], *chance["food"]]) == list(range(9))
