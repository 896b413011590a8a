"""Files that a person gives to commands: odd ones are refused in a sentence, not by a traceback."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from games import GAMES, frames, kaggle_formats, recorded_seat
from games.episode import Episode, to_bytes
from games.protocol import GameError
from sandbox.match.clock import Clock, ClockError
from services.cli import saved_login
from services.cli.local_node import RunError
from services.cli.local_page import LocalPage
from services.cli.local_plan import default_folder
from services.cli.replay_files import read_episode
from services.cli.saved_login import MissingInput
from services.cli.view import read_games
from tests import typed
from tests.unit.games.played import NAMES, random_episode

ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 17, 10**12, 1.5, "2", "", [], [None], [[]], {}, {"0": None}),
    *([1, 2, 3, 4, 5], ["a", "b", "c"], float("inf"), [None, None], ["a", "b"], [[], {}]),
)
"""Values that no replay has in most of its fields."""
IN_PAGE = ("seats", "placements", "verdicts", "names", "rewards", "info", "name", "game")
"""Fields of which the page shows something."""


def beginning_of_game(name: str) -> Episode:
    """An episode with a few steps, so that it is read quickly."""
    episode = random_episode(name, Random(1), Random(2))
    return replace(episode, steps=episode.steps[:3])


def document_of(episode: Episode) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress(to_bytes(episode)))
    return document


def odd_documents(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The document with one field that is missing or odd, also in its first step."""
    for inside in (False, True):
        for name in part_of(document, inside):
            odd = deepcopy(document)
            del part_of(odd, inside)[name]
            yield odd
            for value in ODD:
                odd = deepcopy(document)
                part_of(odd, inside)[name] = value
                yield odd
    for value in ODD:
        yield {**document, "steps": [value]}


def part_of(document: dict[str, Any], inside: bool) -> dict[str, Any]:
    """The document itself, or the first record of its first step."""
    if not inside:
        return document
    first: Any = document["steps"][0]
    record: dict[str, Any] = first if isinstance(first, dict) else first[0]
    return record


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(scope="module")
def page() -> LocalPage:
    page = LocalPage()
    page.start()
    return page


@pytest.mark.parametrize("form", ["peck", "frames", "kaggle"])
def test_view_shows_or_refuses_each_odd_replay(form: str, tmp_path: Path, page: LocalPage) -> None:
    geese = beginning_of_game("hungry_geese")
    whole: dict[str, Any] = {
        "peck": document_of(geese),
        "frames": {**frames.frames_json(geese), "names": ["a", "b"]},
        "kaggle": kaggle_formats.episode_json(geese, episode_id=1, team_names=["a", "b"]),
    }[form]
    whole = json.loads(json.dumps(whole))
    shown = []
    for odd in odd_documents(whole):
        with contextlib.suppress(RunError):
            found = read_games(written(tmp_path / "odd.json", odd), [])
            if any(odd.get(name) != whole.get(name) for name in IN_PAGE):
                shown += found
    page.games[:] = shown
    with httpx.Client(base_url=page.address, timeout=60) as http:
        for number in range(1, len(shown) + 1):
            answer = http.get(f"/games/{number}")
            assert answer.status_code == 200, shown[number - 1].episodes[0]()


@pytest.mark.parametrize("name", NAMES)
def test_commands_on_a_recorded_episode_refuse_each_odd_one(name: str, tmp_path: Path) -> None:
    for odd in odd_documents(document_of(beginning_of_game(name))):
        try:
            episode = read_episode(written(tmp_path / "odd.json", odd))
            Clock.from_json(episode.clock)
            game = GAMES.get(episode.game)
            if game is None:
                continue
            for seat in range(episode.seats):
                for question in recorded_seat.questions(game, episode, seat):
                    json.dumps(question.observation)
        except (RunError, GameError, ClockError):
            continue


def test_view_of_a_replay_with_odd_seats_names_the_field(tmp_path: Path) -> None:
    document = {**frames.frames_json(beginning_of_game("hungry_geese")), "seats": "2"}
    file = written(tmp_path / "odd.json", document)
    done = typed.peck(tmp_path, {"HOME": str(tmp_path)}, "view", str(file), "--no-browser")
    assert (done.returncode, "seats: expected 1 to 16, got '2'" in done.stderr) == (2, True)


@pytest.mark.parametrize("damage", ["cut off", "changed", "not compressed"])
def test_a_damaged_replay_is_refused(tmp_path: Path, damage: str) -> None:
    whole = to_bytes(beginning_of_game("golad"))
    parts = {
        "cut off": whole[:-20],
        "changed": whole[:40] + bytes(40) + whole[80:],
        "not compressed": b"\xff\xfe{",
    }
    file = tmp_path / "episode.peck-replay.gz"
    file.write_bytes(parts[damage])
    for read in (read_episode, lambda path: read_games(path, [])):
        with pytest.raises(RunError, match=r"episode\.peck-replay\.gz: "):
            read(file)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"address": 7}', '"x"', "null"])
def test_damaged_login_gives_an_error_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    file = saved_login.config_file()
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(MissingInput, match="it holds no login"):
        saved_login.read_saved_login()


def test_folders_of_one_second_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [default_folder() for _ in range(20)]
    assert len({*folders}) == 20
    assert all(folder.is_dir() for folder in folders)
