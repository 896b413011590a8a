"""Builds the report of each seat from the outcome of its episode."""

from __future__ import annotations

import json
from typing import Any, Final

from games.protocol import Game, Outcome
from sandbox.box.bundle_manifest import Contract
from sandbox.match.match_record import SeatReport
from sandbox.match.seat import Seat
from sandbox.match.seat_faults import LONGEST_REASON, SeatFault, clean_text, stopped_fault

LARGEST: Final = 2**53
"""Largest number in an outcome. Squares of these numbers are added up."""


def check_numbers(game: Game[Any], outcome: Outcome) -> None:
    """Raise ValueError for numbers that a season cannot add up. An accepted result is final."""
    shares = {measure.name for measure in game.measures if measure.kind == "share"}
    told = [("reward", reward) for reward in outcome.rewards if reward is not None]
    told += [pair for seat in outcome.statistics for pair in seat.items()]
    for name, value in told:
        is_number = isinstance(value, int | float) and abs(value) <= LARGEST
        if not is_number or (name in shares and not 0 <= value <= 1):
            limits = "from 0 to 1" if name in shares else f"up to {LARGEST} on either side of 0"
            raise ValueError(f"{name} should be a number {limits}, it is {value!r:.100}")


def build_seat_report(seat: Seat, outcome: Outcome, decided: SeatFault | None = None) -> SeatReport:
    """The report of a seat. ``decided`` is the fault of another seat that ended the match."""
    how = outcome.verdicts[seat.index]
    costs = [answer.cost.charged_seconds for answer in seat.record.answers]
    off_turn = sum(answer.off_turn_seconds for answer in seat.record.answers)
    pardons = seat.record.pardoned
    # A game may end a seat for pardoned faults that were never made good.
    fault = seat.fault or (pardons[how].first if how in pardons else None)
    if fault is None and decided is not None and how.is_fault:
        fault = stopped_fault(decided)
    return SeatReport(
        placement=outcome.placements[seat.index],
        reward=outcome.rewards[seat.index],
        verdict=how,
        reason=fault.reason if fault else _none_warning(seat),
        failed_step=fault.step if fault else None,
        charged_seconds=round(sum(costs) + off_turn, 6),
        max_move_seconds=round(max(costs, default=0.0), 6),
        statistics=outcome.statistics[seat.index] if outcome.statistics else None,
        log=seat.log_blob(how),
        pardoned={kind: found.times for kind, found in pardons.items()},
        answered=seat.record.moved or (not seat.record.answers and seat.fault is None),
        bundle_refused=fault is not None and fault.bundle_refused,
    )


def _none_warning(seat: Seat) -> str | None:
    """The warning that the rules replaced answers of None; None if they replaced none.

    Such answers are legal in some games, so nothing else shows a function without ``return``.
    """
    asked = len(seat.record.answers) - seat.record.unused_answers
    replaced = len(seat.record.moves_for_none)
    if not replaced:
        return None
    which = f"{replaced} of {asked} turns"
    if replaced == asked:
        which = f"all {asked} turns" if asked > 1 else "its only turn"
    moves = {json.dumps(move) for move in seat.record.moves_for_none}
    played = f"played {moves.pop()}" if len(moves) == 1 else "chose moves"
    if seat.contract is Contract.CALLABLE:
        answer, hint = "None", "Does the function return its action?"
    else:
        answer, hint = "null", "Does the program send its move?"
    told = f"Your agent answered {answer} in {which}; the rules {played} for it"
    return f"{clean_text(told, LONGEST_REASON - len(hint) - 2)}. {hint}"
