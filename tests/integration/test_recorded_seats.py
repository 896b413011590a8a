"""An agent of fixed seed repeats its moves in its recorded seat, and a fork repeats the game."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from games import GAMES
from games.episode import Episode, from_bytes, to_bytes
from games.forks import Fork
from games.recorded_seat import Difference, differences
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.loans import SeatRequest, borrow_seats
from sandbox.match.local_match import AgentInSeat
from sandbox.match.referee import EpisodeRequest
from tests import typed
from tests.integration.real_node import RealNode
from tests.sizes import sized
from tests.unit.games.played import NAMES, SMALL

pytestmark = pytest.mark.bubblewrap
AGENTS = Path(__file__).resolve().parents[2] / "agents"
MATCHES = sized(suite=4, drill=200)
KILLS = """
import random
def agent(observation, configuration):
    living = [n for n, cell in enumerate(observation["field"].split(",")) if cell != "."]
    cell = random.choice(living)
    return f"kill {cell % observation['width']},{cell // observation['width']}"
"""
SOURCES = {
    "battlesnake": (AGENTS / "battlesnake/safe_step/main.py").read_text(),
    "golad": KILLS,
    "hungry_geese": (AGENTS / "hungry_geese/random_legal/main.py").read_text(),
    "snake": (AGENTS / "snake/uniform/main.py").read_text(),
}
OTHERS = {
    "battlesnake": "up down",
    "golad": "pass",
    "hungry_geese": "EAST WEST",
    "snake": "up down",
}
PLANTED = """
decide, asked = agent, 0
def planted(observation, configuration):
    global asked
    asked += 1
    move = decide(observation, configuration)
    if asked != {number}:
        return move
    print("planted")
    return next(other for other in {others!r} if other != move)
