"""``peck better`` on this machine, with real boxes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from games.episode import first_different_move, from_bytes
from sandbox.errors import HostFault
from sandbox.match import local_match
from sandbox.match.match_record import read_log
from tests import typed
from tests.integration.real_node import RealNode

pytestmark = pytest.mark.bubblewrap
ROUND = "def agent(o, c):\n    return ('NORTH', 'EAST', 'SOUTH', 'WEST')[o.step % 4]\n"
AGENTS = {
    "round": ROUND,
    "again": f"# the same moves\n{ROUND}",
    "crash": "def agent(o, c):\n    raise ValueError('enough')\n",
}
SHORT = ("--game", "hungry_geese", "--config", "episodeSteps=12", "--profile", "python")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, source in AGENTS.items():
        (tmp_path / f"{name}.py").write_text(source)
    return tmp_path


def compare(folder: Path, node: RealNode, *arguments: str) -> tuple[int, str, str]:
    given = ("better", *arguments, *SHORT, "--node", str(node.socket), "--out", "out")
    done = typed.peck(folder, dict(os.environ), *given, "--seed", "1")
    return done.returncode, done.stdout, done.stderr


def report(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def test_better_version_gives_status_0(node: RealNode, folder: Path) -> None:
    versions = ("crash.py", "round.py", "--opponent", "again.py", "--margin", "0.5")
    status, out, _ = compare(folder, node, *versions, "--json")
    found = report(out)
    assert (status, found["verdict"]) == (0, "better")
    assert found["low"] > 0
    assert found["old"]["faults"] == found["pairs"] < found["most_pairs"]
    assert found["new"]["faults"] == 0
    assert found["playing_seconds"] < found["seconds"]
    first = found["first_differences"][0]
    old, new = (
        from_bytes((folder / first[f"{side}_replay"]).read_bytes()) for side in ("old", "new")
    )
    assert old.chance == new.chance
    assert first_different_move(old, new, first["seat"]) == first["step"] == 1
    log = read_log((folder / "out" / "pair-00001-old.peck-log.gz").read_bytes())
    assert "ValueError: enough" in log["reason"]


def test_worse_version_gives_status_1(node: RealNode, folder: Path) -> None:
    versions = ("round.py", "crash.py", "--opponent", "again.py", "--margin", "0.5")
    status, out, err = compare(folder, node, *versions)
    assert status == 1
    assert "The new version is not better by the margin." in out
    assert "pairs: difference" in err


def test_two_alike_versions_do_not_differ(node: RealNode, folder: Path) -> None:
    status, out, _ = compare(folder, node, "round.py", "again.py", "--pairs", "2", "--json")
    found = report(out)
    assert (status, found["verdict"], found["difference"]) == (3, "cannot_tell", 0)
    assert found["first_differences"] == []


def test_same_files_are_refused(node: RealNode, folder: Path) -> None:
    status, _, err = compare(folder, node, "round.py", "round.py")
    assert (status, "the same files" in err) == (2, True)


def test_pair_is_played_again_after_a_fault_of_the_machine(
    node: RealNode, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = []
    play_game = local_match.play_game

    def play(*arguments: Any) -> local_match.LocalResult:
        game = arguments[3]
        played.append((game.number, game.seed))
        if len(played) == 2:
            raise HostFault("the node is away")
        return play_game(*arguments)

    monkeypatch.setattr(local_match, "play_game", play)
    status, out, _ = compare(folder, node, "round.py", "again.py", "--pairs", "1", "--json")
    assert (status, report(out)["replayed_pairs"]) == (3, 1)
    assert len(played) == 4
    assert len(set(played)) == 1
