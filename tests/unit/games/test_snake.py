"""The rules of Snake by positions made by hand, and what holds in every game; y grows downwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import episode
from games.protocol import ConfigurationError, GameError, InvalidMove, Verdict
from games.snake import GAME, OFFSETS, State, rules_for


def position(
    snake: Sequence[tuple[int, int]],
    apple: tuple[int, int] | None,
    *,
    size: tuple[int, int] = (4, 4),
    step: int = 5,
    max_steps: int = 100,
) -> State:
    rules = rules_for(*size, max_steps)
    cells = tuple(y * rules.width + x for x, y in snake)
    return State(rules, step, cells, apple and apple[1] * rules.width + apple[0], Verdict.ACTIVE)


def move(state: State, way: str, apple: list[int] | None = None) -> State:
    after, chance = GAME.step(state, {0: GAME.parse(state, 0, way)}, {"apple": apple})
    assert chance == {"apple": apple}
    return after


def shown(state: State) -> list[list[int]]:
    found: list[list[int]] = GAME.frame(state)["snake"]
    return found


def result(state: State) -> Any:
    outcome = GAME.outcome(state)
    assert outcome is not None
    return outcome


def test_the_snake_starts_two_cells_long_at_5_2() -> None:
    state, chance = GAME.reset(GAME.configure({}), 1, {"apple": [9, 9]})
    assert GAME.observe(state, 0) == {
        "step": 0,
        "width": 10,
        "height": 10,
        "snake": [[5, 2], [5, 1]],
        "apple": [9, 9],
        "max_steps": 1200,
    }
    assert chance == {"apple": [9, 9]}


@pytest.mark.parametrize(("way", "there"), [("down", [1, 2]), ("left", [0, 1]), ("right", [2, 1])])
def test_a_move_advances_the_tail(way: str, there: list[int]) -> None:
    after = move(position([(1, 1), (1, 0)], (3, 3)), way)
    assert shown(after) == [there, [1, 1]]
    assert GAME.observe(after, 0)["step"] == 6


def test_eating_grows_the_snake() -> None:
    after = move(position([(1, 1), (1, 0)], (1, 2)), "down", [0, 0])
    assert shown(after) == [[1, 2], [1, 1], [1, 0]]
    assert GAME.frame(after)["apple"] == [0, 0]


@pytest.mark.parametrize("raw", ["UP", "north", "", None, 0, ["up"], {"move": "up"}])
def test_an_unknown_direction_is_refused(raw: Any) -> None:
    with pytest.raises(InvalidMove, match=r"^expected one of up, down, left, right"):
        GAME.parse(position([(1, 1), (1, 0)], (3, 3)), 0, raw)


@pytest.mark.parametrize(
    ("snake", "way", "reason"),
    [
        ([(0, 1), (1, 1)], "left", "left leaves the board"),
        ([(3, 0), (3, 1)], "right", "right leaves the board"),
        ([(3, 0), (3, 1)], "up", "up leaves the board"),
        ([(3, 3), (3, 2)], "down", "down leaves the board"),
        ([(1, 1), (1, 0)], "up", "up goes into the snake"),
        # The tail would be gone by then, and yet.
        ([(1, 1), (1, 2), (2, 2), (2, 1)], "right", "right goes into the snake"),
    ],
)
def test_the_snake_cannot_enter_an_occupied_cell(
    snake: list[tuple[int, int]], way: str, reason: str
) -> None:
    with pytest.raises(InvalidMove, match=f"^{reason}$"):
        GAME.parse(position(snake, (3, 3)), 0, way)


def test_a_snake_with_only_the_tail_cell_left_is_trapped() -> None:
    after = move(position([(0, 1), (1, 1), (1, 0)], (3, 3)), "up")
    assert GAME.to_move(after) == (0,)
    body = [(0, 1), (0, 2), (1, 2), (1, 1), (1, 0), (2, 0)]
    after = move(position(body, (3, 3)), "up")
    assert shown(after)[-1] == [1, 0]
    assert GAME.to_move(after) == ()
    assert result(after).statistics == ({"won": 0, "length": 6, "steps": 6},)
    assert result(after).verdicts == (Verdict.DONE,)


def test_a_forced_move_counts_as_a_step() -> None:
    state = position([(0, 0), (1, 0)], (3, 3))
    assert GAME.to_move(state) == (0,)
    for way in ("right", "up", "left"):
        with pytest.raises(InvalidMove):
            GAME.parse(state, 0, way)
    after = move(state, "down")
    assert GAME.frame(after)["step"] == 6


SEVEN = [(1, 2), (0, 2), (0, 1), (1, 1), (2, 1), (2, 0), (1, 0), (0, 0)]
"""All cells but one of a board of 3x3."""


def test_a_full_board_is_won() -> None:
    after = move(position(SEVEN, (2, 2), size=(3, 3)), "right")
    assert GAME.frame(after)["apple"] is None
    assert result(after).statistics == ({"won": 1, "length": 9, "steps": 6},)
    assert result(after).rewards == (9,)


def test_a_win_on_the_last_step_counts() -> None:
    state = position(SEVEN, (2, 2), size=(3, 3), step=1199, max_steps=1200)
    assert result(move(state, "right")).statistics == ({"won": 1, "length": 9, "steps": 1200},)


def test_the_step_limit_ends_the_game_with_the_current_length() -> None:
    state = position([(1, 1), (1, 0)], (1, 2), step=98, max_steps=100)
    state = move(state, "right")
    assert GAME.to_move(state) == (0,)
    assert result(move(state, "right")).statistics == ({"won": 0, "length": 2, "steps": 100},)
    state = position([(1, 1), (1, 0)], (1, 2), step=99, max_steps=100)
    assert result(move(state, "down", [0, 0])).rewards == (3,)


@pytest.mark.parametrize("fault", [Verdict.ERROR, Verdict.INVALID, Verdict.TIMEOUT])
def test_a_fault_ends_the_game_without_a_reward(fault: Verdict) -> None:
    state = position([(1, 1), (1, 0)], (3, 3))
    after, chance = GAME.step(state, {0: fault}, Random(0))
    assert chance == {"apple": None}
    outcome = result(after)
    assert (outcome.rewards, outcome.verdicts, outcome.placements) == ((None,), (fault,), (1,))
    assert outcome.statistics == ({"won": 0, "length": 2, "steps": 5},)


def test_invalid_step_arguments_are_refused() -> None:
    state = position([(1, 1), (1, 0)], (1, 2))
    for moves in ({}, {0: None}, {0: "up"}, {0: Verdict.DONE}, {0: "north"}):
        with pytest.raises(GameError):
            GAME.step(state, moves, Random(0))
    for way, apple in (("left", [3, 3]), ("down", None), ("down", [1, 1]), ("down", [4, 0])):
        with pytest.raises((GameError, TypeError)):
            GAME.step(state, {0: way}, {"apple": apple})
    over, _ = GAME.step(state, {0: Verdict.ERROR}, Random(0))
    with pytest.raises(GameError, match="over"):
        GAME.step(over, {0: "down"}, Random(0))
    with pytest.raises(GameError, match="seats"):
        GAME.reset(GAME.configure({}), 2, Random(0))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("width", 1),
        ("height", 2),
        ("height", 10_000_000),
        ("maxSteps", 0),
        ("maxSteps", 1.5),
        ("width", "10"),
        ("steps", 7),
    ],
)
def test_a_wrong_configuration_field_is_named(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{field}: "):
        GAME.configure({field: value})


def test_the_standard_configuration_matches_the_paper() -> None:
    configuration = GAME.configure({"width": None})
    assert configuration == {"width": 10, "height": 10, "maxSteps": 1200}
    assert GAME.longest(configuration) == 1200


Played = tuple[dict[str, Any], list[State], list[Any], list[str]]


def play(width: int, height: int, max_steps: int, seed: int) -> Played:
    """A game of random free moves, mostly straight to the apple."""
    configuration = GAME.configure({"width": width, "height": height, "maxSteps": max_steps})
    chance, player = Random(seed), Random(f"player {seed}")
    state, drawn = GAME.reset(configuration, 1, chance)
    states, events, moves = [state], [drawn], []
    while GAME.to_move(state):
        seen = GAME.observe(state, 0)
        x, y = seen["snake"][0]
        free = {
            way: abs(x + dx - seen["apple"][0]) + abs(y + dy - seen["apple"][1])
            for way, (dx, dy) in OFFSETS.items()
            if 0 <= x + dx < width
            and 0 <= y + dy < height
            and [x + dx, y + dy] not in seen["snake"]
        }
        near = min(free, key=lambda way: free[way])
        moves.append(near if player.random() < 0.8 else player.choice(sorted(free)))
        state, drawn = GAME.step(state, {0: moves[-1]}, chance)
        states.append(state)
        events.append(drawn)
    return configuration, states, events, moves


games = st.builds(
    play, st.integers(2, 7), st.integers(3, 7), st.integers(1, 90), st.integers(0, 2**32)
)


@settings(max_examples=80, deadline=None)
@given(games)
def test_a_snake_grows_only_by_apples(played: Played) -> None:
    configuration, states, _, moves = played
    for before, after, way in zip(states, states[1:], moves, strict=False):
        old, new = shown(before), shown(after)
        dx, dy = OFFSETS[way]
        assert new[0] == [old[0][0] + dx, old[0][1] + dy]
        eaten = new[0] == GAME.frame(before)["apple"]
        assert new[1:] == (old if eaten else old[:-1])
        assert GAME.frame(after)["apple"] not in new
    for state in states:
        cells = shown(state)
        assert len({tuple(cell) for cell in cells}) == len(cells)
        assert all(
            0 <= x < configuration["width"] and 0 <= y < configuration["height"] for x, y in cells
        )


@settings(max_examples=80, deadline=None)
@given(games)
def test_a_game_ends_only_trapped_full_or_at_the_step_limit(played: Played) -> None:
    configuration, states, _, moves = played
    assert all(GAME.outcome(state) is None for state in states[:-1])
    last = states[-1]
    (told,) = result(last).statistics
    assert told == {
        "won": int(len(last.snake) == configuration["width"] * configuration["height"]),
        "length": len(last.snake),
        "steps": len(moves),
    }
    near = last.rules.next_cell[last.snake[0]].values()
    assert len(moves) == configuration["maxSteps"] or set(near) <= set(last.snake)
    assert len(moves) <= GAME.longest(configuration)


@settings(max_examples=60, deadline=None)
@given(games)
def test_a_recorded_episode_replays_from_bytes(played: Played) -> None:
    configuration, states, events, moves = played
    outcome = result(states[-1])
    record = episode.Episode(
        game=GAME.name,
        version=GAME.version,
        configuration=configuration,
        clock=dict(GAME.clock),
        seats=1,
        chance=events[0],
        steps=tuple(
            episode.Step((way,), event, (None,), (None,))
            for way, event in zip(moves, events[1:], strict=True)
        ),
        placements=outcome.placements,
        rewards=outcome.rewards,
        verdicts=tuple(map(str, outcome.verdicts)),
    )
    assert list(episode.states(GAME, episode.from_bytes(episode.to_bytes(record)))) == states


@settings(max_examples=30, deadline=None)
@given(games)
def test_an_observation_is_a_json_copy(played: Played) -> None:
    for state in played[1]:
        seen = GAME.observe(state, 0)
        assert json.loads(json.dumps(seen)) == seen
        seen["snake"][0].clear()
        assert len(shown(state)[0]) == 2


def test_apples_appear_on_all_free_cells_equally_often() -> None:
    counts: dict[tuple[int, int], int] = {}
    rng, configuration = Random(7), GAME.configure({"width": 3, "height": 3})
    for _ in range(7000):
        _, chance = GAME.reset(configuration, 1, rng)
        counts[tuple(chance["apple"])] = counts.get(tuple(chance["apple"]), 0) + 1
    assert len(counts) == 7
    assert all(850 < count < 1150 for count in counts.values())
