"""Reference agents as they are uploaded."""

from __future__ import annotations

import ast
import io
import zipfile
from pathlib import Path

import pytest

from games import GAMES
from ladder.entries import reference_agents
from services.cli.name_lookup import find_agent
from services.run import demo


def test_a_folder_of_one_file_is_submitted_as_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reference_agents, "AGENTS", tmp_path)
    (tmp_path / "snake" / "cycle" / "__pycache__").mkdir(parents=True)
    (tmp_path / "snake" / "cycle" / "main.py").write_bytes(b"agent")
    (tmp_path / "snake" / "cycle" / "__pycache__" / "main.pyc").write_bytes(b"compiled")
    assert reference_agents.read_bundle("snake", "cycle") == ("main.py", b"agent")


def test_a_folder_of_several_files_is_a_reproducible_zip(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reference_agents, "AGENTS", tmp_path)
    packed: list[bytes] = []
    for order in (("bot.py", "peck.json"), ("peck.json", "bot.py")):
        folder = tmp_path / "golad" / f"kill{len(packed)}"
        folder.mkdir(parents=True)
        for name in order:
            (folder / name).write_text(name)
        packed.append(reference_agents.read_bundle("golad", folder.name)[1])
    assert packed[0] == packed[1]
    with zipfile.ZipFile(io.BytesIO(packed[0])) as archive:
        assert archive.namelist() == ["bot.py", "peck.json"]
    assert reference_agents.agent_names("golad") == ["kill0", "kill1"]


def test_the_last_callable_of_each_main_py_is_the_agent() -> None:
    for file in reference_agents.AGENTS.glob("*/*/main.py"):
        body = ast.parse(file.read_text()).body
        made = [each.name for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
        assert made[-1] == "agent", file


def test_every_demo_league_agent_exists_for_the_game() -> None:
    for league in demo.LEAGUES:
        assert league.seats in GAMES[league.game].seats
        GAMES[league.game].configure(league.configuration)
        there = reference_agents.agent_names(league.game)
        assert {each.name for each in league.entrants} <= set(there)


def test_names_of_reference_agents_have_hyphens() -> None:
    names = [name for game in GAMES for name in reference_agents.agent_names(game)]
    assert "random-legal" in names
    assert not any("_" in name for name in names)


def test_hyphen_and_underscore_name_the_same_reference_agent() -> None:
    for name in ("random-legal", "random_legal", "Random Legal"):
        assert reference_agents.canonical_name(name) == "random-legal"
        assert reference_agents.read_bundle("hungry_geese", name) == reference_agents.read_bundle(
            "hungry_geese", "random-legal"
        )
        mine = [{"id": "age_1", "slug": "random-legal", "name": "Mine"}]
        assert find_agent(mine, name) == mine[0]
