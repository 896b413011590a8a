"""Names a match: who met whom, and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from ladder.enums import MatchKind, MatchState
from ladder.matches.records import Match, Seat

UNFINISHED: Final = {
    MatchState.QUEUED: "waiting for a machine",
    MatchState.RUNNING: "being played",
    MatchState.VOID: "void",
}


FAULTS: Final = {"TIMEOUT": "timed out", "ERROR": "error", "INVALID": "invalid move"}
"""Words for the verdicts of seats that failed."""


class Placed(Protocol):
    """A seat, as far as titles need it."""

    @property
    def seat(self) -> int: ...
    @property
    def agent_name(self) -> str: ...
    @property
    def placement(self) -> int | None: ...
    @property
    def verdict(self) -> str | None: ...


def match_title(match: Match) -> str:
    """A title such as ``Lattice beats Drifter in 199 steps``."""
    if match.kind is MatchKind.VALIDATION:
        return f"Validation of {match.seats[0].agent_name}{_validation_end(match)}"
    if match.state is not MatchState.FINISHED:
        return f"{lineup_text(match.seats)}, {UNFINISHED[match.state]}"
    return result_text(match.seats, _length(match))


def lineup_title(match: Match) -> str:
    """A title without the result, such as ``Lattice against Drifter`` or ``Lattice alone``."""
    if match.kind is MatchKind.VALIDATION:
        return f"Validation of {match.seats[0].agent_name}"
    return lineup_text(match.seats) + (" alone" if len(match.seats) == 1 else "")


def lineup_text(seats: Sequence[Placed]) -> str:
    """The agents of these seats: ``Lattice against Drifter``."""
    names = [seat.agent_name for seat in seats]
    return names[0] if len(names) == 1 else f"{names[0]} against {_listed(names[1:])}"


def result_text(seats: Sequence[Placed], length: str) -> str:
    """How a finished match ended, after this ``length``, such as ``199 steps``."""
    seats = sorted(seats, key=lambda seat: (seat.placement or 99, seat.seat))
    first = [seat.agent_name for seat in seats if seat.placement == seats[0].placement]
    others = [seat.agent_name for seat in seats[len(first) :]]
    if len(seats) == 1:
        failed = seats[0].verdict not in (None, "DONE")
        return f"{first[0]} {'fails after' if failed else 'plays'} {length}"
    if not others:
        return f"{_listed(first)} tie in {length}"
    if len(first) > 1:
        return f"{_listed(first)} share the first place before {_listed(others)} in {length}"
    return f"{first[0]} beats {_listed(others)} in {length}"


def ending_text(match: Match, seat: Seat) -> str | None:
    """How a finished match ended for a seat: ``won``, ``4th of 4``, ``lost: timed out at step 41``.

    The step of a fault is named if the viewer may read the seat's log. None for an unfinished
    match. A validation ends as the copy that failed first; its fault is named only to such a
    viewer.
    """
    explains = seat.seat in match.access.log_seats
    if match.state is not MatchState.FINISHED or seat.placement is None:
        return None
    if match.kind is MatchKind.VALIDATION:
        failed = [one for one in match.seats if one.verdict not in (None, "DONE")]
        seat = min(failed, key=lambda one: one.failed_step or 0, default=seat)
    fault = _fault_text(seat, explains=explains)
    if match.kind is MatchKind.VALIDATION:
        result = "failed" if fault else "passed"
        if not explains:
            return result
    elif len(match.seats) == 1:
        result = "failed" if fault else "finished"
    else:
        result = _result_of(match, seat)
    return f"{result}: {fault}" if fault else result


def _fault_text(seat: Seat, *, explains: bool) -> str:
    if seat.verdict in (None, "DONE"):
        return ""
    fault = FAULTS.get(seat.verdict, seat.verdict.lower())
    if not explains or seat.failed_step is None:
        return fault
    return f"{fault} at step {seat.failed_step}" if seat.failed_step else f"{fault} while loading"


def _result_of(match: Match, seat: Seat) -> str:
    is_shared = [one.placement for one in match.seats].count(seat.placement) > 1
    if len(match.seats) == 2:
        return "tied" if is_shared else "won" if seat.placement == 1 else "lost"
    place = f"{ordinal(seat.placement or 0)} of {len(match.seats)}"
    return f"shared {place}" if is_shared else place


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    is_teen = 10 < number % 100 < 14
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _validation_end(match: Match) -> str:
    if match.state is not MatchState.FINISHED:
        return f", {UNFINISHED[match.state]}"
    failed = any(seat.verdict != "DONE" for seat in match.seats)
    return ", failed" if failed else ", passed"


def _length(match: Match) -> str:
    if len(match.episodes) > 1:
        return f"{len(match.episodes)} games"
    steps = sum(one.steps for one in match.episodes)
    return f"{steps:,} step" if steps == 1 else f"{steps:,} steps"


def _listed(names: Sequence[str]) -> str:
    """``A``, ``A and B``, ``A, B and C``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
