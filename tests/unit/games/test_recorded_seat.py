"""The recorded questions of a seat, and the first answer that differs from the record."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import GAMES
from games.episode import EpisodeError, states
from games.recorded_seat import Question, bank_before, differences, questions
from tests.unit.games.played import NAMES, random_episode
from tests.unit.games.positions import episode as geese_episode


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.floats(0, 0.999))
def test_the_first_changed_move_is_found_at_its_step(name: str, seed: int, share: float) -> None:
    game: Any = GAMES[name]
    episode = random_episode(name, Random(seed), Random(seed + 1))
    seat = seed % episode.seats
    asked = list(questions(game, episode, seat))
    positions = list(states(game, episode))
    for question in asked:
        assert question.observation == game.observe(positions[question.step - 1], seat)
    assert list(differences(game, episode, seat, lambda one: one.move)) == []
    changed = asked[int(share * len(asked))]

    def answer(question: Question) -> Any:
        return "another" if question.step >= changed.step else question.move

    found = next(differences(game, episode, seat, answer))
    assert (found.step, found.recorded, found.own) == (changed.step, changed.move, "another")
    assert found.observation == changed.observation


def test_a_recorded_fault_equals_the_same_fault_alone() -> None:
    episode = next(one for one in map(geese_episode, range(100)) if "TIMEOUT" in str(one.steps))
    game: Any = GAMES["hungry_geese"]
    at = next(n for n, step in enumerate(episode.steps, 1) if "TIMEOUT" in str(step.moves))
    seat = next(s for s, m in enumerate(episode.steps[at - 1].moves) if "TIMEOUT" in str(m))
    assert list(differences(game, episode, seat, lambda one: one.move)) == []
    (found,) = differences(
        game,
        episode,
        seat,
        lambda one: {"fault": "ERROR"} if one.step == at else one.move,
    )
    assert (found.step, found.recorded) == (at, {"fault": "TIMEOUT"})


def test_the_bank_before_a_step_is_the_one_after_the_last_answer() -> None:
    episode = geese_episode(3)
    assert bank_before(episode, 0, 1) == 60.0
    assert bank_before(episode, 0, 2) == 59.5
    seen = [one.bank_seconds for one in questions(GAMES["hungry_geese"], episode, 0)]
    assert seen[:2] == [60.0, 59.5]


def test_a_seat_that_the_episode_lacks_is_refused() -> None:
    with pytest.raises(EpisodeError, match="seat: give 0 to 3"):
        next(questions(GAMES["hungry_geese"], geese_episode(3), 4))
