"""Invariants of Battlesnake, checked in many games."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from games.battlesnake import GAME
from games.battlesnake.rules import MAPS, MAX_HEALTH, RULESETS, State
from games.battlesnake.rules import play_turn as turn
from tests.unit.games.snakes import play

configurations = st.fixed_dictionaries(
    {"maxTurns": st.integers(1, 60), "width": st.integers(5, 12), "height": st.integers(5, 12)},
    optional={
        "ruleset": st.sampled_from(RULESETS),
        "map": st.sampled_from(MAPS),
        "foodSpawnChance": st.integers(0, 100),
        "minimumFood": st.integers(0, 20),
        "hazardDamagePerTurn": st.integers(-20, 60),
        "shrinkEveryNTurns": st.integers(1, 10),
    },
).map(GAME.configure)
games = st.builds(play, configurations, st.integers(1, 8), st.integers(0, 2**32))
PER_SEAT = (
    "bodies",
    "health",
    "causes",
    "eliminated_on",
    "last_moves",
    "faults",
    "answered",
)
Played = tuple[list[State], list[Any], list[dict[int, Any]]]


@settings(max_examples=100, deadline=None)
@given(games)
def test_living_snakes_never_overlap(played: Played) -> None:
    for state in played[0]:
        rules = state.rules
        heads = [state.bodies[seat][0] for seat in state.alive]
        assert len(set(heads)) == len(heads)
        for seat in state.alive:
            body = state.bodies[seat]
            assert not rules.outside.intersection(body)
            assert 0 < state.health[seat] <= MAX_HEALTH
            assert not set(body).intersection(state.food)
            assert (
                state.bodies[seat][0]
                not in {cell for one in state.alive for cell in state.bodies[one][1:]}
                or len(set(body)) == 1
            )
        assert len(set(state.food)) == len(state.food)


@settings(max_examples=100, deadline=None)
@given(games)
def test_a_body_grows_at_most_one_cell_per_turn(played: Played) -> None:
    for before, after in zip(played[0], played[0][1:], strict=False):
        for seat, body in enumerate(after.bodies):
            old = before.bodies[seat]
            if seat in before.alive:
                assert body[1 : len(old)] == old[:-1]
                assert len(body) - len(old) in (0, 1)
                assert set(body[len(old) :]) <= {body[-1]}
            elif not after.rules.constrictor:
                assert body == old


@settings(max_examples=100, deadline=None)
@given(games)
def test_placements_follow_survival_time(played: Played) -> None:
    states = played[0]
    last = states[-1]
    outcome = GAME.outcome(last)
    assert outcome is not None
    assert last.turn == len(states) - 1 <= last.rules.max_turns
    assert all(GAME.outcome(state) is None for state in states[:-1])
    lived = [sum(seat in state.alive for state in states) for seat in range(len(last.bodies))]
    for one, placement in enumerate(outcome.placements):
        assert placement == 1 + sum(other > lived[one] for other in lived)
        assert (last.eliminated_on[one] is None) == (one in last.alive)
        assert (last.causes[one] is None) == (one in last.alive)
        assert (outcome.rewards[one] is None) == outcome.verdicts[one].is_fault


@settings(max_examples=60, deadline=None)
@given(games)
def test_recorded_moves_and_chance_replay_the_same_states(played: Played) -> None:
    states, events, moves = played
    events = json.loads(json.dumps(events))
    state, again = GAME.reset(states[0].rules.configuration, len(states[0].bodies), events[0])
    assert (state, again) == (states[0], events[0])
    for expected, event, asked in zip(states[1:], events[1:], moves, strict=True):
        state, again = GAME.step(state, asked, event)
        assert (state, again) == (expected, event)


@settings(max_examples=30, deadline=None)
@given(configurations, st.integers(1, 8), st.integers(0, 2**32))
def test_one_seed_gives_one_game(configuration: Any, seats: int, seed: int) -> None:
    assert play(configuration, seats, seed) == play(configuration, seats, seed)


@settings(max_examples=60, deadline=None)
@given(games, st.randoms(use_true_random=False))
def test_seat_order_does_not_change_the_result(played: Played, rng: Random) -> None:
    states, events, moves = played
    seats = list(range(len(states[0].bodies)))
    rng.shuffle(seats)

    def turned(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[seat] for seat in seats)

    for before, after, event, asked in zip(states, states[1:], events[1:], moves, strict=False):
        given = before._asdict() | {name: turned(getattr(before, name)) for name in PER_SEAT}
        alive = tuple(place for place, seat in enumerate(seats) if seat in before.alive)
        other = State(**{**given, "alive": alive})
        there, _ = turn(other, {seats.index(seat): move for seat, move in asked.items()}, event)
        for name in PER_SEAT:
            assert getattr(there, name) == turned(getattr(after, name))


@settings(max_examples=60, deadline=None)
@given(games)
def test_observations_and_frames_are_json_copies(played: Played) -> None:
    for state in played[0]:
        before = tuple(state)
        seen = [GAME.observe(state, seat) for seat in range(len(state.bodies))]
        frame = GAME.frame(state)
        assert json.loads(json.dumps([*seen, frame])) == [*seen, frame]
        for one in seen:
            one["you"]["body"].clear()
            one["board"]["food"].append({})
        frame["food"].append([])
        assert tuple(state) == before
