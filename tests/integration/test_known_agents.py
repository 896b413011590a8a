"""Agents of known strength play GOLAD and Snake without faults, and the weak ones lose."""

from __future__ import annotations

import json
import subprocess
import sys
from random import Random
from types import ModuleType

import pytest

from benchmarks.engine import AGENTS, module_of
from games.golad import GAME as GOLAD
from games.snake import GAME as SNAKE

BOTS = ["greedy", "greedy_kills", "kill", "pass", "random", "search"]
BOARDS = [
    {"maxRounds": 1},
    {"width": 6, "height": 6, "startingCells": 10},
    {"width": 3, "height": 4, "startingCells": 3, "separateStartingCells": False},
]
SETTINGS = """settings player_names player0,player1
settings your_bot player1
settings timebank 10000
settings time_per_move 100
settings your_botid 1
settings field_width 3
settings field_height 2
settings max_rounds 100
update game round 1
update game field .,0,1,1,.,1
update player0 living_cells 1
update player0 move pass
update player1 living_cells 3
action move 10000
"""


def load(game: str, name: str) -> ModuleType:
    return module_of(game, name, "bot.py" if game == "golad" else "main.py")


def test_every_bot_of_the_known_order_exists() -> None:
    assert {path.parent.name for path in (AGENTS / "golad").glob("*/bot.py")} >= set(BOTS)


@pytest.mark.parametrize("name", BOTS)
@pytest.mark.parametrize("overrides", BOARDS)
def test_a_bot_makes_only_legal_moves(name: str, overrides: dict[str, int]) -> None:
    decide = load("golad", name).decide
    configuration = GOLAD.configure({"maxRounds": 12, **overrides})
    state, _ = GOLAD.reset(configuration, 2, Random(5))
    while state.seat is not None:
        seen = GOLAD.observe(state, state.seat)
        answer = decide(seen["width"], seen["height"], str(state.seat), seen["field"].split(","))
        move = GOLAD.parse(state, state.seat, answer)
        assert move == answer
        state, _ = GOLAD.step(state, {state.seat: move}, {})


@pytest.mark.parametrize("name", BOTS)
def test_a_bot_answers_each_request_with_one_line(name: str) -> None:
    folder = AGENTS / "golad" / name
    manifest = json.loads((folder / "peck.json").read_text(encoding="utf-8"))
    assert manifest == {"contract": "riddles", "entry": ["python", "bot.py"]}
    asked = SETTINGS + "update game round 2\nupdate game field .,0,1,1,.,1\naction move 9000\n"
    ran = subprocess.run(
        [sys.executable, "bot.py"], input=asked, cwd=folder, capture_output=True, text=True
    )
    assert ran.stderr == ""
    answers = ran.stdout.splitlines()
    assert len(answers) == 2
    assert all(answer.split()[0] in ("pass", "kill", "birth") for answer in answers)


def test_one_step_bots_take_a_win_in_one_step() -> None:
    field = [*"00....", *"00..11", *"....1."]
    for name in ("greedy", "greedy_kills", "search"):
        answer = load("golad", name).decide(6, 3, "0", field)
        assert answer in ("kill 4,1", "kill 5,1", "kill 4,2")


def test_the_search_bot_moves_with_a_low_time_bank() -> None:
    field = [*"00....", *"00..11", *"....11", *"......"]
    for bank_seconds in (10.0, 3.0, 0.1):
        search = load("golad", "search")
        search.random.seed(1)  # it draws between equally good moves
        move = search.decide(6, 4, "0", field, bank_seconds)
        assert move.split()[0] in ("kill", "birth")


def golad_reward(strong: str, weak: str, number: int) -> float:
    """The stronger bot's reward; the game's number gives its start and seat."""
    bots, own_seat = [load("golad", name) for name in (strong, weak)], number % 2
    state, _ = GOLAD.reset(GOLAD.configure(BOARDS[1]), 2, Random(number))
    while state.seat is not None:
        seat, seen = state.seat, GOLAD.observe(state, state.seat)
        answer = bots[seat != own_seat].decide(
            seen["width"], seen["height"], str(seat), seen["field"].split(",")
        )
        state, _ = GOLAD.step(state, {seat: GOLAD.parse(state, seat, answer)}, {})
    outcome = GOLAD.outcome(state)
    assert outcome is not None
    return outcome.rewards[own_seat] or 0.0


def test_a_stronger_bot_beats_a_weaker_one_over_a_few_games() -> None:
    for strong, weak in (("greedy", "random"), ("greedy_kills", "pass")):
        assert sum(golad_reward(strong, weak, number) for number in range(30)) > 20


@pytest.mark.parametrize("name", ["uniform", "cycle", "shortest_path", "cycle_repair", "rollouts"])
@pytest.mark.parametrize("size", [(10, 10), (5, 4), (4, 5), (3, 5), (2, 3)])
def test_a_snake_agent_moves_only_into_free_cells(name: str, size: tuple[int, int]) -> None:
    agent = load("snake", name).agent
    configuration = SNAKE.configure({"width": size[0], "height": size[1], "maxSteps": 60})
    chance = Random(3)
    state, _ = SNAKE.reset(configuration, 1, chance)
    while SNAKE.to_move(state):
        seen = json.loads(json.dumps(SNAKE.observe(state, 0)))
        move = SNAKE.parse(state, 0, agent(seen, configuration))
        state, _ = SNAKE.step(state, {0: move}, chance)


@pytest.mark.parametrize("name", ["uniform", "cycle", "shortest_path", "cycle_repair", "rollouts"])
def test_the_last_callable_of_a_snake_file_is_the_agent(name: str) -> None:
    callables = [found for found in vars(load("snake", name)).values() if callable(found)]
    assert callables[-1].__name__ == "agent"


@pytest.mark.parametrize("name", ["cycle", "cycle_repair", "rollouts"])
@pytest.mark.parametrize("size", [(4, 4), (6, 5), (5, 6)])
def test_a_cycle_following_snake_fills_the_board(name: str, size: tuple[int, int]) -> None:
    agent = load("snake", name).agent
    configuration = SNAKE.configure({"width": size[0], "height": size[1], "maxSteps": 2000})
    chance = Random(1)
    state, _ = SNAKE.reset(configuration, 1, chance)
    while SNAKE.to_move(state):
        move = SNAKE.parse(state, 0, agent(SNAKE.observe(state, 0), configuration))
        state, _ = SNAKE.step(state, {0: move}, chance)
    outcome = SNAKE.outcome(state)
    assert outcome is not None
    assert outcome.statistics[0]["won"] == 1


def snake_length(name: str) -> float:
    agent, configuration = load("snake", name).agent, SNAKE.configure({})
    chance = Random("apples 1")
    state, _ = SNAKE.reset(configuration, 1, chance)
    while SNAKE.to_move(state):
        move = SNAKE.parse(state, 0, agent(SNAKE.observe(state, 0), configuration))
        state, _ = SNAKE.step(state, {0: move}, chance)
    outcome = SNAKE.outcome(state)
    assert outcome is not None
    return outcome.statistics[0]["length"]


def test_cycle_repair_grows_faster_than_the_plain_cycle() -> None:
    assert snake_length("cycle_repair") > 60 > 50 > snake_length("cycle")
