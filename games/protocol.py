"""The interface of every game: pure rules without input or output.

A game is a value with the methods of :class:`Game`. Callers keep its state and pass it back, but
read it only through ``observe`` and ``outcome``.

Chance (food, start cells) comes from the given ``random.Random``, or from a replay. ``reset`` and
``step`` return the chance events that they used, so a match can be replayed without its seed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any, Literal, Protocol, TypeVar

Json = Any  # what json.loads can return; kept as Any because the standard library types it so
S = TypeVar("S")


class GameError(Exception):
    """A call asked for something that the game's rules do not allow."""

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        super().__init__(message if field is None else f"{field}: {message}")
        self.message = message
        """The sentence without the field."""
        self.field = field
        """Name of the refused value, such as ``seats``, if it is one."""


class ConfigurationError(GameError):
    """A configuration value is missing, of the wrong type, or outside what the game allows."""

    field: str

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message, field=field)


class Verdict(StrEnum):
    """The state of a seat, in Kaggle's words."""

    ACTIVE = "ACTIVE"
    """The seat is still playing."""
    DONE = "DONE"
    """The game's rules ended the seat: won, lost, or the last step was reached."""
    ERROR = "ERROR"
    """The seat was removed for an exception, an exit, memory, or a broken protocol."""
    INVALID = "INVALID"
    """The seat was removed for an answer that is no move of this game."""
    TIMEOUT = "TIMEOUT"
    """The seat was removed for using more than its time."""

    @property
    def is_fault(self) -> bool:
        """Whether the agent is at fault: ERROR, INVALID or TIMEOUT."""
        return self in FAULTS


FAULTS = frozenset({Verdict.ERROR, Verdict.INVALID, Verdict.TIMEOUT})


class InvalidMove(GameError):
    """The answer is no move of this game. The message says what was expected."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended. All tuples are indexed by seat."""

    placements: tuple[int, ...]
    """1 is best. Equal numbers are ties and the next place is skipped (1, 2, 2, 4)."""
    rewards: tuple[float | None, ...]
    """Rewards of the game. A failed seat may have a number or None. None counts as the lowest
    reward of the episode, at most 0.
    """
    verdicts: tuple[Verdict, ...]
    """DONE or the seat's fault, never ACTIVE."""
    statistics: tuple[Mapping[str, float], ...] = ()
    """Further numbers per seat for ranking single-seat games. Empty if placements suffice."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One number by which matches with a single seat are ranked."""

    name: str
    """Name in ``Outcome.statistics``."""
    title: str
    """Title for people, such as ``Steps of won games``."""
    kind: Literal["share", "mean"]
    """Whether an episode has 0 or 1, or a number."""
    is_higher_better: bool = True
    of: str | None = None
    """Name of a share. Only episodes in which it is 1 count here. With None all count."""


