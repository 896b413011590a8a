"""Work between two questions is charged above a tolerance, also between quick answers."""

from __future__ import annotations

import pytest

from sandbox.match import move_cost
from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.move_cost import OFF_TURN_SECONDS, TICK_SECONDS
from tests.unit.sandbox.match.metered_seats import Files, seat_costs
from tests.unit.sandbox.match.metered_seats import files as files
from tests.unit.sandbox.match.metered_seats import own as own
from tests.unit.sandbox.match.metered_seats import stolen as stolen


def test_waits_in_unread_quick_answers_are_not_forgiven_later(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0, 1.0)
    move_costs.close(0.0, 0.0005)
    for start in (0.001, 0.002):
        move_costs.open(start, 1.0)
        cost = move_costs.close(start, start + 0.0005)
        assert cost.cpu_seconds is None
        assert cost.charged_seconds == pytest.approx(0.0005)
    files.at(0.0, pressure=0.001, queue=0.001)
    move_costs.open(0.003, 1.0)
    files.at(0.010, pressure=0.031, queue=0.026)
    cost = move_costs.close(0.003, 0.043)
    # Part of the wait may lie in the 2.5 ms since the last reading.
    assert cost.forgiven_seconds == pytest.approx(0.0285)
    assert cost.charged_seconds == pytest.approx(0.0115)


def test_the_cpu_time_of_quick_answers_is_read_where_it_can_cost_bank(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    move_costs.close(0.0, 0.0005)
    for number in range(1, 4):
        move_costs.open(number / 1000, 0.0004)
        files.at(0.0008 * number)
        cost = move_costs.close(number / 1000, number / 1000 + 0.0005)
        assert cost.charged_seconds >= 0.0005
        assert cost.cpu_seconds is not None


def test_work_between_quick_answers_is_charged_as_off_turn_work(
    files: Files, own: OwnRunQueue
) -> None:
    """The agent computes on a core of its own. Each pause is too short for a reading."""
    move_costs = seat_costs(files, own)
    move_costs.open(0.0, 1.0)
    move_costs.close(0.0, 0.0005)
    off_turn = 0.0
    for number in range(1, 4):
        files.at(0.005 * number)
        off_turn += move_costs.open(0.005 * number, 1.0)
        move_costs.close(0.005 * number, 0.005 * number + 0.0005)
    assert move_costs.ponders
    assert files.is_frozen
    assert off_turn > 0.003


def test_short_pauses_excuse_no_work_in_a_long_one(
    files: Files, own: OwnRunQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move_cost, "_CORES", 2)
    move_costs = seat_costs(files, own)
    for number in range(40):
        move_costs.open(number * 0.0002, 1.0)
        move_costs.close(number * 0.0002, number * 0.0002 + 0.0001)
    files.at(0.060)
    # On two cores answers and pauses of 8 ms had 16 ms, and the long pause excuses its own 2 ms.
    assert move_costs.open(0.1) > 0.040
    assert move_costs.ponders


def test_off_turn_work_above_the_tolerance_is_charged(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    files.at(0.010)
    move_costs.close(0.0, 0.010)
    files.at(0.010 + OFF_TURN_SECONDS)
    assert move_costs.open(1.0) == 0
    assert not move_costs.ponders
    files.at(0.030)
    move_costs.close(1.0, 1.020)
    assert not files.is_frozen
    files.at(0.530)
    assert move_costs.open(2.0) == pytest.approx(0.5 - OFF_TURN_SECONDS, abs=0.009)
    move_costs.close(2.0, 2.010)
    assert files.is_frozen
    move_costs.open(3.0)
    assert not files.is_frozen


def test_many_quick_moves_excuse_one_tick_of_off_turn_work(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    for number in range(100):
        move_costs.open(number / 1000)
        move_costs.close(number / 1000, number / 1000 + 0.000998)
    files.at(0.080)
    expected = 0.080 - TICK_SECONDS - OFF_TURN_SECONDS
    assert move_costs.open(1.0) == pytest.approx(expected)


def test_late_booked_cpu_time_is_not_off_turn_work(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    files.at(0.006)  # 4 ms of the core's running tick are not booked yet
    assert move_costs.close(0.0, 0.010).charged_seconds == 0.010
    files.at(0.010)
    assert move_costs.open(1.0) == 0
    assert not move_costs.ponders


def test_sleeping_excuses_at_most_one_tick_of_pondering(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    move_costs.close(0.0, 1.0)
    files.at(1.0)
    assert move_costs.open(2.0) == pytest.approx(1.0 - TICK_SECONDS - OFF_TURN_SECONDS)


def test_work_on_an_owed_answer_is_not_off_turn(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    for owes, charged in ((True, 0.0), (False, 1.0 - OFF_TURN_SECONDS)):
        move_costs.open(0.0)
        files.at(1.0)
        move_costs.close(0.0, 1.0)
        files.at(2.0)
        assert move_costs.open(2.0, owes=owes) == pytest.approx(charged)
        files.at(0.0)


def test_off_turn_work_is_charged_only_once(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    move_costs.close(0.0, 0.1)
    files.at(1.0)
    assert move_costs.open(2.0) == pytest.approx(1.0 - OFF_TURN_SECONDS - TICK_SECONDS)
    assert move_costs.open(3.0) == 0.0
