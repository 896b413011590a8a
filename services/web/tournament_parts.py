"""Which part of a long tournament a page shows: one round, and pages of its lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from fastapi import Query

from ladder.ids import TournamentId
from ladder.tournaments.courses import position_text
from ladder.tournaments.formats.records import Course, Key
from ladder.tournaments.views import TournamentView
from services.web.bracket_svg import anchor

T = TypeVar("T")
ROWS: Final = 100
"""Most lines of a list on the page."""
PageNumber = Annotated[int, Query(ge=1, le=10_000)]


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A page of a list."""

    rows: Sequence[T]
    number: int
    """Of the page, from 1."""
    pages: int
    count: int
    """Length of the whole list."""

    @property
    def first(self) -> int:
        """Place of the first line in the whole list, from 1."""
        return (self.number - 1) * ROWS + 1


PAGES: Final = ("pairings", "places", "entrants", "final")
"""The parts of the page that have pages."""


@dataclass(frozen=True, slots=True)
class PageChoice:
    """What the visitor chose. Pages count from 1."""

    tournament_id: TournamentId
    round: str | None = None
    """Stage and round, as in ``1.2``; None: the newest that the visitor may know."""
    pairings: int = 1
    places: int = 1
    entrants: int = 1
    final: int = 1
    """Of the final places over all stages; ``places`` is of the tables of stages."""

    def address(self, part: str, **changes: Any) -> str:
        """The address of the page with another choice, at this part of it."""
        other = replace(self, **changes)
        if other.round != self.round:
            other = replace(other, pairings=1)
        chosen = {"round": other.round} if other.round else {}
        pages = {name: getattr(other, name) for name in PAGES}
        query = urlencode(chosen | {name: page for name, page in pages.items() if page > 1})
        return f"/tournaments/{self.tournament_id}{'?' if query else ''}{query}#{part}"

    def address_of_pairing(self, key: Key) -> str:
        """The address of a pairing: its round, and the page that shows it."""
        other = replace(self, round=f"{key.stage}.{key.round}")
        return replace(other, pairings=1 + (key.number - 1) // ROWS).address(anchor(key))


def choice_of(view: TournamentView, given: PageChoice) -> PageChoice:
    """The choice with a round that the visitor may know: else the newest one."""
    if view.course is None:
        return replace(given, round=None)
    known = {position_text(one.round) for one in view.course.pairings}
    chosen = given.round if given.round in known else _newest_round(view, view.course)
    return replace(given, round=chosen, pairings=given.pairings if chosen == given.round else 1)


def _newest_round(view: TournamentView, course: Course) -> str:
    """The round that is played. At the end the last one with a game: a second final that is not
    needed has none."""
    played = [one.round for one in course.pairings if str(one.key) in view.games]
    return position_text(max(played) if course.finished and played else course.position)


def part_of(rows: Sequence[T], number: int) -> Part[T]:
    """The page with this number; the last one if there are fewer."""
    pages = max(1, -(-len(rows) // ROWS))
    number = min(number, pages)
    return Part(rows[(number - 1) * ROWS : number * ROWS], number, pages, len(rows))
