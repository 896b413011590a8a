"""``peck game check`` for a game's author, and an external game on the site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from typer.testing import CliRunner

from games import GAMES, external
from ladder.settings import Settings
from services.app import create_app
from services.cli.__main__ import full_app
from tests.loops import run_coroutine
from tests.unit.games import worked_example

runner = CliRunner()


def test_the_documented_example_passes(tmp_path: Path) -> None:
    done = runner.invoke(
        full_app(), ["game", "check", str(worked_example.write(tmp_path)), "--games", "2"]
    )
    assert done.exit_code == 0, done.output
    assert "all checks passed" in done.output
    assert done.output.count("\nok") == 13


def test_a_broken_promise_exits_with_1(tmp_path: Path) -> None:
    file = worked_example.write(tmp_path)
    source = file.read_text().replace('"hands": state.hands', '"hands": set(state.hands)')
    file.write_text(source + "print('hello')\n")
    done = runner.invoke(full_app(), ["game", "check", str(file), "--json", "--games", "1"])
    assert done.exit_code == 1, done.output
    told = json.loads(done.stdout)
    assert not told["passed"]
    (broken,) = (one for one in told["checks"] if not one["holds"])
    assert broken["name"] == "json"
    assert "is a set" in broken["places"][0]


def test_an_order_dependent_on_hashes_is_found(tmp_path: Path) -> None:
    file = worked_example.write(tmp_path)
    by_hash = "chance.choice([int(word) for word in set(map(str, state.prizes))])"
    file.write_text(file.read_text().replace("chance.choice(state.prizes)", by_hash))
    done = runner.invoke(full_app(), ["game", "check", str(file), "--games", "1", "--seats", "2"])
    assert done.exit_code == 1, done.output
    assert "sort the items of a set" in done.output


def test_an_invalid_clock_is_found(tmp_path: Path) -> None:
    file = worked_example.write(tmp_path)
    file.write_text(file.read_text().replace('"bank_seconds": 10.0', '"bank": 10.0'))
    done = runner.invoke(full_app(), ["game", "check", str(file), "--games", "1", "--seats", "2"])
    assert done.exit_code == 1
    assert "clock.bank: unknown" in done.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.py"], "there is no such file"),
        (
            ["hungry_geese", "--seats", "9"],
            "--seats 9: choose a seat count of Hungry Geese",
        ),
        (["hungry_geese", "--config", "rows"], "type NAME=VALUE"),
    ],
)
def test_an_invalid_command_exits_with_2(arguments: list[str], told: str) -> None:
    done = runner.invoke(full_app(), ["game", "check", *arguments])
    assert done.exit_code == 2
    assert told in done.output


async def _games_of(site: FastAPI) -> list[dict[str, Any]]:
    wire = httpx.ASGITransport(app=site)
    async with httpx.AsyncClient(transport=wire, base_url="http://site") as client:
        items: list[dict[str, Any]] = (await client.get("/v1/games")).json()["items"]
        return items


def test_a_game_named_in_the_settings_is_listed_by_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = worked_example.write(tmp_path)
    monkeypatch.setenv("PECK_GAMES", str(file))
    try:
        made = create_app(Settings(database_url="postgresql://nowhere", blobs_url="file:///tmp"))
        listed = run_coroutine(_games_of(made))
    finally:
        GAMES.pop("goofspiel", None)
    (found,) = (game for game in listed if game["name"] == "goofspiel")
    assert (found["min_seats"], found["max_seats"]) == (2, 4)
    assert found["configuration"] == {"cards": 13}


def test_a_missing_game_file_stops_the_site(tmp_path: Path) -> None:
    settings = Settings(
        database_url="postgresql://nowhere", blobs_url="file:///tmp", games=f"{tmp_path}/no.py"
    )
    with pytest.raises(external.ExternalGameError, match=r"no\.py: there is no such file"):
        create_app(settings)
