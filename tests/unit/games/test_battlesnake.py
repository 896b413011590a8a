"""Each rule of a turn of Battlesnake in a hand-made position, on 11x11 by default."""

from __future__ import annotations

from typing import Any

import pytest

from games.battlesnake import GAME
from games.protocol import Verdict
from tests.unit.games.snakes import bodies, causes, position, step

A = [(2, 2), (2, 1), (2, 0)]
FAR = [(9, 9), (9, 8), (9, 7)]
"""A distant snake: if it goes left it meets no other snake in two turns."""


def test_a_move_advances_the_snake_one_cell() -> None:
    after = step(position(A, FAR), "right", "left")
    assert bodies(after)[0] == [(3, 2), (2, 2), (2, 1)]
    assert after.health == (99, 99)
    assert after.turn == 6


@pytest.mark.parametrize(("move", "there"), [("up", (2, 3)), ("left", (1, 2)), ("right", (3, 2))])
def test_up_is_towards_higher_rows(move: str, there: Any) -> None:
    assert bodies(step(position(A, FAR), move, "left"))[0][0] == there


def test_food_restores_health_and_doubles_the_tail() -> None:
    after = step(position(A, FAR, health=(40, 90), food=[(3, 2)]), "right", "left")
    assert bodies(after)[0] == [(3, 2), (2, 2), (2, 1), (2, 1)]
    assert after.health == (100, 89)
    assert after.food == ()
    later = step(after, "right", "left")
    assert bodies(later)[0] == [(4, 2), (3, 2), (2, 2), (2, 1)]


def test_two_foods_on_one_cell_grow_the_snake_twice() -> None:
    after = step(position(A, FAR, food=[(3, 2), (3, 2)]), "right", "left")
    assert len(after.bodies[0]) == 5
    assert after.food == ()


def test_the_longer_of_two_snakes_survives_on_shared_food() -> None:
    other = [(4, 2), (5, 2), (6, 2), (7, 2)]
    after = step(position(A, other, FAR, food=[(3, 2)]), "right", "left", "left")
    assert [len(body) for body in after.bodies] == [4, 5, 3]
    assert causes(after) == ["head-collision", None, None]


def test_the_last_health_point_reaches_food() -> None:
    before = position(A, FAR, health=(1, 1), food=[(3, 2)])
    after = step(before, "right", "left")
    assert causes(after) == [None, "out-of-health"]
    assert after.health[0] == 100


def test_leaving_the_board_on_any_side_eliminates_a_snake() -> None:
    walls = [[(0, 5), (1, 5)], [(10, 5), (9, 5)], [(5, 0), (5, 1)], [(5, 10), (5, 9)], FAR]
    after = step(position(*walls), "left", "right", "down", "up", "left")
    assert causes(after) == ["wall-collision"] * 4 + [None]
    assert [body[0] for body in bodies(after)[:4]] == [(-1, 5), (11, 5), (5, -1), (5, 11)]
    assert after.eliminated_on == (6, 6, 6, 6, None)


def test_a_snake_starving_outside_the_board_dies_of_hunger() -> None:
    after = step(position([(0, 5), (1, 5)], FAR, health=(1, 9)), "left", "left")
    assert causes(after)[0] == "out-of-health"


def test_moving_into_the_neck_is_a_self_collision() -> None:
    assert causes(step(position(A, FAR), "down", "left"))[0] == "snake-self-collision"


def test_at_the_start_every_direction_is_free() -> None:
    for move in ("up", "down", "left", "right"):
        assert causes(step(position([(5, 5)] * 3, FAR), move, "left")) == [None, None]


def test_a_snake_may_follow_its_tail_except_right_after_food() -> None:
    ring = [(3, 3), (3, 4), (4, 4), (4, 3)]
    assert causes(step(position(ring, FAR), "right", "left"))[0] is None
    fed = [*ring, (4, 3)]
    assert causes(step(position(fed, FAR), "right", "left"))[0] == "snake-self-collision"


def test_another_snakes_tail_is_free_while_that_snake_eats() -> None:
    other = [(5, 5), (4, 5), (3, 5), (3, 4), (3, 3), (3, 2)]
    before = position(A, other, FAR, food=[(6, 5)])
    assert causes(step(before, "right", "right", "left"))[0] is None


