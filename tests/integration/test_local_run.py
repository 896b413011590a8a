"""``peck run`` as a command, with real boxes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from games.episode import from_bytes
from sandbox.match.match_record import read_log
from tests import typed
from tests.integration import real_node
from tests.integration.real_node import EAST, SEED, RealNode
from tests.unit.games import worked_example
from tests.waiting import wait_until

pytestmark = pytest.mark.bubblewrap

REPOSITORY = Path(__file__).resolve().parents[2]
ROUND = "def agent(o, c):\n    return ('NORTH', 'EAST', 'SOUTH', 'WEST')[o.step % 4]\n"
CRASH = "def agent(o, c):\n    print('hello')\n    raise ValueError('enough')\n"


@pytest.fixture
def agents(tmp_path: Path) -> list[str]:
    names = {"east": EAST, "round": ROUND, "crash": CRASH}
    for name, source in names.items():
        (tmp_path / f"{name}.py").write_text(source)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "main.py").write_text("from ways import WAY\ndef agent(o): return WAY\n")
    (folder / "ways.py").write_text("WAY = 'EAST'\n")
    return ["east.py", "round.py", "crash.py", "folder"]


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "services.cli", "run", *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY)}


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return typed.peck(folder, _environment(), "run", *arguments)


def _run_alone(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    return subprocess.run(
        _command(*arguments),
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def _played(folder: Path, node: RealNode, *arguments: str) -> list[dict[str, Any]]:
    given = ("--node", str(node.socket), "--profile", "python", "--json", *arguments)
    done = _run(folder, "hungry_geese", *given)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_game_writes_its_replay_and_logs(
    node: RealNode, tmp_path: Path, agents: list[str]
) -> None:
    (game,) = _played(tmp_path, node, *agents, "--out", "out", "--seed", SEED.hex())
    assert (game["kind"], game["number"], game["seed"]) == ("game", 1, SEED.hex())
    assert [seat["agent"] for seat in game["seats"]] == ["east", "round", "crash", "folder"]
    crash = game["seats"][2]
    assert (crash["verdict"], crash["failed_step"], crash["placement"]) == ("ERROR", 1, 4)
    assert "ValueError: enough" in crash["reason"]
    assert {game["seats"][seat]["verdict"] for seat in (0, 1, 3)} == {"DONE"}
    episode = from_bytes((tmp_path / game["files"]["replay"]).read_bytes())
    assert len(episode.steps) == game["steps"]
    kaggle = json.loads((tmp_path / game["files"]["kaggle_replay"]).read_text())
    assert kaggle["name"] == "hungry_geese"
    assert len(kaggle["steps"]) == game["steps"] + 1
    assert kaggle["info"]["TeamNames"] == ["east", "round", "crash", "folder"]
    log = read_log((tmp_path / game["files"]["logs"][2]).read_bytes())
    assert log["moves"][0]["stdout"] == "hello\n"
    ((kaggle_log,),) = json.loads((tmp_path / game["files"]["kaggle_logs"][2]).read_text())
    assert kaggle_log["stdout"] == "hello\n"


def test_one_agent_takes_all_seats_and_is_told_so(
    node: RealNode, tmp_path: Path, agents: list[str]
) -> None:
    given = ("--node", str(node.socket), "--profile", "python", "--json", "--out", "out")
    done = _run(tmp_path, "hungry_geese", "round.py", *given)
    game = json.loads(done.stdout)
    assert len(game["seats"]) == 4
    assert game["steps"] > 1
    assert "round.py took all 4 seats: name more agents" in done.stderr


def test_the_same_seed_plays_the_same_game_again(
    node: RealNode, tmp_path: Path, agents: list[str]
) -> None:
    def moves(out: str) -> list[Any]:
        (game,) = _played(tmp_path, node, *agents, "--out", out, "--seed", "42")
        episode = from_bytes((tmp_path / game["files"]["replay"]).read_bytes())
        return [(step.moves, step.chance) for step in episode.steps]

    assert moves("one") == moves("two")


def test_a_game_from_outside_the_repository_is_played(
    node: RealNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PECK_GAMES", str(worked_example.write(tmp_path)))
    for name, bid in (("high", "max"), ("odd", "str")):
        source = f"def agent(seen, told): return {bid}(seen.hands[seen.seat])\n"
        (tmp_path / f"{name}.py").write_text(source)
    given = ("goofspiel", "high.py", "odd.py", "--node", str(node.socket), "--profile", "python")
    done = _run_alone(tmp_path, *given, "--json", "--config", "cards=5", "--out", "out")
    assert done.returncode == 0, done.stderr
    game = json.loads(done.stdout)
    assert "kaggle_replay" not in game["files"]
    episode = from_bytes((tmp_path / game["files"]["replay"]).read_bytes())
    assert episode.game == "goofspiel"
    assert [step.moves for step in episode.steps] == [
        (bid, {"fault": "INVALID"}) for bid in (5, 4, 3, 2, 1)
    ]


def test_a_batch_rotates_the_seats(node: RealNode, tmp_path: Path, agents: list[str]) -> None:
    *games, summary = _played(tmp_path, node, *agents, "--games", "4", "--out", "out")
    for name in ("east", "round", "crash", "folder"):
        seats = [
            seat for game in games for seat, s in enumerate(game["seats"]) if s["agent"] == name
        ]
        assert sorted(seats) == [0, 1, 2, 3]
    assert len({game["seed"] for game in games}) == 4
    by_name = {agent["agent"]: agent for agent in summary["agents"]}
    assert sum(agent["wins"] for agent in by_name.values()) == pytest.approx(4, abs=0.01)
    assert by_name["crash"]["faults"] == 4
    for agent in by_name.values():
        assert agent["win_rate_low"] <= agent["win_rate"] <= agent["win_rate_high"]


def test_the_command_line_sets_configuration_and_clock(node: RealNode, tmp_path: Path) -> None:
    source = (
        "def agent(o, c):\n"
        "    print(c.rows, c.columns, c.actTimeout, o.remainingOverageTime)\n"
        "    return 'EAST'\n"
    )
    (tmp_path / "told.py").write_text(source)
    options = ("--config", "rows=9", "--config", "episodeSteps=3", "--act-seconds", "0.5")
    (game,) = _played(
        tmp_path, node, "told.py", "told.py", *options, "--bank-seconds", "7", "--out", "out"
    )
    assert game["steps"] == 2
    log = read_log((tmp_path / game["files"]["logs"][0]).read_bytes())
    assert log["moves"][0]["stdout"] == "9 11 0.5 7\n"
    episode = from_bytes((tmp_path / game["files"]["replay"]).read_bytes())
    assert (episode.configuration["rows"], episode.configuration["actTimeout"]) == (9, 0.5)
    assert (episode.clock["act_seconds"], episode.clock["bank_seconds"]) == (0.5, 7.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hungry_gese", "east.py"], ["hungry_gese", "hungry_geese"]),
        (["hungry_geese", "missing.py"], ["missing.py", "no such file"]),
        (["hungry_geese", *["east.py"] * 9], ["1 to 8 players", "not 9"]),
        (["hungry_geese", "east.py", "--config", "rows=2"], ["rows"]),
        (["hungry_geese", "east.py", "--config", "rowz=7"], ["rowz"]),
        (["hungry_geese", "east.py", "--config", "rows"], ["NAME=VALUE"]),
        (["hungry_geese", "east.py", "--seed", "x"], ["--seed", "32 hex digits"]),
        (["hungry_geese", "east.py", "--seed", "-1"], ["--seed", "whole number"]),
        (["hungry_geese", "east.py", "--act-seconds", "-1"], ["act"]),
        (["hungry_geese", "east.py", "--bank-seconds", "nan"], ["bank_seconds"]),
        (["hungry_geese", "east.py", "--node", "nowhere.sock"], ["nowhere.sock"]),
        (["hungry_geese", "east.py", "--node", "SOCKET", "--profile", "x"], ["'x'", "python"]),
    ],
)
def test_a_mistake_is_answered_with_one_line_and_no_traceback(
    node: RealNode, tmp_path: Path, agents: list[str], arguments: list[str], words: list[str]
) -> None:
    done = _run(tmp_path, *[str(node.socket) if a == "SOCKET" else a for a in arguments])
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("peck run: ")
    for word in words:
        assert word in line


def test_without_a_launcher_the_error_names_bubblewrap(tmp_path: Path, agents: list[str]) -> None:
    environment = {**_environment(), "PATH": "/nonexistent", "DOCKER_HOST": "unix:///nonexistent"}
    done = subprocess.run(
        _command("hungry_geese", *agents),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode in (1, 2), done.stdout
    assert "bubblewrap" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_with_its_own_node_prints_a_table(tmp_path: Path, agents: list[str]) -> None:
    real_node.require("bubblewrap")
    options = ("--launcher", "bubblewrap", "--profile", "python", "--out", "out", "--games", "2")
    done = _run_alone(tmp_path, "hungry_geese", *agents, *options)
    assert done.returncode == 0, done.stderr
    for word in ("place", "verdict", "ERROR", "ValueError: enough", "95 % interval", "crash"):
        assert word in done.stdout
    assert "out" in done.stderr
    assert len(list((tmp_path / "out").glob("*.peck-replay.gz"))) == 2


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_node_of_a_run_ends_with_the_run(tmp_path: Path, how: signal.Signals) -> None:
    real_node.require("bubblewrap")
    (tmp_path / "slow.py").write_text("import time\ndef agent(o): time.sleep(0.1)\n")
    options = ["--launcher", "bubblewrap", "--profile", "python", "--games", "1000"]
    options += ["--config", "episodeSteps=5"]
    process = subprocess.Popen(
        _command("hungry_geese", "slow.py", "slow.py", *options, "--out", "out"),
        cwd=tmp_path,
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: (tmp_path / "out").exists(), "the game begins")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.send_signal(how)
        told = process.communicate(timeout=300)[1]
    finally:
        process.kill()
        process.wait()
    wait_until(
        lambda: not any(Path(f"/proc/{child}").exists() for child in children), "all have ended"
    )
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert told.strip() == "peck run: stopped"
