"""Makes the plan of matches on this machine from the options of a command."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from games import GAMES, external
from games.protocol import Game, GameError, clock_fields, with_clock
from sandbox.match import local_match
from sandbox.match.clock import Clock, ClockError
from sandbox.profiles import PROFILES
from services.cli.local_node import RunError
from services.environment_variables import Environment


@dataclass(frozen=True, slots=True)
class GameOptions:
    """What the options of a command say about each game."""

    game: str
    seats: int
    config: Sequence[str] = ()
    """NAME=VALUE of the game's configuration."""
    act_seconds: float | None = None
    """Free seconds for each move; None: the game's."""
    bank_seconds: float | None = None
    """Extra seconds for all moves of one game; None: the game's."""
    profile: str = "numpy"
    memory_mb: int = 1024
    """Memory of each agent's box."""
    max_parallel_seats: int = 0
    """Agents that compute at the same time; 0: cores - 1."""


def make_plan(
    options: GameOptions, agents: Sequence[Path], *, games: int, seed: bytes
) -> local_match.LocalPlan:
    """Returns the plan of a batch. Raises RunError for options that the game does not allow."""
    rules = find_game(options.game)
    if options.seats not in rules.seats:
        raise RunError(
            f"name {rules.seats.start} to {rules.seats.stop - 1} players for "
            f"{rules.title}, not {options.seats}"
        )
    overrides = dict(parse_override(text) for text in options.config)
    act_seconds = options.act_seconds
    try:
        configuration = rules.configure(overrides)
        rules.reset(configuration, options.seats, Random(0))  # noqa: S311 (is there room for all?)
        if act_seconds is None:
            act_seconds = next(
                (
                    configuration[name] / units
                    for name, units in clock_fields(rules).items()
                    if name in overrides
                ),
                None,
            )
        limits = {"act_seconds": act_seconds, "bank_seconds": options.bank_seconds}
        chosen = {name: value for name, value in limits.items() if value is not None}
        clock = Clock.from_json({**rules.clock, **chosen})
        configuration = with_clock(rules, configuration, clock.to_json())
    except (GameError, ClockError) as error:
        raise RunError(str(error)) from None
    check_profile(options.profile)
    return local_match.LocalPlan(
        game=rules,
        configuration=configuration,
        clock=clock,
        agents=tuple(agents),
        games=games,
        seed=seed,
        max_parallel_seats=options.max_parallel_seats or local_match.PARALLEL_SEATS,
        profile=options.profile,
        memory_mb=options.memory_mb,
    )


def check_profile(profile: str) -> None:
    """Raises RunError for an unknown profile."""
    if profile not in PROFILES:
        raise RunError(f"type one of {', '.join(PROFILES)}: there is no profile {profile!r}")


def find_game(name: str) -> Game[Any]:
    """Returns the game with this name, also one of ``PECK_GAMES``. Raises RunError."""
    try:
        external.register_games(Environment.read().games)
    except external.ExternalGameError as error:
        raise RunError(f"{external.VARIABLE}: {error}") from None
    rules = GAMES.get(name)
    if rules is None:
        raise RunError(f"type one of {', '.join(sorted(GAMES))}: there is no game {name!r}")
    return rules


def default_folder() -> Path:
    """Makes a new folder for replays and logs, if nobody named one.

    Its name is the time, with a number if another command began in the same second.
    """
    name = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for number in count(1):
        folder = Path("peck-runs") / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError


def parse_override(text: str) -> tuple[str, Any]:
    """Parses NAME=VALUE. A value that is not JSON is a text. Raises RunError."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise RunError(f"--config {text!r}: type NAME=VALUE, for example --config rows=7")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def parse_seed(text: str | None) -> bytes:
    """Returns the seed of 16 bytes; a random one for None. Raises RunError."""
    if text is None:
        return secrets.token_bytes(16)
    try:
        if len(text) == 32:
            return bytes.fromhex(text)
        return int(text).to_bytes(16, "big")
    except (ValueError, OverflowError):
        raise RunError(
            f"--seed {text!r}: type 32 hex digits or a whole number from 0 to 2**128 - 1"
        ) from None