def test_another_snakes_tail_is_blocked_the_turn_after_food() -> None:
    other = [(5, 5), (4, 5), (3, 5), (3, 4), (3, 3), (3, 2), (3, 2)]
    after = step(position(A, other, FAR), "right", "right", "left")
    assert causes(after) == ["snake-collision", None, None]


def test_the_longer_snake_survives_a_head_collision() -> None:
    equal = [(4, 2), (5, 2), (6, 2)]
    assert causes(step(position(A, equal, FAR), "right", "left", "left")) == [
        "head-collision",
        "head-collision",
        None,
    ]
    longer = [*equal, (7, 2)]
    assert causes(step(position(A, longer, FAR), "right", "left", "left"))[:2] == [
        "head-collision",
        None,
    ]


def test_only_a_single_longest_snake_survives_a_three_head_collision() -> None:
    right, top = [(4, 2), (5, 2), (6, 2), (7, 2)], [(3, 3), (3, 4), (3, 5)]
    after = step(position(A, right, top), "right", "left", "down")
    assert causes(after) == ["head-collision", None, "head-collision"]
    top = [*top, (3, 6)]
    assert causes(step(position(A, right, top), "right", "left", "down")) == ["head-collision"] * 3


def test_swapped_heads_are_body_collisions() -> None:
    other = [(3, 2), (4, 2), (5, 2), (6, 2)]
    after = step(position(A, other, FAR), "right", "left", "left")
    assert causes(after) == ["snake-collision", "snake-collision", None]


def test_two_snakes_can_eliminate_each_other_in_one_turn() -> None:
    first = [(4, 4), (4, 3), (4, 2), (4, 1), (4, 0)]
    other = [(3, 2), (3, 3), (3, 4), (3, 5), (3, 6)]
    after = step(position(first, other, FAR), "left", "right", "left")
    assert causes(after) == ["snake-collision", "snake-collision", None]
    assert after.eliminated_on[:2] == (6, 6)


