"""Types and functions that kaggle_environments shares between games."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any, TypeVar

TItem = TypeVar("TItem")
THash = TypeVar("THash")


class Point(tuple[int, int]):
    """A cell (x, y) with (0, 0) at the lower left. Its arithmetic ignores the board's edges."""

    def __new__(cls, x: int, y: int) -> Point:
        return super().__new__(cls, (x, y))

    @property
    def x(self) -> int:
        """The column."""
        return self[0]

    @property
    def y(self) -> int:
        """The row, counted from below."""
        return self[1]

    def map(self, f: Callable[[int], int]) -> Point:
        """Apply ``f`` to both coordinates."""
        return Point(f(self[0]), f(self[1]))

    def map2(self, other: tuple[int, int], f: Callable[[int, int], int]) -> Point:
        """Apply ``f`` to both pairs of coordinates."""
        return Point(f(self[0], other[0]), f(self[1], other[1]))

    def translate(self, offset: Point, size: int) -> Point:
        """The cell at this offset on a square torus."""
        return (self + offset) % size

    def distance_to(self, other: Point, size: int) -> float:
        """Fewest steps to the other cell on a square torus."""
        apart = (abs(self[0] - other[0]), abs(self[1] - other[1]))
        return sum(gap if gap < size / 2 else size - gap for gap in apart)

    def to_index(self, size: int) -> int:
        """Position in a list of the board's rows from the top."""
        return (size - 1 - self[1]) * size + self[0]

    @staticmethod
    def from_index(index: int, size: int) -> Point:
        """The inverse of ``to_index``."""
        return Point(index % size, size - 1 - index // size)

    def __abs__(self) -> Point:
        return Point(abs(self[0]), abs(self[1]))

    def __add__(self, other: tuple[int, int]) -> Point:  # type: ignore[override]
        return Point(self[0] + other[0], self[1] + other[1])

    def __sub__(self, other: tuple[int, int]) -> Point:
        return Point(self[0] - other[0], self[1] - other[1])

    def __neg__(self) -> Point:
        return Point(-self[0], -self[1])

    def __mul__(self, factor: int) -> Point:  # type: ignore[override]
        return Point(self[0] * factor, self[1] * factor)

    def __floordiv__(self, denominator: int) -> Point:
        return Point(self[0] // denominator, self[1] // denominator)

    def __mod__(self, mod: int) -> Point:
        return Point(self[0] % mod, self[1] % mod)

    def __eq__(self, other: Any) -> bool:
        # Only the first two entries count; a list works too.
        try:
            return bool(self[0] == other[0] and self[1] == other[1])
        except (TypeError, IndexError):
            return False

    def __hash__(self) -> int:
        return hash((self[0], self[1]))

    def __str__(self) -> str:
        return f"({self[0]}, {self[1]})"


class Direction(Enum):
    """A compass direction. North is up, towards larger y."""

    NORTH = auto()
    EAST = auto()
    SOUTH = auto()
    WEST = auto()

    def __str__(self) -> str:
        return self.name

    def to_point(self) -> Point:
        """The offset of one step."""
        return Point(*_OFFSETS[self.name])

    def to_index(self) -> int:
        """0 to 3, clockwise from north."""
        return _CLOCKWISE.index(self.name)

    def to_char(self) -> str:
        """The initial."""
        return self.name[0]

    def opposite(self) -> Direction:
        """Half a turn."""
        return self._turned(2)

    def rotate_left(self) -> Direction:
        """A quarter turn counterclockwise."""
        return self._turned(3)

    def rotate_right(self) -> Direction:
        """A quarter turn clockwise."""
        return self._turned(1)

    def _turned(self, quarters: int) -> Direction:
        return Direction[_CLOCKWISE[(self.to_index() + quarters) % 4]]

    @staticmethod
    def from_str(str_dir: str) -> Direction | None:
        """By name; None for any other text."""
        return Direction.__members__.get(str_dir)

    @staticmethod
    def from_char(str_char: str) -> Direction | None:
        """By initial; None for any other text."""
        return next((each for each in Direction if each.to_char() == str_char), None)

    @staticmethod
    def from_index(idx: int) -> Direction | None:
        """By ``to_index``; None for any other number."""
        return next((each for each in Direction if each.to_index() == idx), None)

    @staticmethod
    def random_direction() -> Direction:
        """One of the four by a single draw of ``random.random``."""
        draw = random.random()  # noqa: S311  a game
        return next((each for each in Direction if draw <= 0.25 * each.value), Direction.WEST)

    @staticmethod
    def list_directions() -> list[Direction]:
        """All four, clockwise from north."""
        return list(Direction)


_OFFSETS = {"NORTH": (0, 1), "EAST": (1, 0), "SOUTH": (0, -1), "WEST": (-1, 0)}
_CLOCKWISE = ("NORTH", "EAST", "SOUTH", "WEST")


def group_by(
    items: Iterable[TItem], selector: Callable[[TItem], THash]
) -> dict[THash, list[TItem]]:
    """Group the items by the value of ``selector``, in their order."""
    groups: dict[THash, list[TItem]] = {}
    for item in items:
        groups.setdefault(selector(item), []).append(item)
    return groups


def histogram(items: Iterable[TItem]) -> dict[TItem, int]:
    """Count each item, in order of first appearance."""
    counts: dict[TItem, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts


class Observation(dict[str, Any]):
    """The observation of every game. Keys stay as they are; some are also properties."""

    @property
    def step(self) -> int:
        """Moves made so far."""
        return self["step"]  # type: ignore[no-any-return]

    @property
    def remaining_overage_time(self) -> float:
        """Seconds left in the bank for moves above their allowance."""
        return self["remainingOverageTime"]  # type: ignore[no-any-return]


class Configuration(dict[str, Any]):
    """The configuration of every game. Keys stay as they are; some are also properties."""

    @property
    def episode_steps(self) -> int:
        """Most steps of an episode."""
        return self["episodeSteps"]  # type: ignore[no-any-return]

    @property
    def act_timeout(self) -> float:
        """Free seconds of a move, before the bank."""
        return self["actTimeout"]  # type: ignore[no-any-return]

    @property
    def run_timeout(self) -> float:
        """Seconds for a whole episode."""
        return self["runTimeout"]  # type: ignore[no-any-return]
