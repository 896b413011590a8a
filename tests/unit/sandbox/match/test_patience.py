"""The patience of a match limits the waiting that is forgiven in all its moves."""

from __future__ import annotations

import pytest

from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.move_cost import OWN_DOING_SECONDS
from tests.unit.sandbox.match.metered_seats import Files, seat_costs
from tests.unit.sandbox.match.metered_seats import files as files
from tests.unit.sandbox.match.metered_seats import own as own
from tests.unit.sandbox.match.metered_seats import stolen as stolen


def test_waiting_within_patience_makes_no_question_late(files: Files, own: OwnRunQueue) -> None:
    """Forty busy processes beside a seat: 0.4 s of processor time in 10 s of waiting."""
    move_costs = seat_costs(files, own, patience=60.0)
    move_costs.open(0.0)
    files.at(0.4, pressure=9.6)
    assert move_costs.remaining_wait_seconds(0.0, 10.0, 3.0) == pytest.approx(2.6)
    files.at(2.4, pressure=57.6)
    cost = move_costs.close(0.0, 60.0)
    assert cost.charged_seconds == pytest.approx(2.4)
    assert move_costs.unforgiven_now_seconds == 0


def test_waiting_beyond_patience_is_charged(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own, patience=5.0)
    move_costs.open(0.0)
    files.at(1.0, pressure=9.0)
    assert move_costs.close(0.0, 10.0).charged_seconds == pytest.approx(5.0)
    assert move_costs.unforgiven_now_seconds == pytest.approx(4.0 - OWN_DOING_SECONDS)
    move_costs.open(10.0)
    files.at(2.0, pressure=11.0)
    move_costs.close(10.0, 15.0)  # 1 s of work, 2 s of waiting and 2 s of sleep
    assert move_costs.unforgiven_before_seconds == pytest.approx(4.0 - OWN_DOING_SECONDS)
    assert move_costs.unforgiven_now_seconds == pytest.approx(2.0 - OWN_DOING_SECONDS)


def test_waiting_without_bank_cost_excuses_no_later_answer(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own, patience=0.0)
    for move in range(10):
        move_costs.open(float(move), 1.0)
        files.at(0.1 * move, pressure=0.8 * (move + 1))
        move_costs.close(float(move), move + 0.9)
    assert move_costs.unforgiven_before_seconds == 0


def test_throttling_by_the_seats_quota_uses_up_no_patience(files: Files, own: OwnRunQueue) -> None:
    """On four cores it computes for a quarter of each period, and is throttled for the rest."""
    move_costs = seat_costs(files, own, patience=5.0)
    for move in range(20):
        move_costs.open(float(move))
        files.at(move + 1.0, pressure=0.75 * (move + 1))
        assert move_costs.close(float(move), move + 1.0).charged_seconds == pytest.approx(1.0)
    assert move_costs.patience_seconds == pytest.approx(5.0)


def test_throttling_after_an_earlier_move_is_not_the_hosts_fault(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = seat_costs(files, own, patience=0.0)
    for move in range(20):
        move_costs.open(float(move))
        files.at(0.1 * (move + 1), pressure=0.075 * (move + 1))
        move_costs.close(float(move), move + 0.1)
    assert move_costs.unforgiven_before_seconds + move_costs.unforgiven_now_seconds == 0


def test_patience_is_shared_by_all_moves_of_an_episode(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own, patience=0.050)
    forgiven = []
    for move in range(1, 4):
        move_costs.open(float(move))
        files.at(0.0, pressure=0.030 * move)
        forgiven.append(move_costs.close(float(move), move + 0.030).forgiven_seconds)
    assert forgiven == pytest.approx([0.030, 0.020, 0.0])
