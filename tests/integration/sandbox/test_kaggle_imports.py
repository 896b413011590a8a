"""Agents written for Kaggle run unchanged, with their imports, on every launcher."""

from __future__ import annotations

import pytest

from games import GAMES
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.loans import SeatRequest, borrow_seats
from sandbox.match.referee import EpisodeRequest
from tests.integration.sandbox.nodes import MEMORY_MB, Bench

GEESE = GAMES["hungry_geese"]

TYPED = """
from kaggle_environments.envs.hungry_geese.hungry_geese import (
    Observation, Configuration, Action, row_col, adjacent_positions, min_distance, translate,
    GreedyAgent, random_agent, greedy_agent,
)
from kaggle_environments.helpers import histogram
from kaggle_environments import make, evaluate, utils

last = None

def agent(obs_dict, config_dict):
    global last
    observation, configuration = Observation(obs_dict), Configuration(config_dict)
    rows, columns = configuration.rows, configuration.columns
    head = observation.geese[observation.index][0]
    taken = histogram(cell for goose in observation.geese for cell in goose)
    assert head in adjacent_positions(translate(head, Action.EAST, columns, rows), columns, rows)
    assert row_col(head, columns) == divmod(head, columns)
    assert observation.remaining_overage_time == obs_dict.remainingOverageTime
    moves = {
        action: min_distance(translate(head, action, columns, rows), observation.food, columns)
        for action in Action
        if translate(head, action, columns, rows) not in taken
        and (last is None or action != last.opposite())
    }
    last = min(moves, key=moves.get) if moves else Action[random_agent()]
    return last.name

if __name__ == "__main__":
    env = make("hungry_geese", debug=True)
    env.run([agent, "greedy", "greedy", "greedy"])
"""
STARRED = """
from kaggle_environments.envs.hungry_geese.hungry_geese import *

class Player(GreedyAgent):
    pass

players = {}

def agent(observation: Observation, configuration: Configuration):
    seat = observation.index
    if seat not in players:
        players[seat] = Player(Configuration(configuration))
    return players[seat](Observation(observation))
"""
IMPORTED = "from kaggle_environments.envs.hungry_geese.hungry_geese import greedy_agent\n"
STARTS_A_GAME = """
from kaggle_environments import make

def agent(observation, configuration):
    return make("hungry_geese").run(["greedy"] * 4)
"""


@pytest.mark.parametrize(
    "profile", ["python", pytest.param("numpy", marks=pytest.mark.same_in_every_launcher)]
)
def test_agents_with_the_imports_of_kaggle_play_a_match(bench: Bench, profile: str) -> None:
    sources = (TYPED, STARRED, IMPORTED, IMPORTED)
    requests = [SeatRequest(profile, bench.bundle(source), MEMORY_MB) for source in sources]
    with borrow_seats(bench.node.socket, requests, 60) as loans:
        played = referee.play_episode(
            EpisodeRequest(
                GEESE,
                GEESE.configure({}),
                Clock(),
                bytes(16),
                loans,
                max_parallel_seats=4,
                stop_after_seconds=120,
            )
        )
    assert len(played.episode.steps) > 10
    assert [seat.reason for seat in played.seats] == [None] * 4, played.seats
    assert {str(seat.verdict) for seat in played.seats} == {"DONE"}


@pytest.mark.same_in_every_launcher
def test_cached_greedy_agents_do_not_reach_the_next_match(bench: Bench) -> None:
    source = """
from kaggle_environments.envs.hungry_geese import hungry_geese

def agent(observation, configuration):
    known = len(hungry_geese.cached_greedy_agents)
    return [known, hungry_geese.greedy_agent(observation, configuration)]
"""
    bundle = bench.bundle(source)
    observation = {"geese": [[12], [40]], "food": [15, 60], "index": 0, "step": 0}
    for _ in range(3):
        with bench.seat(bundle) as player:
            player.start()
            assert player.move(**observation) == [0, "EAST"]
            assert player.move(**observation) == [1, "EAST"]


@pytest.mark.same_in_every_launcher
def test_starting_a_game_inside_an_agent_is_refused_with_a_reason(bench: Bench) -> None:
    with bench.seat(bench.bundle(STARTS_A_GAME)) as player:
        assert player.start() == {"k": "ready"}
        answer = player.act(step=0)
    assert answer["k"] == "error"
    assert "Unimplemented: make().run() cannot be used by an agent in a match" in answer["trace"]
