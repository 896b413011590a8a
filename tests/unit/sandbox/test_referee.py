"""The referee where no process is needed: refused bundles, broken rules, seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from games import GAMES
from games.hungry_geese import HungryGeese, State
from games.protocol import Json, Measure, Outcome, Verdict
from sandbox import referee
from sandbox.clock import Clock
from sandbox.errors import BundleRefused, HostFault
from sandbox.record import Played

GEESE = GAMES["hungry_geese"]
REFUSED = BundleRefused("leads outside the archive", "../main.py")


def _play(game: Any, seats: int = 4) -> Played:
    return referee.play(
        game,
        GEESE.configure({}),
        Clock(),
        bytes(16),
        [REFUSED] * seats,
        lanes=1,
        stop_after_seconds=60,
    )


def test_a_match_of_refused_bundles_ends_with_a_reason_for_each() -> None:
    played = _play(GEESE)
    assert len(played.episode.steps) == 1
    assert played.episode.steps[0].moves == ({"fault": "ERROR"},) * 4
    assert played.episode.steps[0].charged_seconds == (None,) * 4
    for report in played.seats:
        assert (report.verdict, report.failed_step) == (Verdict.ERROR, 0)
        assert report.reason is not None
        assert "../main.py" in report.reason
        assert (report.charged_seconds, report.max_move_seconds) == (0.0, 0.0)


class BrokenStep(HungryGeese):
    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        raise IndexError("the rules are wrong")


class BrokenReset(HungryGeese):
    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[State, Json]:
        raise KeyError("rows")


class NeverOver(HungryGeese):
    def to_move(self, state: State) -> tuple[int, ...]:
        return (0,)

    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        return state, {"food": []}


@pytest.mark.parametrize(
    ("game", "words"),
    [(BrokenStep(), "failed in step: .*the rules are wrong"), (BrokenReset(), "failed in reset")],
)
def test_rules_that_raise_are_the_games_fault_and_nobody_elses(game: Any, words: str) -> None:
    with pytest.raises(referee.GameFault, match=words):
        _play(game)


class Telling(HungryGeese):
    """It tells a reward and what it is measured by besides."""

    measures = (Measure("won", "Games won", "share"),)

    def __init__(self, reward: Any, told: Any) -> None:
        self.told = (reward, told)

    def outcome(self, state: State) -> Outcome | None:
        found, (reward, told) = super().outcome(state), self.told
        return found and replace(found, rewards=(reward,) * 4, statistics=(told,) * 4)


@pytest.mark.parametrize(
    ("reward", "told", "words"),
    [
        (float("nan"), {}, "reward should be a number up to"),
        (1e200, {}, "reward should be a number up to"),
        (1.0, {"length": 10**400}, "length should be a number up to"),
        (1.0, {"length": "12"}, "length should be a number up to"),
        (1.0, {"won": 2}, "won should be a number from 0 to 1, it is 2"),
        (1.0, {"won": -1}, "won should be a number from 0 to 1"),
        (1.0, [1], "outcome"),
    ],
)
def test_numbers_that_no_season_could_add_up_are_the_games_fault(
    reward: Any, told: Any, words: str
) -> None:
    with pytest.raises(referee.GameFault, match=words):
        _play(Telling(reward, told))


def test_numbers_that_a_season_can_add_up_are_told_with_each_seat() -> None:
    played = _play(Telling(None, {"won": True, "length": -3.5}))
    assert played.seats[0].statistics == {"won": True, "length": -3.5}


def test_a_game_that_never_ends_is_stopped() -> None:
    with pytest.raises(HostFault, match=r"did not end within 0\.1 s"):
        referee.play(
            NeverOver(),
            GEESE.configure({}),
            Clock(),
            bytes(16),
            [REFUSED],
            lanes=1,
            stop_after_seconds=0.1,
        )


def test_seats_and_game_draw_from_seeds_that_tell_nothing_of_each_other() -> None:
    seed = bytes(range(16))
    seeds = {referee.seat_seed(seed, seat) for seat in range(8)}
    assert len(seeds) == 8
    assert {len(one) for one in seeds} == {16}
    assert seed not in seeds
    assert referee.game_random(seed).random() == referee.game_random(seed).random()
    assert referee.game_random(seed).random() != referee.game_random(bytes(16)).random()
    assert referee.seat_seed(seed, 0) != referee.seat_seed(bytes(16), 0)