class Game(Protocol[S]):
    """Rules of one game. Implementations have no mutable state of their own."""

    name: str
    """Identifier in leagues, replays and on the command line, such as ``hungry_geese``."""
    title: str
    version: str
    seats: range
    """Seat counts the rules allow."""
    lenient: frozenset[Verdict]
    """Faults after which a seat is asked again, as long as its process exists. After any other
    fault it is never asked again. ``step`` gets every fault.
    """
    mirrored: bool
    """Whether the seat matters so much that a match has two episodes of one start, with the
    seats in reverse order in the second.
    """
    clock: Mapping[str, Json]
    """The default time control of a season, by the names of ``sandbox.match.clock.Clock``."""

    measures: tuple[Measure, ...]
    """Measures that rank seasons with one seat; the first counts first. Empty: rank by reward."""

    def configure(self, overrides: Mapping[str, Json]) -> dict[str, Json]:
        """The full configuration with ``overrides`` applied.

        Raises ConfigurationError naming the field for unknown keys and values out of range.
        """
        ...

    def longest(self, configuration: Mapping[str, Json]) -> int:
        """Most steps of an episode with this configuration."""
        ...

    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[S, Json]:
        """The first state and the chance events that made it.

        ``chance`` is a generator, or the events of an earlier call.
        """
        ...

    def to_move(self, state: S) -> tuple[int, ...]:
        """Seats that must answer now. Empty if the episode is over."""
        ...

    def observe(self, state: S, seat: int) -> dict[str, Json]:
        """What this seat may see. Names no team, agent, league, match or seed."""
        ...

    def parse(self, state: S, seat: int, raw: Json) -> Json:
        """The move in its canonical JSON form. Raises InvalidMove."""
        ...

    def sample(self, state: S, seat: int, random: Random) -> Json:
        """An answer that ``parse`` accepts, drawn in any way. Checks use it for random play.

        Called only for seats in ``to_move``. ``random`` is not the episode's own.
        """
        ...

    def step(
        self, state: S, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[S, Json]:
        """The next state and the chance events drawn.

        ``moves`` has a canonical move or a fault (ERROR, INVALID, TIMEOUT) for each seat in
        ``to_move``.
        """
        ...

    def outcome(self, state: S) -> Outcome | None:
        """The result, or None while the episode runs."""
        ...

    def frame(self, state: S) -> dict[str, Json]:
        """The whole state as JSON for spectators and replays. Nothing is hidden in it."""
        ...


def clock_fields(game: Game[Any]) -> Mapping[str, int]:
    """Units per second of each configuration field that shows agents the clock."""
    fields: Mapping[str, int] = getattr(game, "clock_fields", {})
    return fields


def hides_something(game: Game[Any]) -> bool:
    """Whether a frame may show what a seat's observation does not.

    Whoever watches a running match then knows more than an agent in it. A game whose observations
    show the whole board sets ``shows_whole_board``. Other games need not have the attribute.
    """
    return not getattr(game, "shows_whole_board", False)


def measure_bounds(
    game: Game[Any], configuration: Mapping[str, Json]
) -> Mapping[str, tuple[float | None, float | None]]:
    """Least and greatest value of measures, where the rules bound them; by the measure's name.

    A game with such measures has the method ``measure_bounds``. Other games need not have it.
    """
    bounds = getattr(game, "measure_bounds", None)
    found: Mapping[str, tuple[float | None, float | None]] = bounds(configuration) if bounds else {}
    return found


def with_clock(
    game: Game[Any], configuration: Mapping[str, Json], clock: Mapping[str, Json]
) -> dict[str, Json]:
    """The configuration with its clock fields set from the clock.

    A clock field shows agents how long an answer may take without the bank. A game names such
    fields in ``clock_fields``, each with its units per second (1 or 1000). Other games need not
    have the attribute.
    """
    full: dict[str, Json] = dict(configuration)
    for name, units in clock_fields(game).items():
        value = float(clock.get("act_seconds", 1.0)) * units
        # Servers read milliseconds as a whole number, and 0 as no limit.
        full[name] = max(1, round(value)) if units > 1 else int(value) if value % 1 == 0 else value
    return full


def placements_from_scores(scores: Sequence[float]) -> tuple[int, ...]:
    """Competition ranks: 1 for the highest score, equal for equal scores."""
    ordered = sorted(scores, reverse=True)
    return tuple(ordered.index(score) + 1 for score in scores)


def canonical_json(value: Json) -> str:
    """The JSON of a value, with sorted keys. Equal values give equal texts."""
    return json.dumps(value, sort_keys=True, allow_nan=False)


def json_flaw(value: Json) -> str | None:
    """The part of a value that is not plain JSON. None if all of it is."""
    if value is None or isinstance(value, bool | str):
        return None
    if type(value) in (int, float):
        return None if math.isfinite(value) else f"{value!r} is not a finite number"
    if isinstance(value, list | tuple):
        return next((flaw for flaw in map(json_flaw, value) if flaw), None)
    if isinstance(value, dict):
        odd = [key for key in value if not isinstance(key, str)]
        if odd:
            return f"the key {odd[0]!r:.100} is not a string"
        return next((flaw for flaw in map(json_flaw, value.values()) if flaw), None)
    return f"{value!r:.100} is a {type(value).__name__}"


@dataclass(frozen=True, slots=True)
class ConfigurationField:
    """One number or switch of a configuration: its name, type, default and smallest value."""

    name: str
    type: type[int] | type[float] | type[bool]
    default: float
    minimum: float = 0


def configure(
    fields: Iterable[ConfigurationField], overrides: Mapping[str, Json]
) -> dict[str, Json]:
    """All fields in their order, with ``overrides`` applied. null means the default.

    Raises ConfigurationError naming the field for unknown names and values out of range.
    """
    by_name = {field.name: field for field in fields}
    for name in overrides:
        if name not in by_name:
            raise ConfigurationError(str(name), f"unknown; there are {', '.join(by_name)}")
    return {
        field.name: field.default
        if overrides.get(field.name) is None
        else _check_value(field, overrides[field.name])
        for field in by_name.values()
    }


def _check_value(field: ConfigurationField, value: Json) -> float:
    if field.type is bool:
        if not isinstance(value, bool):
            raise ConfigurationError(field.name, f"must be true or false, got {value!r:.100}")
        return value
    # JSON Schema: true is no number, and 11.0 is an integer.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise ConfigurationError(field.name, f"must be a number, got {value!r:.100}")
    if field.type is int:
        if value != int(value):
            raise ConfigurationError(field.name, f"must be a whole number, got {value!r}")
        value = int(value)
    if value < field.minimum:
        raise ConfigurationError(field.name, f"must be at least {field.minimum}, got {value!r}")
    number: float = value
    return number
