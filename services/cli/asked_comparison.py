"""What a person typed after ``peck better``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from games.protocol import Game
from sandbox.settings import LauncherName

NO_ANSWER: Final = 2
USUAL_SEATS: Final = 4


@dataclass(frozen=True, slots=True)
class AskedComparison:
    """What a person typed."""

    old: str
    new: str
    game: str | None
    league: str | None
    opponents: tuple[str, ...]
    seats: int | None
    margin: float | None
    pairs: int | None
    variants: int
    seed: str | None
    config: tuple[str, ...]
    act_seconds: float | None
    bank_seconds: float | None
    profile: str
    memory_mb: int
    launcher: LauncherName
    node: Path | None
    out: Path | None
    as_json: bool
    began: float
    """When the command began, by the monotonic clock."""


@dataclass(frozen=True, slots=True)
class ComingNode:
    """A node that is starting."""

    wait: Callable[[], Path]
    """Returns its socket. Raises RunError and HostFault."""
    scratch: Path
    """A folder for the time of the comparison."""


def seats_of(rules: Game[Any], typed: AskedComparison) -> int:
    """The number of seats, also if the person named none."""
    usual = len(typed.opponents) + 1 if typed.opponents else USUAL_SEATS
    return typed.seats or max(2, rules.seats.start, min(usual, rules.seats.stop - 1))
