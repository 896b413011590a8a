"""The time control: free time for each answer, and a bank for each episode. All in seconds.

Time above the free time comes from the bank. The rule follows kaggle-environments (``core.py``)::

    over = max(0, charge - act_seconds)

The seat times out when ``over`` is greater than the bank. ``over`` is deducted even then, so the
bank of such a seat is negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

LONGEST_SECONDS: Final = 86_400.0


class ClockError(ValueError):
    """A field of the clock is unknown, has a wrong type or is out of range.

    The message names the field.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"clock.{field}: {message}")
        self.field = field


@dataclass(frozen=True, slots=True)
class Clock:
    """The time control of a season, in seconds of charged time."""

    act_seconds: float = 1.0
    """Free time of each answer."""
    bank_seconds: float = 60.0
    """Bank of one episode, for time above the free time."""
    increment_seconds: float = 0.0
    """Added to the bank after each answer in time, up to ``bank_seconds``."""
    load: Literal["first_move", "own"] = "first_move"
    """When the agent's file is executed: within the first answer and on its clock, as on Kaggle, or
    before it under ``load_seconds``.
    """
    load_seconds: float = 30.0
    """Time from the start message to the child's ``ready``. It costs no bank."""

    @classmethod
    def from_json(cls, value: object) -> Clock:
        """Read the clock of a season's row. Missing fields get their defaults.

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
        """Return the clock for a season's row, with every field."""
        return {name: getattr(self, name) for name in _FIELDS}

    def longest_seconds(self, steps: int, seats: int, max_parallel_seats: int) -> float:
        """The longest duration of a match whose seats keep to this clock and never wait for a core.

        Seats load and answer in groups of ``max_parallel_seats``; quick seats form one more group.
        The allowances of the groups add up. At worst each seat spends its bank in its own group.
        Our own work adds 30 s, and the checks before a time-out 5 s a seat. Forgiven waiting comes
        on top; ``play_episode`` limits it.
        """
        chunks = math.ceil(seats / max(1, max_parallel_seats))
        groups = min(seats, chunks + 1)
        load = self.load_seconds * chunks if self.load == "own" else min(self.load_seconds, 30.0)
        ours = 30.0 + 5.0 * seats
        free = groups * steps * self.act_seconds
        banked = seats * (self.bank_seconds + steps * self.increment_seconds)
        return free + banked + load + ours


_DEFAULTS: Final = Clock()
_FIELDS: Final = tuple(field.name for field in fields(Clock))


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
    """The cost of one answer: ``seconds`` in all, and the bank before and after it."""

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
        """Deduct an answer of ``seconds`` (not negative) and say whether it was too long."""
        before = self.left_seconds
        over = max(0.0, seconds - self._act_seconds)
        self.left_seconds = before - over
        timed_out = over > before
        if not timed_out:
            self.left_seconds = min(self._most_seconds, self.left_seconds + self._increment_seconds)
        return TimeCharge(seconds, before, self.left_seconds, timed_out)

    def charge_off_turn(self, seconds: float) -> TimeCharge:
        """Deduct time used between two answers. None of it is free."""
        before = self.left_seconds
        self.left_seconds = before - seconds
        return TimeCharge(seconds, before, self.left_seconds, timed_out=seconds > before)

    def clear_debt(self) -> None:
        """Clear the debt of a time-out that costs only the answer."""
        self.left_seconds = max(0.0, self.left_seconds)

    def deadline(self, started: float) -> float:
        """The last moment, on the clock of ``started``, for an answer in time.

        It covers writing the question and reading the whole answer.
        """
        return started + self._act_seconds + max(0.0, self.left_seconds)

    def visible_seconds(self) -> float | int:
        """The bank as the agent sees it. Whole seconds are an integer, as on Kaggle."""
        left = self.left_seconds
        return int(left) if left == int(left) else left
