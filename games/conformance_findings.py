"""Collects the promises that a game breaks in the conformance check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

MOST_PLACES: Final = 3
"""Most places reported for one broken promise."""


class GameUnplayable(Exception):
    """The game cannot go on. The findings have the reason."""


@dataclass
class Findings:
    """Collects broken promises. Knows the current place in the play."""

    where: str = ""
    broken: dict[str, list[str]] = field(default_factory=dict)

    def add_failure(self, check: str, message: str) -> None:
        places = self.broken.setdefault(check, [])
        told = f"{self.where}: {message}" if self.where else message
        if len(places) < MOST_PLACES and told not in places:
            places.append(told)

    def expect(self, holds: bool, check: str, message: str) -> None:
        if not holds:
            self.add_failure(check, message)

    @contextmanager
    def failing_on_exception(self, what: str, check: str = "plays") -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.add_failure(check, f"{what} raised {error!r:.300}")
            raise GameUnplayable from error
