"""The complete agents on the pages of the games play: each gives valid moves in its contract."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import IO, Any

import pytest

from games import GAMES
from tests.ports import free_port

PAGES = Path(__file__).parents[2] / "docs" / "games"
SEATS = {"hungry_geese": 4, "battlesnake": 4, "golad": 2, "snake": 1}
STEPS = 25
Answer = Callable[[dict[str, Any], dict[str, Any]], Any]


def agents_of(game: str) -> dict[str, str]:
    """The source of each agent of a page, by its contract."""
    text = (PAGES / f"{game}.md").read_text()
    found = re.findall(r"^Contract `(\w+)`.*?^```python\n(.*?)^```$", text, re.M | re.S)
    return dict(found)


@contextmanager
def program(source: str, folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The agent as a process."""
    path = folder / "bot.py"
    path.write_text(source)
    with subprocess.Popen(
        [sys.executable, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PORT": options[0]} if options else None,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def pipes(started: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert started.stdin is not None
    assert started.stdout is not None
    return started.stdin, started.stdout


@contextmanager
def answering(contract: str, source: str, folder: Path) -> Iterator[Answer]:
    """A function that asks the agent for a move."""
    if contract == "callable":
        names: dict[str, Any] = {}
        exec(compile(source, "main.py", "exec"), names)
        yield names["agent"]
    elif contract == "http":
        port = free_port()
        with program(source, folder, str(port)):
            yield lambda seen, _: ask_server(port, seen)
    else:
        with program(source, folder) as started:
            yield (ask_lines if contract == "lines" else ask_riddles)(*pipes(started))


def ask_lines(sent: IO[str], got: IO[str]) -> Answer:
    begun: list[bool] = []

    def ask(seen: dict[str, Any], configuration: dict[str, Any]) -> Any:
        if not begun:
            begun.append(True)
            sent.write(json.dumps({"type": "start", "configuration": configuration}) + "\n")
        sent.write(json.dumps({"type": "move", "observation": seen}) + "\n")
        sent.flush()
        return json.loads(got.readline())

    return ask


def ask_riddles(sent: IO[str], got: IO[str]) -> Answer:
    def ask(seen: dict[str, Any], _: dict[str, Any]) -> Any:
        sent.write(f"settings your_botid {seen['you']}\nsettings field_width {seen['width']}\n")
        sent.write(f"update game field {seen['field']}\naction move 10000\n")
        sent.flush()
        return got.readline().strip()

    return ask


def ask_server(port: int, seen: dict[str, Any]) -> Any:
    body = json.dumps(seen).encode()
    until = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/move", body) as answer:
                return json.load(answer)
        except urllib.error.URLError:
            assert time.monotonic() < until
            time.sleep(0.05)


AGENTS = [
    pytest.param(game, contract, source, id=f"{game}-{contract}")
    for game in GAMES
    if (PAGES / f"{game}.md").exists()
    for contract, source in agents_of(game).items()
]


def test_every_game_has_an_agent_in_each_of_its_contracts() -> None:
    extra = {"golad": {"riddles"}, "battlesnake": {"http"}}
    for game in SEATS:
        assert set(agents_of(game)) == {"callable", "lines"} | extra.get(game, set())


@pytest.mark.parametrize(("game", "contract", "source"), AGENTS)
def test_the_agent_of_the_page_gives_valid_moves(
    game: str, contract: str, source: str, tmp_path: Path
) -> None:
    rules, rng = GAMES[game], Random(5)
    configuration = rules.configure({})
    asked = 0
    with answering(contract, source, tmp_path) as ask:
        for _ in range(9):  # the agent moves at random, so it may lose a game early
            state, _ = rules.reset(configuration, SEATS[game], rng)
            for _ in range(STEPS):
                moves = {seat: rules.sample(state, seat, rng) for seat in rules.to_move(state)}
                if not moves:
                    break
                if 0 in moves:
                    moves[0] = rules.parse(state, 0, ask(rules.observe(state, 0), configuration))
                    asked += 1
                state, _ = rules.step(state, moves, rng)
    assert asked > 3
