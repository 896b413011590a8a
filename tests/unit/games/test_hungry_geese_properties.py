"""What holds in every game of Hungry Geese, found by playing many."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from games.hungry_geese import GAME, Ending, State
from games.protocol import Verdict
from tests.unit.games.positions import play

configurations = st.fixed_dictionaries(
    {},
    optional={
        "columns": st.integers(3, 12),
        "rows": st.integers(3, 12),
        "hunger_rate": st.integers(1, 50),
        "min_food": st.integers(1, 12),
        "max_length": st.integers(1, 12),
        "episodeSteps": st.integers(1, 80),
    },
).map(GAME.configure)
games = st.builds(play, configurations, st.integers(1, 8), st.integers(0, 2**32))
Played = tuple[list[State], list[Any], list[dict[int, Any]]]


@settings(max_examples=150, deadline=None)
@given(games)
def test_no_cell_is_occupied_twice(played: Played) -> None:
    for state in played[0]:
        cells = [*state.food, *(cell for goose in state.geese for cell in goose)]
        assert len(cells) == len(set(cells))
        assert state.rules.board.issuperset(cells)


@settings(max_examples=150, deadline=None)
@given(games)
def test_food_and_lengths_follow_the_rules(played: Played) -> None:
    states, events, _ = played
    for before, after, event in zip(states, states[1:], events[1:], strict=False):
        occupied = sum(map(len, after.geese))
        room = after.rules.cells - occupied
        assert min(after.rules.min_food, room) <= len(after.food) <= room
        assert after.food[len(after.food) - len(event["food"]) :] == tuple(event["food"])
        hungry = after.step % after.rules.hunger_rate == 0
        for old, new in zip(before.geese, after.geese, strict=True):
            grown = len(new) - len(old)
            assert not new or grown in ((0, -1) if hungry else (0, 1))
            assert len(new) <= after.rules.max_length


@settings(max_examples=150, deadline=None)
@given(games)
def test_only_active_or_surviving_geese_are_on_the_board(played: Played) -> None:
    for state in played[0]:
        for seat, goose in enumerate(state.geese):
            stands = seat in state.active or state.endings[seat] is Ending.SURVIVED
            assert bool(goose) == stands
            assert (state.verdicts[seat] is Verdict.ACTIVE) == (seat in state.active)
            assert (state.rewards[seat] is None) == state.verdicts[seat].is_fault


@settings(max_examples=150, deadline=None)
@given(games)
def test_placements_follow_survival_time(played: Played) -> None:
    states = played[0]
    last = states[-1]
    outcome = GAME.outcome(last)
    assert outcome is not None
    assert last.step <= max(1, last.rules.episode_steps - 1)
    assert all(GAME.outcome(state) is None for state in states[:-1])
    lived = [
        -1 if outcome.rewards[seat] is None else sum(seat in s.active for s in states)
        for seat in range(len(last.geese))
    ]
    for one in range(len(lived)):
        for other in range(len(lived)):
            if lived[one] > lived[other]:
                assert outcome.placements[one] < outcome.placements[other]


@settings(max_examples=60, deadline=None)
@given(configurations, st.integers(1, 8), st.integers(0, 2**32))
def test_one_seed_gives_one_game(configuration: Any, seats: int, seed: int) -> None:
    assert play(configuration, seats, seed) == play(configuration, seats, seed)


@settings(max_examples=100, deadline=None)
@given(games, st.data())
def test_recorded_moves_and_chance_replay_the_same_states(played: Played, data: Any) -> None:
    states, events, moves = played
    events = json.loads(json.dumps(events))
    configuration = {
        "columns": states[0].rules.next_cell["SOUTH"][0],
        "rows": states[0].rules.cells // states[0].rules.next_cell["SOUTH"][0],
        "episodeSteps": states[0].rules.episode_steps,
        "hunger_rate": states[0].rules.hunger_rate,
        "min_food": states[0].rules.min_food,
        "max_length": states[0].rules.max_length,
    }
    state, again = GAME.reset(configuration, len(states[0].geese), events[0])
    assert (state, again) == (states[0], events[0])
    for expected, event, asked in zip(states[1:], events[1:], moves, strict=True):
        state, again = GAME.step(state, asked, event)
        assert (state, again) == (expected, event)


@settings(max_examples=100, deadline=None)
@given(games)
def test_an_observation_has_only_board_step_and_seat(
    played: Played,
) -> None:
    for state in played[0]:
        for seat in state.active:
            seen = GAME.observe(state, seat)
            assert seen == {
                "geese": [list(goose) for goose in state.geese],
                "food": list(state.food),
                "step": state.step,
                "index": seat,
            }
            assert json.loads(json.dumps(seen)) == seen
            seen["geese"][seat].clear()
            seen["food"].append(-1)
            assert state.geese[seat]
            assert -1 not in state.food


@settings(max_examples=100, deadline=None)
@given(games)
def test_steps_and_frames_never_change_a_state(played: Played) -> None:
    for state in played[0][:-1]:
        before = tuple(state)
        GAME.frame(state)["geese"].append("x")
        GAME.step(state, {seat: "NORTH" for seat in state.active}, Random(1))
        assert tuple(state) == before


@settings(max_examples=50, deadline=None)
@given(games)
def test_a_frame_shows_the_whole_board(played: Played) -> None:
    frame = GAME.frame(played[0][-1])
    assert json.loads(json.dumps(frame)) == frame
    assert None not in frame["endings"]
    assert frame.keys() == {"step", "geese", "food", "rewards", "statuses", "endings"}
