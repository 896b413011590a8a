"""Games from external files: loaded, refused with a sentence, and identified by a digest."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import games
from games import GAMES, external
from games.external import ExternalGameError
from games.protocol import Game
from tests.unit.games import worked_example

Table = dict[str, Game[Any]]


@pytest.fixture(autouse=True)
def hosted(monkeypatch: pytest.MonkeyPatch) -> Table:
    """The table of games; registrations of a test are removed after it."""
    table = dict(GAMES)
    monkeypatch.setattr(external, "GAMES", table)
    monkeypatch.setattr(external, "_loaded_files", {})
    return table


def test_a_registered_game_is_found_by_name(hosted: Table, tmp_path: Path) -> None:
    external.register_games(f" {worked_example.write(tmp_path)}, ")
    assert hosted["goofspiel"].title == "Goofspiel"
    assert list(hosted)[-1] == "goofspiel"


def test_a_process_may_register_twice(hosted: Table, tmp_path: Path) -> None:
    file = worked_example.write(tmp_path)
    external.register_games(str(file))
    first = hosted["goofspiel"]
    external.register_games(f"{file}:GAME")
    assert hosted["goofspiel"] is first


def test_an_empty_setting_registers_no_game(hosted: Table) -> None:
    external.register_games("")
    assert hosted == GAMES


def test_one_file_can_define_several_games(hosted: Table, tmp_path: Path) -> None:
    file = worked_example.write(tmp_path)
    source = file.read_text() + "\n\nclass Long(Goofspiel):\n    name = 'long'\n\n\nLONG = Long()\n"
    file.write_text(source)
    external.register_games(f"{file},{file}:LONG")
    assert {"goofspiel", "long"} < set(hosted)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = (", "cannot be executed: SyntaxError"),
        ("import no_such_module", "cannot be executed: ModuleNotFoundError"),
        ("x = 1", "defines no GAME; end it with GAME = YourGame()"),
        ("class GAME: pass", "GAME is a class; make it a value"),
        ("GAME = 3", "GAME lacks clock, configure"),
    ],
)
def test_a_file_without_a_game_is_refused_with_a_remedy(
    source: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(source)
    with pytest.raises(ExternalGameError) as caught:
        external.register_games(str(file))
    assert str(caught.value).startswith(f"{file}: ")
    assert told in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExternalGameError, match=r"nowhere\.py: there is no such file"):
        external.register_games(str(tmp_path / "nowhere.py"))


@pytest.mark.parametrize("name", ["Goofspiel", "goof spiel", "", "../x", "x" * 41])
def test_a_game_name_invalid_in_a_url_is_refused(name: str, tmp_path: Path) -> None:
    file = worked_example.write(tmp_path)
    file.write_text(file.read_text().replace('"goofspiel"', repr(name)))
    with pytest.raises(ExternalGameError, match="small letters"):
        external.register_games(str(file))


def test_a_taken_game_name_is_refused(tmp_path: Path) -> None:
    file = worked_example.write(tmp_path)
    file.write_text(file.read_text().replace('"goofspiel"', '"hungry_geese"'))
    with pytest.raises(
        ExternalGameError, match=r"'hungry_geese' is taken by a game of Pecking Order's"
    ):
        external.register_games(str(file))
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = worked_example.write(tmp_path / "one"), worked_example.write(tmp_path / "two")
    with pytest.raises(ExternalGameError, match=f"'goofspiel' is taken by {one}"):
        external.register_games(f"{one},{two}")


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = external.absolute_paths("a.py, b.py:OTHER")
    assert told == f"{tmp_path}/a.py:GAME,{tmp_path}/b.py:OTHER"
    assert external.absolute_paths("") == ""


def test_the_rules_digest_changes_with_the_file(tmp_path: Path) -> None:
    file = worked_example.write(tmp_path)
    external.register_games(str(file))
    before = external.rules_digest("goofspiel")
    file.write_text(file.read_text() + "# changed\n")
    assert external.rules_digest("goofspiel") != before != external.rules_digest("hungry_geese")


def test_the_rules_digest_covers_the_operators_file(tmp_path: Path) -> None:
    file = tmp_path / "other.py"
    source = "from games.hungry_geese import HungryGeese\nGAME = HungryGeese()\nGAME.name = {!r}\n"
    file.write_text(source.format("other"))
    external.register_games(str(file))
    both = external.rules_digest("other")
    assert both != external.rules_digest("hungry_geese")
    file.write_text(source.format("other") + "GAME.version = '2'\n")
    assert external.rules_digest("other") != both


@pytest.mark.parametrize("name", ["battlesnake", "golad", "hungry_geese", "snake"])
def test_the_rules_digest_covers_every_file_that_only_this_game_imports(name: str) -> None:
    files = external.rule_files(name)
    imported = {
        node.module
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    covered = {_module_of(file) for file in files}
    shared = {"games.protocol"}
    assert {module for module in imported if module.startswith("games")} <= covered | shared


def _module_of(file: Path) -> str:
    parts = file.relative_to(Path(games.__file__).parents[1]).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")