"""


def written(folder: Path, name: str, planted_at: int | None = None) -> Path:
    """The agent of fixed seed of this game; ``planted_at`` is the answer that is changed."""
    change = (
        "" if planted_at is None else PLANTED.format(number=planted_at, others=OTHERS[name].split())
    )
    path = folder / f"{name}-{planted_at}.py"
    path.write_text(SOURCES[name] + change)
    return path


def seed_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def played(
    node: RealNode, bundles: Sequence[Path], name: str, seed: bytes, fork: Fork | None = None
) -> Episode:
    game = GAMES[name]
    with borrow_seats(
        node.socket, [SeatRequest("python", path, 256) for path in bundles], 60.0
    ) as loans:
        request = EpisodeRequest(
            game,
            game.configure(SMALL.get(name, {})),
            Clock.from_json(dict(game.clock)),
            seed,
            loans,
            max_parallel_seats=2,
            stop_after_seconds=300.0,
        )
        if fork is None:
            match = referee.play_episode(request)
        else:
            match = referee.play_episode(replace(request, fork=fork))
    assert all(seat.reason is None for seat in match.seats), match.seats
    return from_bytes(to_bytes(match.episode))


def found_in(
    node: RealNode, bundle: Path, episode: Episode, seat: int, seed: bytes
) -> list[Difference]:
    with (
        borrow_seats(node.socket, [SeatRequest("python", bundle, 256)], 60.0) as (loan,),
        AgentInSeat(GAMES[episode.game], episode, seat, loan, seed) as agent,
    ):
        return list(differences(GAMES[episode.game], episode, seat, agent.answer))


def seats_of(name: str) -> int:
    return min(2, GAMES[name].seats.stop - 1)


def test_an_agent_of_fixed_seed_repeats_its_recorded_moves(node: RealNode, tmp_path: Path) -> None:
    began, rows = time.monotonic(), dict.fromkeys(NAMES, (0, 0, 0, 0))
    for number in range(MATCHES):
        name = NAMES[number % len(NAMES)]
        bundle, seed = written(tmp_path, name), seed_of(number + 1)
        episode = played(node, [bundle] * seats_of(name), name, seed)
        seat = number // len(NAMES) % episode.seats
        assert found_in(node, bundle, episode, seat, seed) == []
        asked = [n for n, step in enumerate(episode.steps, 1) if step.moves[seat] is not None]
        at = 1 + (number * 7) % len(asked)
        first, *_ = found_in(node, written(tmp_path, name, at), episode, seat, seed)
        assert first.step == asked[at - 1]
        matches, moves, same, planted = rows[name]
        rows[name] = (matches + 1, moves + len(asked), same + 1, planted + 1)
    print("\n| game | matches | moves compared | without difference | planted change found |")
    print("|---|---|---|---|---|")
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(map(str, row)) + " |")
    print(f"{MATCHES} matches in {time.monotonic() - began:.0f} s")


@pytest.mark.parametrize("name", ["golad", "hungry_geese"])
def test_a_fork_with_the_same_agents_repeats_the_game(
    node: RealNode, tmp_path: Path, name: str
) -> None:
    bundles, seed = [written(tmp_path, name)] * 2, seed_of(77)
    episode = played(node, bundles, name, seed)
    middle = len(episode.steps) // 2
    again = played(node, bundles, name, seed, Fork(episode, middle, seed))
    assert moves_and_chance(again) == moves_and_chance(episode)
    assert again.steps[:middle] == episode.steps[:middle]
    other = OTHERS[name].split()[0]
    changed = played(node, bundles, name, seed, Fork(episode, middle, None, {0: (other,)}))
    assert changed.steps[:middle] == episode.steps[:middle]
    at = next(n for n in range(middle, len(changed.steps)) if changed.steps[n].moves[0])
    assert changed.steps[at].moves[0] == other


def moves_and_chance(episode: Episode) -> list[Any]:
    return [(step.moves, step.chance) for step in episode.steps]


def test_the_command_names_the_step_of_a_planted_change(node: RealNode, tmp_path: Path) -> None:
    def typed_command(*arguments: str) -> tuple[int, Any]:
        options = ("--node", str(node.socket), "--profile", "python", "--json")
        environment = {**os.environ, "PECK_GAMES": ""}
        done = typed.peck(tmp_path, environment, *arguments, *options)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    same, planted = (str(written(tmp_path, "hungry_geese", at)) for at in (None, 5))
    short = ("--config", "episodeSteps=20", "--out", "out", "--seed", "9")
    status, game = typed_command("run", "hungry_geese", same, same, *short)
    assert status == 0
    file = game["files"]["replay"]
    status, found = typed_command("replay", file, "--seat", "2", "--agent", same)
    assert (status, found["differences"]) == (0, [])
    status, found = typed_command("replay", file, "--seat", "2", "--agent", planted)
    assert (status, found["compared"]) == (1, 5)
    (one,) = found["differences"]
    assert (one["step"], one["stdout"], one["own"] != one["recorded"]) == (5, "planted\n", True)
    assert one["observation"]["step"] == 4
    status, found = typed_command("replay", file, "--seat", "2", "--agent", planted, "--all")
    assert (status, found["compared"]) == (1, found["questions"])
    seats = ("--seat", f"1={same}", "--seat", f"2={same}")
    status, again = typed_command("fork", file, "--step", "5", *seats, "--out", "forked")
    assert status == 0
    one, two = (
        from_bytes((tmp_path / each["files"]["replay"]).read_bytes()) for each in (game, again)
    )
    assert moves_and_chance(one) == moves_and_chance(two)
    other = next(move for move in ("EAST", "WEST") if move != one.steps[5].moves[1])
    by_hand = ("--move", f"2={other}", "--draws", "new", "--out", "by-hand")
    status, changed = typed_command("fork", file, "--step", "5", *seats, *by_hand)
    three = from_bytes((tmp_path / changed["files"]["replay"]).read_bytes())
    assert (status, three.steps[:5]) == (0, one.steps[:5])
    assert three.steps[5].moves[1] == other
