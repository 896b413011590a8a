"""A fork begins in the recorded state and goes on as the record if the moves are the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import GAMES
from games.episode import EpisodeError, recorded_moves, states
from games.forks import Fork, check_fork, moves_after, recorded_states
from games.protocol import InvalidMove, Verdict
from tests.unit.games.played import NAMES, random_episode


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.floats(0, 0.999))
def test_the_same_moves_after_a_fork_give_the_same_states(
    name: str, seed: int, share: float
) -> None:
    game: Any = GAMES[name]
    episode = random_episode(name, Random(seed), Random(seed + 1))
    fork = Fork(episode, int(share * len(episode.steps)), bytes(16))
    recorded = list(states(game, episode))
    chance = Random(seed)
    before = [state for _, state in recorded_states(game, fork, chance)]
    assert before == recorded[: fork.step + 1]
    state = before[-1]
    for number, step in enumerate(episode.steps[fork.step :], start=fork.step + 1):
        state, _ = game.step(state, recorded_moves(game, state, step), chance)
        assert state == recorded[number]
    assert [state for _, state in recorded_states(game, fork, None)] == before


@pytest.mark.parametrize("name", ["battlesnake", "hungry_geese", "snake"])
def test_a_seed_of_another_record_is_refused(name: str) -> None:
    episode = random_episode(name, Random(1), Random(2))
    fork = Fork(episode, len(episode.steps) - 1, bytes(16))
    with pytest.raises(EpisodeError, match="seed"):
        list(recorded_states(GAMES[name], fork, Random(3)))


@pytest.mark.parametrize("step", [-1, 10_000])
def test_a_step_outside_the_record_is_refused(step: int) -> None:
    episode = random_episode("hungry_geese", Random(1), Random(2))
    with pytest.raises(EpisodeError, match=r"step: give 0 to \d+"):
        check_fork(GAMES["hungry_geese"], Fork(episode, step))


def test_a_first_move_by_hand_that_the_game_refuses_is_named() -> None:
    episode = random_episode("hungry_geese", Random(1), Random(2))
    with pytest.raises(InvalidMove, match=r"moves\.1: "):
        check_fork(GAMES["hungry_geese"], Fork(episode, 0, moves={1: ("SIDEWAYS",)}))


def test_moves_by_hand_replace_answers_until_they_are_used_up() -> None:
    game: Any = GAMES["hungry_geese"]
    episode = random_episode("hungry_geese", Random(1), Random(2))
    state = check_fork(game, Fork(episode, 0))
    by_hand = {1: ["EAST", "SIDEWAYS"]}
    answers = {0: "NORTH", 1: "SOUTH"}
    assert moves_after(game, state, answers, by_hand) == {0: "NORTH", 1: "EAST"}
    assert moves_after(game, state, answers, by_hand) == {0: "NORTH", 1: Verdict.INVALID}
    assert moves_after(game, state, answers, by_hand) == answers
