from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ladder.tournaments.formats.export import export_json
from ladder.tournaments.formats.plan import (
    DoubleElimination,
    Gauntlet,
    Groups,
    Heats,
    RoundRobin,
    Series,
    SingleElimination,
    Solo,
    Stage,
    Swiss,
)
from ladder.tournaments.formats.records import draw_order
from tests.unit.ladder.tournaments.simulated import Played, play_out

SCRIPT = Path(__file__).resolve().parents[4] / "scripts" / "verify_tournament.py"


def export(played: Played) -> dict[str, Any]:
    ids = [f"agent {n}" for n in range(played.event.size)]
    drawn = draw_order(played.event.seed, "seed order", ids)
    best = drawn.pop(3)
    numbers = dict(enumerate([best, *drawn], 1))
    data = json.loads(export_json(played.event, played.progress, {1: "one"}, numbers, {1: 2.5}))
    assert isinstance(data, dict)
    return data


def verify(data: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "export.json").write_text(json.dumps(data))
    return subprocess.run(
        [sys.executable, "-I", SCRIPT, folder / "export.json"], capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "stages",
    [
        (Groups(groups=2, advance=2, cycles=2), DoubleElimination(series=Series(pairs=3))),
        (Swiss(rounds=3, advance=4), SingleElimination(third_place=True)),
        (Heats(rounds=3, advance=4), Heats(rounds=1)),
        (RoundRobin(),),
        (Gauntlet(heads=2),),
        (Solo(cuts=(3,)),),
    ],
)
def test_script_agrees_with_an_honest_export(stages: tuple[Stage, ...], tmp_path: Path) -> None:
    said = verify(export(play_out(stages, 11, 1)), tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "0 differences" in said.stdout


def test_script_finds_every_changed_draw(tmp_path: Path) -> None:
    honest = export(play_out(RoundRobin(), 6, 1))
    changed = [json.loads(json.dumps(honest)) for _ in range(5)]
    changed[0]["commitment"] = "00" * 32
    changed[1]["entrants"].reverse()
    changed[2]["pairings"][0]["entrants"].reverse()
    changed[3]["pairings"][0]["games"][0]["seed"] = "00" * 16
    changed[4]["pairings"][0]["games"][0]["entrants"].reverse()
    assert [verify(data, tmp_path).returncode for data in changed] == [1] * 5


def test_script_finds_agents_of_one_team_that_met(tmp_path: Path) -> None:
    data = export(play_out(Swiss(rounds=3), 6, 1))
    met = sorted(data["pairings"][0]["entrants"])
    said = verify({**data, "prohibited": [met]}, tmp_path)
    assert said.returncode == 1
    assert "DIFFERS  1.1.1 joins two agents of one team" in said.stdout
