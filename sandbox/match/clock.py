"""What a seat may use of time, and what is left of it: the arithmetic of the field, in seconds.

Each answer has an allowance; what goes over it is drawn from a bank that lasts the episode. The
rule is the one of kaggle-environments (``core.py``): over = max(0, charge - act_seconds); the seat
is out when over is strictly greater than what the bank holds, and over is deducted all the same,
so that a seat that ran out shows a negative bank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal

LONGEST_SECONDS: Final = 86_400.0


class ClockError(ValueError):
    """A clock's field is unknown, of the wrong type, or out of range; the message names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"clock.{field}: {message}")
        self.field = field


@dataclass(frozen=True, slots=True)
class Clock:
    """The time control of a season. All durations in seconds of charged time."""

    act_seconds: float = 1.0
    """Free at every answer."""
    bank_seconds: float = 60.0
    """What answers may go over that, together, in one episode."""
    increment_seconds: float = 0.0
    """Put back into the bank after each answer in time, up to ``bank_seconds``."""
    load: Literal["first_move", "own"] = "first_move"
    """Where the agent's file is executed: inside the first answer and on its clock (Kaggle), or
    before it under ``load_seconds``."""
    load_seconds: float = 30.0
    """From the start message to the child's word that it is ready; not from the bank."""

    @classmethod
    def from_json(cls, value: object) -> Clock:
        """The clock written in a season's row; fields not named keep their defaults.

        Raises ClockError naming the field.
        """
        if not isinstance(value, Mapping):
            raise ClockError("", f"must be an object, not {type(value).__name__}")
        known = {field.name for field in fields(cls)}
        for name in value:
            if name not in known:
                raise ClockError(str(name), f"unknown; known are {', '.join(sorted(known))}")
        return cls(
            act_seconds=_parse_seconds(value, "act_seconds"),
            bank_seconds=_parse_seconds(value, "bank_seconds"),
            increment_seconds=_parse_seconds(value, "increment_seconds"),
            load=_parse_load(value),
            load_seconds=_parse_seconds(value, "load_seconds", above_zero=True),
        )

    def to_json(self) -> dict[str, Any]:
        """The clock as the row holds it, every field named."""
        return asdict(self)

    def longest_seconds(self, steps: int, seats: int, max_parallel_seats: int) -> float:
        """How long a match can last while every seat keeps to this clock and none waits for a core.

        Seats load and are asked in groups of ``max_parallel_seats``, and those that were quick so
        far in one more, so the allowances of the groups add up; each seat spends its bank in a
        group of its own at worst. Half a minute is added for our own work, and 5 s for each seat
        for the second looks before it is called late, all of a match's together. What is forgiven
        comes on top: it is bounded for each seat by what ``referee.play`` is told.
        """
        chunks = math.ceil(seats / max(1, max_parallel_seats))
        groups = min(seats, chunks + 1)
        load = self.load_seconds * chunks if self.load == "own" else min(self.load_seconds, 30.0)
        ours = 30.0 + 5.0 * seats
        free = groups * steps * self.act_seconds
        banked = seats * (self.bank_seconds + steps * self.increment_seconds)
        return free + banked + load + ours


_DEFAULTS: Final = Clock()


def _parse_seconds(value: Mapping[Any, Any], name: str, *, above_zero: bool = False) -> float:
    found = value.get(name, getattr(_DEFAULTS, name))
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ClockError(name, f"must be a number of seconds, not {type(found).__name__}")
    try:
        seconds = float(found)
    except OverflowError:
        seconds = math.inf
    if not math.isfinite(seconds) or not 0 <= seconds <= LONGEST_SECONDS:
        raise ClockError(name, f"must be from 0 to {LONGEST_SECONDS:.0f} seconds")
    if above_zero and seconds == 0:
        raise ClockError(name, "must be more than 0 seconds")
    return seconds


def _parse_load(value: Mapping[Any, Any]) -> Literal["first_move", "own"]:
    found = value.get("load", _DEFAULTS.load)
    if found == "first_move":
        return "first_move"
    if found == "own":
        return "own"
    raise ClockError("load", 'must be "first_move" or "own"')


@dataclass(frozen=True, slots=True)
class TimeCharge:
    """What one answer cost: ``seconds`` in all, what the bank held before and holds now."""

    seconds: float
    bank_before_seconds: float
    bank_seconds: float
    timed_out: bool


class TimeBank:
    """One seat's bank through one episode."""

    __slots__ = ("_act_seconds", "_increment_seconds", "_most_seconds", "left_seconds")

    def __init__(self, clock: Clock) -> None:
        self._act_seconds = clock.act_seconds
        self._increment_seconds = clock.increment_seconds
        self._most_seconds = clock.bank_seconds
        self.left_seconds = clock.bank_seconds

    def charge(self, seconds: float) -> TimeCharge:
        """Deduct an answer that took ``seconds`` (not negative) and say whether it was too long."""
        before = self.left_seconds
        over = max(0.0, seconds - self._act_seconds)
        self.left_seconds = before - over
        timed_out = over > before
        if not timed_out:
            self.left_seconds = min(self._most_seconds, self.left_seconds + self._increment_seconds)
        return TimeCharge(seconds, before, self.left_seconds, timed_out)

    def draw(self, seconds: float) -> TimeCharge:
        """Deduct time used between two answers, of which nothing is free."""
        before = self.left_seconds
        self.left_seconds = before - seconds
        return TimeCharge(seconds, before, self.left_seconds, timed_out=seconds > before)

    def forgive(self) -> None:
        """After a time-out that costs an answer and not the seat: what it was over is not owed."""
        self.left_seconds = max(0.0, self.left_seconds)

    def deadline(self, started: float) -> float:
        """The last moment, on the clock of ``started``, at which an answer is still in time.

        Absolute: it covers the write of the question and the read of the whole answer.
        """
        return started + self._act_seconds + max(0.0, self.left_seconds)

    def shown(self) -> float | int:
        """What the agent is told: whole seconds as an integer, as Kaggle shows them."""
        left = self.left_seconds
        return int(left) if left == int(left) else left
