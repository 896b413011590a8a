"""Reads replays from files, and what `peck run` wrote beside them."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from games import GAMES, external
from games.episode import FORMAT, MAX_BYTES, Episode, from_document
from games.protocol import Game, GameError
from services.cli.display import is_id
from services.cli.local_node import RunError
from services.cli.name_lookup import match_of
from services.cli.saved_login import connect
from services.environment_variables import Environment


@dataclass(frozen=True, slots=True)
class RunGame:
    """What `peck run` wrote about one game."""

    names: tuple[str, ...]
    """Name of the agent in each seat."""
    seed: bytes | None


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded episode with its rules."""

    game: Game[Any]
    episode: Episode
    seed: bytes | None
    """None if nobody knows it."""


def find_record(source: str, seed: str | None) -> Record:
    """The episode of a file, or of a match or episode number on the service.

    ``seed`` in hex replaces the one that the source tells. Raises RunError.
    """
    external.register_games(Environment.read().games)
    if Path(source).is_file():
        episode, known_seed = read_episode(Path(source)), seed_of_file(Path(source))
    elif source.isdigit() or is_id(source):
        with connect(needs_token=False) as ladder:
            match_id, position, _ = match_of(ladder, source)
            match_seed = ladder.get(f"/v1/matches/{match_id}")["seed"]
            document = ladder.get(f"/v1/matches/{match_id}/replay", format="peck", episode=position)
        episode, known_seed = (
            from_document(document),
            bytes.fromhex(match_seed) if match_seed else None,
        )
    else:
        raise RunError(f"{source}: there is no such file, and this is no match id")
    game = GAMES.get(episode.game)
    if game is None:
        raise RunError(f"set PECK_GAMES: there is no game {episode.game!r} here")
    if seed is not None:
        try:
            known_seed = bytes.fromhex(seed)
        except ValueError:
            known_seed = b""
        if len(known_seed) != 16:
            raise RunError(f"--seed {seed!r}: type 32 hex digits")
    return Record(game, episode, known_seed)


def read_episode(path: Path) -> Episode:
    """The episode of a file in our replay format, compressed or not. Raises RunError."""
    document = read_json(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise RunError(
            f"{path}: give a replay in the format {FORMAT}; `peck run` writes"
            " *.peck-replay.gz, and `peck replay MATCH --format peck` downloads one"
        )
    try:
        return from_document(document)
    except GameError as error:
        raise RunError(f"{path}: {error}") from None


def seed_of_file(path: Path) -> bytes | None:
    """The seed of the game, if `peck run` wrote it beside the replay."""
    game = games_of_run(path.parent).get(path.name.partition(".")[0].removesuffix("-mirrored"))
    return game.seed if game else None


def games_of_run(folder: Path) -> dict[str, RunGame]:
    """The games of a folder of `peck run` by the stem of the replay's name."""
    try:
        lines = (folder / "games.jsonl").read_text().splitlines()
        games = [json.loads(line) for line in lines]
        return {
            Path(game["files"]["replay"]).name.partition(".")[0]: RunGame(
                tuple(str(seat["agent"]) for seat in game["seats"]),
                bytes.fromhex(game["seed"]) if "seed" in game else None,
            )
            for game in games
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def read_json(path: Path) -> Any:
    """The JSON of a file, compressed or not. Raises RunError."""
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            with gzip.open(path) as unpacked:
                raw = unpacked.read(MAX_BYTES)
        return json.loads(raw)
    except FileNotFoundError:
        raise RunError(f"{path}: there is no such file") from None
    except (OSError, ValueError, EOFError, RecursionError, zlib.error) as error:
        raise RunError(f"{path}: this is no JSON, also not compressed ({error})") from None
