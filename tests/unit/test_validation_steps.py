"""What the newest steps of a running validation say about its end."""

from __future__ import annotations

from typing import Any

import pytest

from services.agents.validation_steps import ValidationSteps, steps_of_entries

CLOCK = {"act_seconds": 1.0, "bank_seconds": 60.0}


def step_entry(at: float, first: int, charged: float | None, bank: float | None) -> Any:
    """An entry of the stream with one step of two copies, and its time."""
    step = {"charged_seconds": [charged, charged], "bank_seconds": [bank, bank]}
    return at, {"position": 0, "first": first, "steps": [step]}


def after_step(number: int, charged: float | None, bank: float | None) -> ValidationSteps:
    """What two entries say, three seconds apart."""
    newest = [step_entry(1000.0 - 3 * age, number - 1 - age, charged, bank) for age in range(2)]
    found = steps_of_entries(newest, 200, CLOCK)
    assert found is not None
    return found


def test_slow_moves_tell_at_which_step_the_bank_ends() -> None:
    steps = after_step(11, charged=3.0, bank=38.0)
    assert (steps.played, steps.bank_ends_at) == (11, 31)
    assert steps.move_seconds == pytest.approx(3.0)
    assert steps.seconds_left == pytest.approx(60.0)


@pytest.mark.parametrize(
    ("charged", "bank"),
    [(0.4, 60.0), (1.01, 60.0), (None, None)],
    ids=["quick", "enough", "remote"],
)
def test_other_moves_tell_no_end_of_the_bank(charged: float | None, bank: float | None) -> None:
    steps = after_step(11, charged=charged, bank=bank)
    assert steps.played == 11
    assert steps.bank_ends_at is None
    assert steps.seconds_left is None


def test_the_first_steps_tell_no_pace() -> None:
    steps = after_step(2, charged=3.0, bank=56.0)
    assert steps.bank_ends_at == 31
    assert steps.seconds_left is None


def test_one_entry_tells_the_step_alone() -> None:
    known = ValidationSteps(7, 200, act_seconds=1.0)
    assert steps_of_entries([step_entry(1000.0, 6, 3.0, 40.0)], 200, CLOCK) == known
    assert steps_of_entries([(1001.0, {"over": True})], 200, CLOCK) is None
