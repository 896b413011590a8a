"""PettingZoo's environments as games: two of its classics keep every promise of the Protocol."""

from __future__ import annotations

import math
from functools import partial
from random import Random
from typing import Any

import pettingzoo
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from games.conformance import check_conformance
from games.pettingzoo import PettingZooGame
from games.protocol import GameError, InvalidMove, Verdict
from tests.unit.games import worked_example

DOCUMENTED = worked_example.adapters()
TICTACTOE: PettingZooGame = DOCUMENTED["TICTACTOE"]
ROCK_PAPER_SCISSORS: PettingZooGame = DOCUMENTED["RPS"]
CONNECT_FOUR = PettingZooGame(
    partial(pettingzoo.make, "aec", "classic/connect_four-v3"),
    name="connect_four",
    title="Connect four",
    version="3",
    longest=lambda configuration: 42,
)


@pytest.mark.parametrize("game", [TICTACTOE, ROCK_PAPER_SCISSORS], ids=lambda game: game.name)
def test_classic_games_pass_every_conformance_check(game: PettingZooGame) -> None:
    assert check_conformance(game, games=3).broken == {}
    assert game.seats == range(2, 3)
    assert game.version.endswith(f"+pettingzoo-{pettingzoo.__version__}")


def play(game: PettingZooGame, *moves: dict[int, Any]) -> Any:
    state, _ = game.reset(game.configure({}), 2, Random(1))
    for step in moves:
        assert set(step) == set(game.to_move(state))
        parsed = {
            seat: move if isinstance(move, Verdict) else game.parse(state, seat, move)
            for seat, move in step.items()
        }
        state, _ = game.step(state, parsed, Random(1))
    return state


def test_three_in_a_row_wins() -> None:
    state = play(TICTACTOE, {0: 0}, {1: 3}, {0: 1}, {1: 4}, {0: 2})
    outcome = TICTACTOE.outcome(state)
    assert outcome is not None
    assert (outcome.placements, outcome.rewards) == ((1, 2), (1.0, -1.0))
    assert TICTACTOE.to_move(state) == ()


def test_four_in_a_column_win() -> None:
    columns = [{turn % 2: turn % 2} for turn in range(7)]
    outcome = CONNECT_FOUR.outcome(play(CONNECT_FOUR, *columns))
    assert outcome is not None
    assert outcome.placements == (1, 2)


def test_simultaneous_moves_are_scored_over_all_rounds() -> None:
    rock, paper = 0, 1
    ahead = [{0: paper, 1: rock}] * 8 + [{0: rock, 1: paper}] * 7
    outcome = ROCK_PAPER_SCISSORS.outcome(play(ROCK_PAPER_SCISSORS, *ahead))
    assert outcome is not None
    assert (outcome.placements, outcome.rewards) == ((1, 2), (1.0, -1.0))
    even = ROCK_PAPER_SCISSORS.outcome(play(ROCK_PAPER_SCISSORS, *[{0: rock, 1: rock}] * 15))
    assert even is not None
    assert even.placements == (1, 1)


def test_a_masked_action_is_an_invalid_move() -> None:
    state = play(TICTACTOE, {0: 4})
    assert TICTACTOE.observe(state, 1)["action_mask"] == [1, 1, 1, 1, 0, 1, 1, 1, 1]
    with pytest.raises(InvalidMove, match="4 is not allowed now"):
        TICTACTOE.parse(state, 1, 4)


@pytest.mark.parametrize("raw", [9, -1, 1.0, True, None, "1", [1]])
def test_an_action_outside_the_space_is_an_invalid_move(raw: Any) -> None:
    with pytest.raises(InvalidMove, match="expected one of Discrete"):
        TICTACTOE.parse(play(TICTACTOE), 0, raw)


def test_a_fault_ends_the_episode_with_the_faulty_seat_last() -> None:
    state = play(ROCK_PAPER_SCISSORS, {0: 1, 1: 0}, {0: Verdict.TIMEOUT, 1: 0})
    outcome = ROCK_PAPER_SCISSORS.outcome(state)
    assert outcome is not None
    assert (outcome.placements, outcome.rewards) == ((2, 1), (None, -1.0))
    assert outcome.verdicts == (Verdict.TIMEOUT, Verdict.DONE)


def test_a_wrong_number_of_seats_is_refused() -> None:
    with pytest.raises(GameError, match="is for 2, not 3"):
        TICTACTOE.reset({}, 3, Random(1))


class Walk:
    """Two walkers with spaces that are not Discrete, luck of their own, and an end for each."""

    def __init__(self) -> None:
        self.possible_agents = ["stepper", "glider"]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        return Box(-100.0, 100.0, (2,))

    def action_space(self, agent: str) -> Any:
        return MultiDiscrete([3, 3]) if agent == "stepper" else Box(-1.0, 1.0, (2,))

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.luck = Random(seed)
        self.agents = list(self.possible_agents)
        self.places = {agent: [self.luck.random(), math.inf] for agent in self.agents}
        self.left = {"stepper": 3, "glider": 5}
        return self.places, {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        rewards = {agent: float(sum(action)) for agent, action in actions.items()}
        for agent in actions:
            self.places[agent][0] += self.luck.random()
            self.left[agent] -= 1
        done = {agent: self.left[agent] == 0 for agent in actions}
        self.agents = [agent for agent in self.agents if not done[agent]]
        seen = {agent: list(self.places[agent]) for agent in actions}
        return seen, rewards, done, dict.fromkeys(actions, False), {agent: {} for agent in actions}


def test_a_random_walk_game_passes_every_conformance_check() -> None:
    game = PettingZooGame(
        Walk, name="walk", title="Walk", version="1", longest=lambda configuration: 5
    )
    report = check_conformance(game, games=3)
    assert report.broken == {}
    assert report.longest_game == 5


def test_the_step_limit_ends_an_episode() -> None:
    game = PettingZooGame(
        Walk, name="walk", title="Walk", version="1", longest=lambda configuration: 2
    )
    report = check_conformance(game, games=2)
    assert report.broken == {}
    assert report.longest_game == 2


def test_the_conformance_check_detects_unseeded_randomness() -> None:
    class Careless(Walk):
        def step(self, actions: Any) -> Any:
            self.luck = Random()
            return super().step(actions)

    game = PettingZooGame(Careless, name="walk", title="Walk", version="1", longest=lambda told: 5)
    assert {"pure", "replay"} <= set(check_conformance(game, games=1).broken)


def test_a_discrete_space_may_start_above_zero() -> None:
    class FromFive(Walk):
        def action_space(self, agent: str) -> Any:
            return Discrete(3, start=5)

        def step(self, actions: Any) -> Any:
            return super().step({agent: [action] for agent, action in actions.items()})

    game = PettingZooGame(FromFive, name="walk", title="Walk", version="1", longest=lambda told: 5)
    assert check_conformance(game, games=1).broken == {}