def test_a_snake_that_leaves_or_starves_blocks_no_cell() -> None:
    leaving = [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert causes(step(position(A, leaving, FAR), "up", "left", "left")) == [
        None,
        "wall-collision",
        None,
    ]
    starving = [(1, 3), (2, 3), (3, 3), (4, 3)]
    before = position(A, starving, FAR, health=(9, 1, 9))
    assert causes(step(before, "up", "left", "left"))[:2] == [None, "out-of-health"]


def test_a_self_colliding_snake_still_blocks_other_snakes() -> None:
    biting = [(1, 3), (2, 3), (3, 3), (3, 4), (2, 4)]
    after = step(position(A, biting, FAR), "up", "right", "left")
    assert causes(after) == ["snake-collision", "snake-self-collision", None]


def test_self_collision_takes_precedence_over_body_collision() -> None:
    knot = [(2, 2), (2, 3), (3, 3), (3, 2), (3, 1)]
    meets = [(4, 2), (5, 2), (6, 2), (7, 2), (8, 2), (9, 2)]
    after = step(position(knot, meets, FAR), "right", "left", "left")
    assert causes(after) == ["snake-self-collision", "snake-collision", None]
    wall = [(4, 3), (3, 3), (3, 2), (3, 1), (3, 0)]
    after = step(position(A, wall, [(4, 2), (5, 2)]), "right", "up", "left")
    assert causes(after) == ["snake-collision", None, "snake-collision"]


def test_a_dead_snake_blocks_no_later_move() -> None:
    after = step(position(A, FAR, [(0, 2), (1, 2)]), "right", "left", "left")
    later = step(after, "left", "left", chance={"food": [], "shrink": None})
    assert later.bodies[2] == after.bodies[2]
    assert later.eliminated_on == (6 + 1, None, 6)


def test_hazard_damage_adds_to_hunger() -> None:
    after = step(position(A, FAR, hazards=[(3, 2), (9, 8)]), "right", "left")
    assert after.health == (85, 99)


def test_food_on_a_hazard_prevents_damage() -> None:
    after = step(position(A, FAR, hazards=[(3, 2)], food=[(3, 2)]), "right", "left")
    assert after.health[0] == 100
    assert len(after.bodies[0]) == 4


def test_stacked_hazards_add_up() -> None:
    after = step(position(A, FAR, hazards=[(3, 2)] * 3), "right", "left")
    assert after.health[0] == 57


def test_a_snake_killed_by_a_hazard_blocks_no_cell() -> None:
    other = [(4, 2), (5, 2), (6, 2)]
    before = position(A, other, FAR, health=(90, 15, 90), hazards=[(3, 2)])
    after = step(before, "right", "left", "left")
    assert causes(after) == [None, "hazard", None]
    assert after.health == (75, 0, 89)


def test_a_snake_starving_on_a_hazard_dies_of_the_hazard() -> None:
    before = position(A, FAR, health=(1, 90), hazards=[(3, 2)])
    assert causes(step(before, "right", "left"))[0] == "hazard"


def test_negative_hazard_damage_heals_up_to_full_health() -> None:
    def health(had: int, **more: Any) -> int:
        before = position(A, FAR, health=(had, 9), hazardDamagePerTurn=-5, **more)
        return step(before, "right", "left").health[0]

    assert health(50, hazards=[(3, 2)]) == 54
    assert health(99, hazards=[(3, 2)] * 2) == 100


def test_a_wrapped_board_moves_the_head_to_the_opposite_side() -> None:
    edges = [[(0, 5), (1, 5)], [(10, 3), (9, 3)], [(5, 0), (5, 1)], [(7, 10), (7, 9)]]
    after = step(position(*edges, ruleset="wrapped"), "left", "right", "down", "up")
    assert bodies(after) == [
        [(10, 5), (0, 5)],
        [(0, 3), (10, 3)],
        [(5, 10), (5, 0)],
        [(7, 0), (7, 10)],
    ]
    assert causes(after) == [None] * 4


def test_constrictors_grow_every_turn() -> None:
    before = position(A, FAR, health=(50, 2), food=[(5, 5)], ruleset="constrictor")
    after = step(before, "right", "left")
    assert bodies(after)[0] == [(3, 2), (2, 2), (2, 1), (2, 1)]
    assert after.health == (100, 100)
    assert after.food == ()
    assert [len(body) for body in step(after, "right", "left").bodies] == [5, 5]


def test_an_eliminated_constrictor_grows_once() -> None:
    after = step(position([(0, 2), (1, 2)], FAR, A, ruleset="constrictor"), "left", "left", "up")
    assert bodies(after)[0] == [(-1, 2), (0, 2), (0, 2)]
    assert step(after, "left", "up").bodies[0] == after.bodies[0]


def test_a_stacked_constrictor_does_not_grow_on_the_first_turn() -> None:
    before = position([(5, 5)] * 3, [(2, 2)] * 3, turn=0, ruleset="wrapped_constrictor")
    after = step(before, "up", "up")
    assert bodies(after)[0] == [(5, 6), (5, 5), (5, 5)]
    assert len(step(after, "up", "up").bodies[0]) == 4


def test_no_seat_moves_after_the_deciding_turn() -> None:
    after = step(position([(0, 2), (1, 2)], FAR), "left", "left")
    assert bodies(after)[1][0] == (8, 9)
    assert GAME.to_move(after) == ()
    outcome = GAME.outcome(after)
    assert outcome is not None
    assert (outcome.placements, outcome.rewards) == ((2, 1), (0.0, 1.0))


def test_a_solo_game_ends_when_the_last_snake_dies() -> None:
    after = step(position([(0, 2), (1, 2)], FAR, ruleset="solo"), "left", "left")
    assert GAME.to_move(after) == (1,)
    alone = step(position(FAR), "left")
    assert GAME.to_move(alone) == (0,)
    ended = step(step(alone, "up"), "up")
    outcome = GAME.outcome(ended)
    assert outcome is not None
    assert outcome.placements == (1,)
    assert outcome.rewards == (8.0,)
    assert outcome.statistics == ({"turns": 8, "length": 3},)


def test_snakes_eliminated_in_one_turn_tie() -> None:
    leaving, other = [(0, 2), (1, 2)], [(0, 4), (1, 4)]
    after = step(position(leaving, other, A, FAR, maxTurns=6), "left", "left", "up", "left")
    outcome = GAME.outcome(after)
    assert outcome is not None
    assert outcome.placements == (3, 3, 1, 1)
    assert outcome.rewards == (1 / 6, 1 / 6, 5 / 6, 5 / 6)
    assert outcome.verdicts == (Verdict.DONE,) * 4
