"""Battlesnake's reference agents give a legal answer in every ruleset, game after game."""

from __future__ import annotations

import http.client
import importlib.util
import json
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest

from games.battlesnake import GAME
from games.battlesnake.rules import MOVES, RULESETS
from tests.unit.games.snakes import position

AGENTS = Path(__file__).parents[3] / "agents" / "battlesnake"


def load(name: str) -> Any:
    """The agent's module with a smaller search: its strength is not tested here."""
    folder = AGENTS / name
    path = next(path for path in (folder / "main.py", folder / "server.py") if path.exists())
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.SIMULATIONS = 4
    module.DEPTH = 4
    return module


def answer(module: Any, seen: dict[str, Any]) -> Any:
    return module.decide(seen) if hasattr(module, "decide") else module.agent(seen, {})


@pytest.mark.parametrize("name", ["safe_step", "grazer", "painter", "searcher"])
@pytest.mark.parametrize("ruleset", RULESETS)
def test_an_agent_plays_every_ruleset_without_a_fault(name: str, ruleset: str) -> None:
    module = load(name)
    for seats, size in ((1, 5), (2, 11), (4, 7)):
        rng = Random(seats)
        configuration = GAME.configure(
            {"ruleset": ruleset, "width": size, "height": size + seats % 2, "maxTurns": 20}
        )
        state, _ = GAME.reset(configuration, seats, rng)
        while asked := GAME.to_move(state):
            moves = {
                seat: GAME.parse(state, seat, answer(module, GAME.observe(state, seat)))
                for seat in asked
            }
            state, _ = GAME.step(state, moves, rng)


@pytest.mark.parametrize("name", ["safe_step", "grazer", "painter", "searcher"])
def test_an_agent_takes_the_only_safe_move(name: str) -> None:
    corner = [(0, 0), (1, 0), (1, 1), (2, 1), (3, 1), (4, 1)]
    seen = GAME.observe(position(corner, [(8, 8), (8, 9), (8, 10)]), 0)
    assert answer(load(name), seen) == "up"


@pytest.mark.parametrize("name", ["safe_step", "grazer", "painter", "searcher"])
def test_a_trapped_agent_still_answers(name: str) -> None:
    shut = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 1)]
    seen = GAME.observe(position(shut, [(8, 8), (8, 9), (8, 10)]), 0)
    assert answer(load(name), seen) in MOVES


def test_painter_answers_the_official_protocol() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), load("painter").Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    seen = GAME.observe(position([(5, 5)] * 3, [(8, 8)] * 3), 0)
    try:
        calls = [("GET", "/"), ("POST", "/start"), ("POST", "/move"), ("POST", "/end")]
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        answers = []
        for method, path in calls:
            connection.request(method, path, json.dumps(seen) if method == "POST" else None)
            response = connection.getresponse()
            assert response.status == 200
            answers.append(json.loads(response.read()))
        connection.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert answers[0]["apiversion"] == "1"
    assert answers[2]["move"] in MOVES
    assert answers[1] == answers[3] == {}
