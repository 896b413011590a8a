"""The clock's arithmetic and its JSON."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.match.clock import LONGEST_SECONDS, Clock, ClockError, TimeBank

durations = st.floats(0, LONGEST_SECONDS)
clocks = st.builds(
    Clock,
    act_seconds=durations,
    bank_seconds=durations,
    load=st.sampled_from(["first_move", "own"]),
    load_seconds=st.floats(0.001, LONGEST_SECONDS),
)
charges = st.lists(st.floats(0, 1000), max_size=30)


@given(clocks)
def test_a_clock_survives_a_json_round_trip(clock: Clock) -> None:
    assert Clock.from_json(clock.to_json()) == clock


def test_omitted_clock_fields_have_kaggles_values() -> None:
    assert Clock.from_json({}) == Clock(1.0, 60.0, 0.0, "first_move", 30.0)


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"act_second": 1}, "act_second"),
        ({"act_seconds": "1"}, "act_seconds"),
        ({"act_seconds": True}, "act_seconds"),
        ({"bank_seconds": -0.1}, "bank_seconds"),
        ({"bank_seconds": math.nan}, "bank_seconds"),
        ({"bank_seconds": math.inf}, "bank_seconds"),
        ({"bank_seconds": 10**400}, "bank_seconds"),
        ({"load": "later"}, "load"),
        ({"load": ["own"]}, "load"),
        ({"load_seconds": 0}, "load_seconds"),
        ({"load_seconds": None}, "load_seconds"),
        ([1, 60], ""),
    ],
)
def test_a_wrong_clock_field_is_named(value: Any, field: str) -> None:
    with pytest.raises(ClockError, match=f"clock.{field}") as refusal:
        Clock.from_json(value)
    assert refusal.value.field == field


def test_an_increment_refills_the_bank_up_to_the_start_value() -> None:
    bank = TimeBank(Clock(act_seconds=0.0, bank_seconds=10.0, increment_seconds=0.1))
    assert bank.charge(4.0).bank_seconds == pytest.approx(6.1)
    assert bank.charge(0.0).bank_seconds == pytest.approx(6.2)
    assert bank.charge(6.3).timed_out
    fresh = TimeBank(Clock(act_seconds=0.0, bank_seconds=10.0, increment_seconds=0.1))
    assert fresh.charge(0.05).bank_seconds == 10.0


@given(clocks, charges)
def test_every_overrun_is_deducted_from_the_bank(clock: Clock, seconds: list[float]) -> None:
    bank = TimeBank(clock)
    for charge in seconds:
        bank.charge(charge)
    overruns = math.fsum(max(0.0, s - clock.act_seconds) for s in seconds)
    assert bank.left_seconds == pytest.approx(clock.bank_seconds - overruns, abs=1e-6)


@given(clocks, charges)
def test_timeouts_match_kaggle(clock: Clock, seconds: list[float]) -> None:
    """A second form of the rule in kaggle_environments core.py."""
    bank, remaining = TimeBank(clock), clock.bank_seconds
    for duration in seconds:
        over = max(0.0, duration - clock.act_seconds)
        expected = over > remaining
        remaining -= over
        charge = bank.charge(duration)
        assert (charge.timed_out, charge.bank_seconds) == (expected, remaining)


def test_using_up_the_bank_to_the_last_bit_is_in_time() -> None:
    bank = TimeBank(Clock(act_seconds=1.0, bank_seconds=2.0))
    assert not bank.charge(3.0).timed_out
    assert bank.left_seconds == 0.0
    assert not bank.charge(1.0).timed_out
    assert bank.charge(1.5).timed_out


@given(clocks, charges)
def test_off_turn_time_has_no_free_part(clock: Clock, seconds: list[float]) -> None:
    bank = TimeBank(clock)
    for drawn in seconds:
        before = bank.left_seconds
        assert bank.charge_off_turn(drawn).timed_out == (drawn > before)
    assert bank.left_seconds == pytest.approx(clock.bank_seconds - math.fsum(seconds), abs=1e-6)


def test_a_fatal_overrun_is_deducted_from_the_bank() -> None:
    bank = TimeBank(Clock(act_seconds=1.0, bank_seconds=2.0))
    charge = bank.charge(4.0)
    assert charge.timed_out
    assert (charge.bank_before_seconds, charge.bank_seconds) == (2.0, -1.0)


@given(clocks, st.floats(0, 1e6))
def test_an_answer_past_the_deadline_is_late(clock: Clock, started: float) -> None:
    deadline = TimeBank(clock).deadline(started)
    assert TimeBank(clock).charge(deadline - started + 0.001).timed_out
    assert not TimeBank(clock).charge(max(0.0, deadline - started - 0.001)).timed_out


def test_the_shown_bank_matches_kaggle() -> None:
    bank = TimeBank(Clock(bank_seconds=60.0))
    assert isinstance(bank.visible_seconds(), int)
    bank.charge(1.25)
    assert bank.visible_seconds() == 59.75


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 200))
def test_the_longest_match_covers_every_seats_full_time(
    seats: int, max_parallel_seats: int, steps: int
) -> None:
    clock = Clock(act_seconds=1.0, bank_seconds=60.0)
    one_after_another = steps * math.ceil(seats / max_parallel_seats) * clock.act_seconds
    assert (
        clock.longest_seconds(steps, seats, max_parallel_seats) > one_after_another + seats * 60.0
    )


def test_the_longest_match_covers_sequential_loading() -> None:
    clock = Clock(act_seconds=0.1, bank_seconds=0.0, load="own", load_seconds=60.0)
    assert clock.longest_seconds(10, 4, 1) > 4 * 60.0
    assert clock.longest_seconds(10, 4, 4) < 2 * 60.0


def test_the_longest_match_covers_moves_played_one_after_another() -> None:
    clock = Clock(act_seconds=1.0, bank_seconds=0.0)
    assert clock.longest_seconds(100, 2, 2) > 100 * 2 * clock.act_seconds


def test_a_forgiven_timeout_leaves_an_empty_bank() -> None:
    bank = TimeBank(Clock(act_seconds=0.5, bank_seconds=0.0))
    for _ in range(3):
        assert bank.charge(0.75).timed_out
        assert bank.left_seconds == -0.25
        bank.clear_debt()
        assert (bank.left_seconds, bank.deadline(0.0)) == (0.0, 0.5)
    assert not bank.charge(0.5).timed_out
