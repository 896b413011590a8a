"""The seam every game implements: pure rules, no input or output.

A game is a value with the methods of :class:`Game`. Its state is opaque to everybody else: callers
keep it, hand it back, and read it only through ``observe`` and ``outcome``. Chance (food, start
cells) is drawn from the ``random.Random`` passed in, or fed back from a replay; ``reset`` and
``step`` return the chance events they used, so that a match can be played again without its seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any, Literal, Protocol, TypeVar

Json = Any  # what json.loads can return; kept as Any because the standard library types it so
S = TypeVar("S")


class GameError(Exception):
    """The game was asked for something its rules do not allow."""

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
    """How a seat stands or ended (the field's own status words)."""

    ACTIVE = "ACTIVE"
    """Still playing."""
    DONE = "DONE"
    """Ended by the rules of the game: won, lost, or the last step was reached."""
    ERROR = "ERROR"
    """Removed for an exception, an exit, memory, or a broken protocol."""
    INVALID = "INVALID"
    """Removed for an answer that is no move of this game."""
    TIMEOUT = "TIMEOUT"
    """Removed for using more than its time."""

    @property
    def is_fault(self) -> bool:
        """True for the three that are the agent's own doing."""
        return self in FAULTS


FAULTS = frozenset({Verdict.ERROR, Verdict.INVALID, Verdict.TIMEOUT})


class InvalidMove(GameError):
    """The answer is no move of this game; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended. All tuples are indexed by seat."""

    placements: tuple[int, ...]
    """1 is best; equal numbers are ties and the next place is skipped (1, 2, 2, 4)."""
    rewards: tuple[float | None, ...]
    """What the game paid; for a seat that failed a number too, or None: then the worst counts that
    was seen, and 0 where nothing was worse."""
    verdicts: tuple[Verdict, ...]
    """DONE or the seat's fault; never ACTIVE."""
    statistics: tuple[Mapping[str, float], ...] = ()
    """What else a game for one seat is ranked by, for each seat; empty where placements say all."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One of the things that matches with a single seat are ranked by."""

    name: str
    """In ``Outcome.statistics``."""
    title: str
    """For people: ``Steps of won games``."""
    kind: Literal["share", "mean"]
    """Whether an episode says 0 or 1, or a number."""
    is_higher_better: bool = True
    of: str | None = None
    """The share that an episode must count for to be counted here; None: each one counts."""


class Game(Protocol[S]):
    """Rules of one game. Implementations hold no mutable state of their own."""

    name: str
    """Identifier used in leagues, replays and on the command line: ``hungry_geese``."""
    title: str
    version: str
    seats: range
    """Seat counts the rules allow."""
    lenient: frozenset[Verdict]
    """Faults of one answer after which the seat is asked again, as long as its process is there;
    after any other the seat is never asked again. ``step`` is told each of them either way."""
    mirrored: bool
    """Whether the seat tells so much that a match is two episodes of one start, each seated the
    other way round."""
    clock: Mapping[str, Json]
    """The time control that a season has unless its host says otherwise, by the names of
    ``sandbox.match.clock.Clock``."""

    measures: tuple[Measure, ...]
    """What seasons with one seat rank by, the first counts first; empty: by the reward."""

    def configure(self, overrides: Mapping[str, Json]) -> dict[str, Json]:
        """The full configuration with ``overrides`` applied.

        Raises ConfigurationError naming the field for unknown keys and values out of range.
        """
        ...

    def longest(self, configuration: Mapping[str, Json]) -> int:
        """Steps after which an episode of this configuration is over at the latest."""
        ...

    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[S, Json]:
        """The first state and the chance events that made it.

        ``chance`` is a generator to draw from, or the events of an earlier call to feed back.
        """
        ...

    def to_move(self, state: S) -> tuple[int, ...]:
        """Seats that must answer now; empty when the episode is over."""
        ...

    def observe(self, state: S, seat: int) -> dict[str, Json]:
        """What this seat may see. Names no team, agent, league, match or seed."""
        ...

    def parse(self, state: S, seat: int, raw: Json) -> Json:
        """The move in its canonical JSON form. Raises InvalidMove."""
        ...

    def sample(self, state: S, seat: int, random: Random) -> Json:
        """An answer that ``parse`` takes, drawn in any way: what random play in checks is made of.

        Called for seats in ``to_move`` only. ``random`` is not the episode's own.
        """
        ...

    def step(
        self, state: S, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[S, Json]:
        """The next state and the chance events drawn, given a canonical move or a fault verdict
        (ERROR, INVALID, TIMEOUT) for each seat in ``to_move``."""
        ...

    def outcome(self, state: S) -> Outcome | None:
        """The result, or None while the episode runs."""
        ...

    def frame(self, state: S) -> dict[str, Json]:
        """The whole state as JSON for spectators and replays (nothing is hidden in it)."""
        ...


def clock_fields(game: Game[Any]) -> Mapping[str, int]:
    """Units per second of each field of the configuration that shows agents the clock."""
    fields: Mapping[str, int] = getattr(game, "clock_fields", {})
    return fields


def with_clock(
    game: Game[Any], configuration: Mapping[str, Json], clock: Mapping[str, Json]
) -> dict[str, Json]:
    """The configuration with its clock fields set from the clock.

    A clock field shows agents how long an answer may take without the bank. A game names such
    fields in ``clock_fields``, each with its units per second (1 or 1000). Games without such a
    field need not have the attribute.
    """
    full: dict[str, Json] = dict(configuration)
    for name, units in clock_fields(game).items():
        value = float(clock.get("act_seconds", 1.0)) * units
        # Servers read milliseconds as a whole number; they read 0 as no limit.
        full[name] = max(1, round(value)) if units > 1 else int(value) if value % 1 == 0 else value
    return full


def placements_from_scores(scores: Sequence[float]) -> tuple[int, ...]:
    """Competition ranks, 1 for the highest score, equal for equal scores."""
    ordered = sorted(scores, reverse=True)
    return tuple(ordered.index(score) + 1 for score in scores)
