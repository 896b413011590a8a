"""Where Battlesnake puts snakes, food and hazards, and what it lets be configured."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from games.battlesnake import GAME
from games.protocol import ConfigurationError, GameError
from tests.unit.games.snakes import position, step

CORNERS = {(1, 1), (1, 9), (9, 1), (9, 9)}
MIDDLES = {(1, 5), (5, 1), (5, 9), (9, 5)}


def start(seats: int, seed: int = 0, **overrides: Any) -> tuple[list[Any], list[Any]]:
    """Heads and food of a first position."""
    _, drawn = GAME.reset(GAME.configure(overrides), seats, Random(seed))
    return [tuple(cell) for cell in drawn["heads"]], [tuple(cell) for cell in drawn["food"]]


def test_a_snake_starts_as_three_stacked_cells() -> None:
    state, _ = GAME.reset(GAME.configure({}), 2, Random(1))
    assert [len(body) for body in state.bodies] == [3, 3]
    assert [len(set(body)) for body in state.bodies] == [1, 1]
    assert state.health == (100, 100)


def test_two_snakes_start_in_all_corner_or_middle_pairs_equally_often() -> None:
    pairs = Counter(frozenset(start(2, seed)[0]) for seed in range(6000))
    assert all(pair <= CORNERS or pair <= MIDDLES for pair in pairs)
    assert len(pairs) == 12
    assert all(abs(count - 500) < 5 * (500 * 11 / 12) ** 0.5 for count in pairs.values())


def test_eight_snakes_start_in_all_corners_and_middles() -> None:
    for seed in range(20):
        heads, _ = start(8, seed)
        assert set(heads) == CORNERS | MIDDLES
        assert set(heads[:4]) in (CORNERS, MIDDLES)


def test_sixteen_snakes_start_four_in_each_quarter() -> None:
    for side in (11, 12, 19, 25):
        heads, food = start(16, side, width=side, height=side)
        quarters = Counter((2 * x > side - 1, 2 * y > side - 1) for x, y in heads)
        assert sorted(quarters.values()) == [4, 4, 4, 4]
        assert len(set(heads)) == 16
        assert len(set(food)) == 17
        nine = Counter((2 * x > side - 1, 2 * y > side - 1) for x, y in heads[:9])
        assert sorted(nine.values()) == [2, 2, 2, 3]


@pytest.mark.parametrize("size", [(5, 5), (11, 7), (6, 6), (10, 10)])
def test_snakes_on_other_boards_start_on_even_cells(size: Any) -> None:
    width, height = size
    seats = 9 if width == height == 10 else 4
    for seed in range(100):
        heads, food = start(seats, seed, width=width, height=height)
        assert all((x + y) % 2 == 0 for x, y in heads)
        assert ((width - 1) // 2, (height - 1) // 2) not in heads
        assert len(set(heads)) == seats
        assert len(food) <= (1 if width == height == 10 else seats)


def test_more_than_eight_snakes_are_refused_on_a_board_under_seven() -> None:
    with pytest.raises(GameError, match="at most 8 snakes"):
        start(9, width=6, height=6)
    with pytest.raises(GameError, match="room for 4 snakes"):
        start(5, width=3, height=3)
    with pytest.raises(GameError, match="1 to 16 snakes"):
        start(17)


@pytest.mark.parametrize("side", range(7, 26))
def test_each_snake_starts_with_diagonal_food(
    side: int,
) -> None:
    middle = (side - 1) // 2
    for seed in range(20):
        seats = 1 + seed % (4 if side < 11 else 16)
        heads, food = start(seats, seed, width=side, height=side)
        assert food[-1] == (middle, middle)
        assert len(food) == len(set(food)) == seats + 1
        for (x, y), (a, b) in zip(heads, food[:-1], strict=True):
            assert abs(a - x) == abs(b - y) == 1
            assert abs(a - middle) > abs(x - middle) or abs(b - middle) > abs(y - middle)
            assert (a, b) not in [(c, d) for c in (0, side - 1) for d in (0, side - 1)]
            assert (a, b) not in heads


def test_five_snakes_on_a_small_board_share_the_centre_food() -> None:
    assert start(5, width=9, height=9)[1] == [(4, 4)]
    assert len(start(4, width=9, height=9)[1]) == 5


def test_a_rectangular_board_starts_with_one_food_per_snake() -> None:
    heads, food = start(3, width=11, height=8)
    assert len(food) == 3
    assert not {(x + a, y + b) for x, y in heads for a, b in ((0, 1), (1, 0))} & set(food)


def test_empty_maps_and_constrictor_games_start_without_food() -> None:
    assert start(4, map="empty")[1] == []
    assert start(4, ruleset="constrictor")[1] == []
    assert start(4, ruleset="constrictor", map="standard")[1] == []


@pytest.mark.parametrize(("chance", "share"), [(15, 0.14), (100, 0.99), (1, 0.0), (0, 0.0)])
def test_food_spawns_one_percent_less_often_than_configured(chance: int, share: float) -> None:
    state = position([(5, 5)], [(8, 8)], foodSpawnChance=chance)
    rng, turns = Random(3), 3000
    came = sum(len(GAME.step(state, {0: "up", 1: "up"}, rng)[1]["food"]) for _ in range(turns))
    assert abs(came / turns - share) <= 4 * (share * (1 - share) / turns) ** 0.5


def test_food_is_refilled_to_the_minimum() -> None:
    state = position([(5, 5)], [(8, 8)], food=[(1, 1)], foodSpawnChance=100, minimumFood=4)
    after, drawn = GAME.step(state, {0: "up", 1: "up"}, Random(3))
    assert len(drawn["food"]) == 3
    assert len(after.food) == 4


def test_food_never_spawns_on_a_body_or_beside_a_head() -> None:
    state = position(
        [(1, 1), (0, 1)], [(1, 2), (2, 2)], width=3, height=3, minimumFood=9, hazards=[(0, 0)]
    )
    after, drawn = GAME.step(state, {0: "up", 1: "up"}, Random(3))
    # The second left the board, so what it lay on is free but for the first one's next cells.
    assert after.alive == (0,)
    free = {(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)}
    assert {tuple(cell) for cell in drawn["food"]} == free


def test_royale_hazards_advance_by_one_side_every_few_turns() -> None:
    configuration = GAME.configure({"ruleset": "royale", "map": "royale", "maxTurns": 300})
    state, _ = GAME.reset(configuration, 2, Random(5))
    body = state.bodies
    rng, before = Random(7), 0
    for turn in range(1, 300):
        state, drawn = GAME.step(
            state._replace(bodies=body, health=(100, 100)), {0: "up", 1: "up"}, rng
        )
        assert (drawn["shrink"] is None) == (turn % 25 > 0)
        assert len(set(state.hazards)) == len(state.hazards) >= before
        before = len(state.hazards)
        assert (before == 0) == (turn < 25)
        assert turn != 25 or before == 11
        assert turn != 50 or before in (21, 22)
    assert before > 80


def test_new_hazards_do_damage_from_the_next_turn() -> None:
    state = position([(0, 5), (0, 4)], [(9, 9), (9, 8)], turn=24, map="royale")
    after = step(state, "up", "up", chance={"food": [], "shrink": "left"})
    assert after.health[0] == 99
    later = step(after, "up", "left")
    assert later.health[0] == 99 - 15


def test_every_start_draws_unique_ids() -> None:
    drawn = [GAME.reset(GAME.configure({}), 4, Random(seed))[1] for seed in range(50)]
    ids = [name for one in drawn for name in (one["game"], *one["snakes"])]
    assert len(set(ids)) == 250


def test_the_standard_configuration_matches_the_official_rules() -> None:
    assert GAME.configure({}) == {
        "ruleset": "standard",
        "map": "standard",
        "width": 11,
        "height": 11,
        "foodSpawnChance": 15,
        "minimumFood": 1,
        "hazardDamagePerTurn": 14,
        "shrinkEveryNTurns": 25,
        "maxTurns": 800,
        "timeout": 500,
    }
    assert GAME.configure({"ruleset": "wrapped_constrictor"})["map"] == "empty"
    assert GAME.configure({"ruleset": None, "width": 7.0})["width"] == 7
    assert GAME.longest(GAME.configure({"maxTurns": 7})) == 7


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ruleset", "squad"),
        ("ruleset", 1),
        ("ruleset", ["standard"]),
        ("map", "snail_mode"),
        ("width", 2),
        ("height", 51),
        ("height", "7"),
        ("width", True),
        ("foodSpawnChance", 101),
        ("foodSpawnChance", -1),
        ("minimumFood", -1),
        ("hazardDamagePerTurn", -101),
        ("shrinkEveryNTurns", 0),
        ("maxTurns", 0),
        ("timeout", 0),
        ("seed", 7),
    ],
)
def test_a_wrong_configuration_field_is_named(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{field}: ") as refusal:
        GAME.configure({field: value})
    assert refusal.value.field == field


def test_the_error_for_an_unknown_field_lists_all_fields() -> None:
    with pytest.raises(ConfigurationError, match="there are ruleset, map, width, height"):
        GAME.configure({"seed": 7})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"food": [[5, 5]]}, "expected 1 free cells"),
        ({"food": [[0, 0], [0, 1]]}, "expected 1 free cells"),
        ({"food": [[20, 1]]}, "not on the board"),
        ({"shrink": "left"}, "shrink: turn 6"),
    ],
)
def test_invalid_recorded_chance_is_refused(wrong: Any, message: str) -> None:
    state = position([(5, 4), (5, 3)], [(8, 8)], foodSpawnChance=15)
    with pytest.raises(GameError, match=message):
        step(state, "up", "up", chance={"food": [], "shrink": None, **wrong})


def test_missing_recorded_food_is_refused() -> None:
    with pytest.raises(GameError, match="expected 1 free cells"):
        step(position([(5, 4)], [(8, 8)], minimumFood=1), "up", "up")
    bare, chance = position([(5, 4)], [(8, 8)], map="empty"), {"food": [[0, 0]], "shrink": None}
    with pytest.raises(GameError, match="this map has none"):
        step(bare, "up", "up", chance=chance)


def test_an_invalid_recorded_start_is_refused() -> None:
    good = {"game": "g", "snakes": ["a", "b"], "heads": [[1, 1], [9, 9]], "food": []}
    for wrong in ({"heads": [[1, 1]]}, {"heads": [[1, 1], [1, 1]]}, {"snakes": ["a", "a"]}):
        with pytest.raises(GameError, match="needs 2 different"):
            GAME.reset(GAME.configure({}), 2, {**good, **wrong})
