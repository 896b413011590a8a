"""Loads games from files outside the tree: an operator's own code, which is trusted like ours.

``PECK_GAMES`` lists them with commas, as ``/path/file.py`` or ``/path/file.py:NAME``. Every process
that plays or shows matches calls ``register_games``, which adds them to ``GAMES``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from games import GAMES
from games.protocol import Game, GameError

MEMBERS = tuple(
    sorted({*Game.__annotations__, *(name for name in vars(Game) if not name.startswith("_"))})
)
"""Members that a game must have, read from the Protocol."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
VARIABLE = "PECK_GAMES"
PAGE = "docs/how-to/bring-a-game.md"
_loaded_files: dict[str, Path] = {}
"""Source file of each game of ``register_games``, by name."""


class ExternalGameError(GameError):
    """A file has no valid game. The message names the file and what it lacks."""


def load_game(spec: str) -> Game[Any]:
    """Load the game of ``FILE`` or ``FILE:NAME``. Without a name, load the file's ``GAME``.

    Executes the file. Raises ExternalGameError.
    """
    path, name = _file_and_name(spec)
    if not path.is_file():
        raise ExternalGameError(f"{path}: there is no such file")
    module_name = f"peck_game_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    found = importlib.util.spec_from_file_location(module_name, path)
    if found is None or found.loader is None:
        raise ExternalGameError(f"{path}: is no Python file; its name should end in .py")
    module = importlib.util.module_from_spec(found)
    sys.modules[module_name] = module  # dataclasses and inspect look a class's module up here
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise ExternalGameError(f"{path}: cannot be executed: {error!r}") from error
    game: Game[Any] | None = getattr(module, name, None)
    if game is None:
        raise ExternalGameError(f"{path}: defines no {name}; end it with {name} = YourGame()")
    if isinstance(game, type):
        raise ExternalGameError(f"{path}: {name} is a class; make it a value, {name} = {name}()")
    missing = [member for member in MEMBERS if not hasattr(game, member)]
    if missing:
        raise ExternalGameError(f"{path}: {name} lacks {', '.join(missing)}; see {PAGE}")
    if not isinstance(game.name, str) or not NAME.fullmatch(game.name):
        raise ExternalGameError(
            f"{path}: name: use small letters, digits and _, at most 40, not {game.name!r:.100}"
        )
    return game


def register_games(specs: str) -> None:
    """Add the games of a comma-separated list to ``GAMES``. A repeated file changes nothing.

    Raises ExternalGameError, also if two files have games of one name.
    """
    for spec in _split_list(specs):
        path, _ = _file_and_name(spec)
        game = load_game(spec)
        if game.name in GAMES and _loaded_files.get(game.name) != path:
            other = _loaded_files.get(game.name, "a game of Pecking Order's own")
            raise ExternalGameError(f"{path}: the name {game.name!r} is taken by {other}")
        if game.name not in GAMES:
            GAMES[game.name] = game
            _loaded_files[game.name] = path


def absolute_paths(specs: str) -> str:
    """The same list with absolute paths, for a process in another folder."""
    split = (_file_and_name(spec) for spec in _split_list(specs))
    return ",".join(f"{path}:{name}" for path, name in split)


def rules_digest(name: str) -> str:
    """The SHA-256 of a game's source, which names its exact rules.

    The source is the file of its class, or all files of its package. The operator's file is added
    if it makes the game from another file's class.
    """
    digests = [hashlib.sha256(source.read_bytes()).hexdigest() for source in rule_files(name)]
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def rule_files(name: str) -> list[Path]:
    """The files of ``rules_digest``."""
    written = Path(inspect.getfile(type(GAMES[name])))
    files = [written]
    if written.parent != Path(__file__).parent and (written.parent / "__init__.py").is_file():
        files = sorted(written.parent.glob("*.py"))
    if name in _loaded_files and _loaded_files[name] not in files:
        files.append(_loaded_files[name])
    return files


def _split_list(specs: str) -> list[str]:
    return [spec.strip() for spec in specs.split(",") if spec.strip()]


def _file_and_name(spec: str) -> tuple[Path, str]:
    path, colon, name = spec.rpartition(":")
    if colon and name.isidentifier() and not Path(spec).exists():
        return Path(path).expanduser().absolute(), name
    return Path(spec).expanduser().absolute(), "GAME"
