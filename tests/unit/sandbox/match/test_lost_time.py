"""Cores that a hypervisor takes away: their time is charged to no agent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.move_cost import MoveCosts
from tests.unit.sandbox.match.metered_seats import Files, seat_costs
from tests.unit.sandbox.match.metered_seats import files as files
from tests.unit.sandbox.match.metered_seats import own as own
from tests.unit.sandbox.match.metered_seats import stolen as stolen


def test_steal_time_is_forgiven_only_to_a_working_agent(
    files: Files, own: OwnRunQueue, stolen: Callable[[float], None]
) -> None:
    seat = seat_costs(files, own)
    seat.open(100.0)
    files.at(0.010)
    stolen(0.020)
    assert seat.close(100.0, 100.030).charged_seconds == pytest.approx(0.010)
    seat.open(200.0)
    stolen(0.120)
    assert seat.close(200.0, 200.050).charged_seconds == pytest.approx(0.050)


def test_steal_time_before_a_question_is_not_forgiven(
    files: Files, own: OwnRunQueue, stolen: Callable[[float], None]
) -> None:
    seat = seat_costs(files, own)
    stolen(5.0)
    seat.open(100.0)
    files.at(0.010)
    assert seat.close(100.0, 100.030).charged_seconds == pytest.approx(0.030)


def test_a_lost_core_counts_as_neither_wall_nor_cpu_time(files: Files, own: OwnRunQueue) -> None:
    seat = seat_costs(files, own)
    files.lost(0.0, 3.0)
    seat.open(100.0)
    files.at(0.068)  # 10 ms of work, and a core that stood still during it
    files.lost(0.058, 3.001)
    assert seat.close(100.0, 100.070).charged_seconds == pytest.approx(0.012)
    seat.open(100.080)
    files.at(0.079)
    assert seat.close(100.080, 100.110).charged_seconds == pytest.approx(0.030)


def test_lost_time_never_reduces_a_charge_below_the_free_time(
    files: Files, own: OwnRunQueue
) -> None:
    seat = seat_costs(files, own)
    seat.open(100.0, free_seconds=0.025)
    files.at(0.010)
    files.lost(0.015, 0.0)
    assert seat.close(100.0, 100.020).charged_seconds == pytest.approx(0.020)
    seat.open(200.0, free_seconds=0.025)
    files.at(0.050)
    files.lost(0.045, 0.0)
    assert seat.close(200.0, 200.040).charged_seconds == pytest.approx(0.025)
    seat.open(300.0, free_seconds=0.025)
    files.at(0.090)
    files.lost(0.050, 0.0)
    assert seat.close(300.0, 300.040).charged_seconds == pytest.approx(0.035)


def test_a_core_lost_between_moves_is_not_off_turn_work(files: Files, own: OwnRunQueue) -> None:
    seat = seat_costs(files, own)
    seat.open(100.0)
    files.at(0.010)
    seat.close(100.0, 100.010)
    files.at(0.062)
    files.lost(0.0, 0.050)
    assert seat.open(100.2) == 0


def test_time_lost_in_a_move_does_not_excuse_off_turn_work(files: Files, own: OwnRunQueue) -> None:
    seat = seat_costs(files, own)
    seat.open(100.0)
    files.at(0.040)
    files.lost(0.030, 0.0)
    assert seat.close(100.0, 100.040).charged_seconds == pytest.approx(0.010)
    files.at(0.092)
    assert seat.open(100.2) == pytest.approx(0.050)
    assert seat.ponders


def test_a_match_forgives_at_most_a_quarter_second_of_lost_time(
    files: Files, own: OwnRunQueue
) -> None:
    seat = seat_costs(files, own)
    seat.open(100.0)
    files.at(0.2)
    files.lost(0.2, 0.0)
    assert seat.close(100.0, 100.2).charged_seconds == pytest.approx(0.0)
    seat.open(200.0)
    files.at(0.4)
    files.lost(0.4, 0.0)
    assert seat.close(200.0, 200.2).charged_seconds == pytest.approx(0.15)
    files.at(0.5)
    files.lost(0.5, 0.0)
    assert seat.open(300.0) > 0.08
    files.at(0.9)
    files.lost(0.9, 0.0)
    assert seat.close(300.0, 300.4).charged_seconds == pytest.approx(0.4)


def test_lost_time_uses_up_no_patience(files: Files, own: OwnRunQueue) -> None:
    seat = MoveCosts(files.meter, [], own, patience_seconds=0.1)
    seat.open(100.0)
    files.at(0.0)
    files.lost(0.2, 0.0)
    seat.close(100.0, 100.2)
    assert seat.patience_seconds == pytest.approx(0.1)


def test_a_lost_core_is_forgiven_under_wall_clock_charging(
    tmp_path: Path, own: OwnRunQueue
) -> None:
    files = Files(tmp_path / "seat", by_wall=True)
    seat = seat_costs(files, own)
    seat.open(0.0)
    files.lost(0.2, 0.1)
    assert seat.close(0.0, 0.5).charged_seconds == pytest.approx(0.3)
    files.meter.close()


def test_an_agent_whose_core_is_gone_is_not_late(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0, 0.025)
    files.at(0.003)
    files.lost(0.0, 0.0, due=0.005)
    assert move_costs.remaining_wait_seconds(0.0, 0.045, 0.025) == pytest.approx(0.020)
    files.lost(0.0, 0.042)
    files.at(0.010)
    assert move_costs.close(0.0, 0.052).charged_seconds == pytest.approx(0.025)


def test_a_core_that_is_gone_is_forgiven_up_to_a_quarter_second_in_a_match(
    files: Files, own: OwnRunQueue
) -> None:
    seat = seat_costs(files, own)
    charged = []
    for move in (1, 2, 3):
        asked_at = 100.0 * move
        seat.open(asked_at)
        files.at(0.2 * move)
        files.lost(0.0, 0.0, due=asked_at)
        charged.append(seat.close(asked_at, asked_at + 0.2).charged_seconds)
        files.lost(0.0, 0.0)
    assert charged == pytest.approx([0.0, 0.15, 0.2])
