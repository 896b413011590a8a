"""Every fault has a reason of one sentence."""

from __future__ import annotations

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.protocol import Verdict
from sandbox.box import harness
from sandbox.box.bundle_manifest import Contract
from sandbox.match import seat_faults
from sandbox.match.clock import Clock, TimeCharge
from sandbox.match.move_cost import MoveCost
from sandbox.match.seat_faults import LONGEST_REASON, SeatFault

TRACE = """Traceback (most recent call last):
  File "/kaggle_simulations/agent/main.py", line 12, in agent
    return choose(observation)
  File "/kaggle_simulations/agent/search.py", line 7, in choose
    return best[0]
IndexError: list index out of range
"""


def test_an_exception_is_reported_with_place_and_step() -> None:
    fault = seat_faults.raised_fault(30, TRACE)
    assert fault.verdict is Verdict.ERROR
    assert fault.reason == (
        "Raised in step 30, at search.py line 7: IndexError: list index out of range"
    )
    assert (fault.step, fault.traceback) == (30, TRACE)


def test_an_exception_while_loading_has_a_separate_reason() -> None:
    fault = seat_faults.raised_fault(0, "ImportError: no module named torch")
    assert "while the agent was loading" in fault.reason
    assert fault.step == 0


def test_an_empty_traceback_gives_a_reason() -> None:
    assert (
        seat_faults.raised_fault(3, " \n").reason
        == "Raised in step 3: an exception without a message"
    )


def _told(why: str, *, is_invalid: bool = False, is_late: bool = False) -> SeatFault:
    return seat_faults.contract_fault(7, why, is_invalid=is_invalid, is_late=is_late)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (seat_faults.exited_fault(4, 3), Verdict.ERROR, ["code 3", "step 4"]),
        (
            seat_faults.killed_fault(4, signal.SIGSEGV),
            Verdict.ERROR,
            ["SIGSEGV", "Segmentation", "step 4"],
        ),
        (seat_faults.killed_fault(4, 99), Verdict.ERROR, ["number 99"]),
        (seat_faults.out_of_memory_fault(4, 512), Verdict.ERROR, ["memory", "512 MB", "step 4"]),
        (seat_faults.vanished_fault(4), Verdict.ERROR, ["closed its connection", "step 4"]),
        (
            seat_faults.invalid_move_fault(5, "expected NORTH, got 7"),
            Verdict.INVALID,
            ["step 5", "NORTH", "7"],
        ),
        (
            seat_faults.broken_protocol_fault(6, "it wrote more than one answer"),
            Verdict.ERROR,
            ["protocol", "step 6"],
        ),
        (
            seat_faults.late_load_fault(
                Clock(load="own"), MoveCost(33.0, 2.0, 3.0, 30.0), is_importing=False
            ),
            Verdict.TIMEOUT,
            ["loading", "30 s", "2.000 s of cpu", "3.000 s of waiting"],
        ),
        (
            seat_faults.refused_bundle_fault("'../x': leads outside"),
            Verdict.ERROR,
            ["bundle", "'../x'"],
        ),
        (_told("it said no"), Verdict.ERROR, ["Contract", "step 7", "it said no"]),
        (_told("up is none", is_invalid=True), Verdict.INVALID, ["step 7", "up is none"]),
        (_told("no answer", is_late=True), Verdict.TIMEOUT, ["step 7", "no answer"]),
    ],
)
def test_a_reason_gives_the_needed_details(
    fault: SeatFault, kind: Verdict, words: list[str]
) -> None:
    assert fault.verdict is kind
    for word in words:
        assert word in fault.reason


@pytest.mark.parametrize("answered", [True, False])
def test_a_timeout_shows_used_time_allowed_time_and_bank(answered: bool) -> None:
    charge = TimeCharge(3.5, bank_before_seconds=2.0, bank_seconds=-0.5, timed_out=True)
    cost = MoveCost(4.5, 0.25, 1.0, 3.5)
    hint = None if answered else seat_faults.silence_hint(Contract.CALLABLE, is_importing=False)
    reason = seat_faults.late_fault(9, charge, cost, Clock(act_seconds=1.0), hint=hint).reason
    sentence, details = reason.split(seat_faults.DETAILS)
    assert sentence == (
        "Your agent slept or waited: 1 s a move is allowed, and its bank of extra time is used up."
    )
    assert details.startswith("Step 9 took" if answered else "Step 9 had no answer after")
    for number in (
        "3.500 s",
        "1 s",
        "2.000 s",
        "4.500 s of wall",
        "0.250 s of cpu",
        "1.000 s of w",
    ):
        assert number in reason


def test_a_timeout_tells_sleeping_from_computing() -> None:
    charge = TimeCharge(3.5, bank_before_seconds=0.0, bank_seconds=-2.5, timed_out=True)
    clock = Clock(act_seconds=0.5, bank_seconds=0.0)
    busy = MoveCost(3.5, 3.4, 0.0, 3.5)
    told = seat_faults.late_fault(9, charge, busy, clock).reason
    assert told.startswith("Your agent computed too long: 0.5 s a move is allowed. Details: ")
    unknown = MoveCost(3.5, None, 0.0, 3.5)
    told = seat_faults.late_fault(9, charge, unknown, clock, hint="").reason
    assert told.startswith("Your agent did not answer in time: ")


def test_a_timeout_by_off_turn_computing_shows_the_cost() -> None:
    fault = seat_faults.off_turn_fault(7, TimeCharge(1.25, 1.0, -0.25, timed_out=True))
    assert fault.verdict is Verdict.TIMEOUT
    for words in ("step 7", "1.250 s", "1.000 s left", "off its turn"):
        assert words in fault.reason


@given(st.text(max_size=3000), st.integers(0, 200))
def test_a_reason_is_always_one_short_printable_line(text: str, step: int) -> None:
    for fault in (seat_faults.raised_fault(step, text), seat_faults.invalid_move_fault(step, text)):
        assert fault.reason.isprintable()
        assert 0 < len(fault.reason) <= LONGEST_REASON
        fault.reason.encode()
    assert "\x1b" not in (seat_faults.raised_fault(step, "\x1b[2J" + text).traceback or "")


def test_a_reason_names_the_step_seen_by_the_agent() -> None:
    fault = seat_faults.invalid_move_fault(30, "expected NORTH, got 7")
    assert seat_faults.with_game_step(fault, {"step": 29}).reason == (
        "The answer in step 30 is no move: expected NORTH, got 7 (observation.step 29)"
    )
    assert seat_faults.with_game_step(fault, {"turn": 29}).reason.endswith("(observation.turn 29)")
    for same in ({"step": 30}, {"step": "29"}, {}):
        assert seat_faults.with_game_step(fault, same) == fault
    longest = seat_faults.invalid_move_fault(30, "x" * 1000)
    assert len(seat_faults.with_game_step(longest, {"step": 29}).reason) <= LONGEST_REASON


@pytest.mark.parametrize("text", ["x" * 100_000, "a line\n" * 15_000])
def test_a_long_exception_message_keeps_the_exception_type(text: str) -> None:
    told = ""
    try:
        raise ValueError(text)
    except ValueError:
        told = harness.traceback_tail()
    assert ": ValueError: " in seat_faults.raised_fault(1, told).reason
