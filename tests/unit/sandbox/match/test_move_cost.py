"""The arithmetic of the charge, with meters that the test controls."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.move_cost import compute_move_cost
from tests.unit.sandbox.match.metered_seats import Files, seat_costs
from tests.unit.sandbox.match.metered_seats import files as files
from tests.unit.sandbox.match.metered_seats import own as own
from tests.unit.sandbox.match.metered_seats import stolen as stolen

seconds = st.floats(0, 1000)
cpus = st.sampled_from([0.5, 1.0, 2.0])


@given(seconds, seconds, seconds, seconds, seconds, cpus)
def test_a_charge_is_never_below_the_cpu_time(
    wall: float, cpu: float, waited: float, others: float, own: float, granted: float
) -> None:
    cost = compute_move_cost(wall, cpu, waited, others, own, granted)
    assert cost.charged_seconds >= cpu / granted
    assert 0 <= cost.charged_seconds <= max(wall, cpu / granted)
    assert 0 <= cost.forgiven_seconds <= wall
    assert cost.charged_seconds == max(wall - cost.forgiven_seconds, cpu / granted)


@given(st.lists(seconds, min_size=6, max_size=6), seconds, cpus)
def test_more_cpu_use_never_costs_less(one: list[float], more: float, granted: float) -> None:
    wall, cpu, waited, others, own, _ = one
    charged = compute_move_cost(wall, cpu, waited, others, own, granted).charged_seconds
    slack = 1e-9 * (1 + more + max(one))
    assert (
        compute_move_cost(wall + more, cpu, waited, others, own, granted).charged_seconds >= charged
    )
    assert (
        compute_move_cost(wall, cpu + more, waited, others, own, granted).charged_seconds >= charged
    )
    assert (
        compute_move_cost(wall, cpu, waited, others + more, own, granted).charged_seconds >= charged
    )
    less = compute_move_cost(wall, cpu, waited + more, others, own, granted).charged_seconds
    assert less <= charged + slack
    assert (
        compute_move_cost(wall, cpu, waited, others, own + more, granted).charged_seconds
        <= charged + slack
    )


@given(seconds, seconds, seconds)
def test_waiting_caused_by_boxes_of_the_match_is_not_forgiven(
    wall: float, cpu: float, waited: float
) -> None:
    assert compute_move_cost(wall, cpu, waited, waited, 0.0, 1.0).forgiven_seconds == 0


def test_waiting_for_a_core_is_forgiven(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    assert move_costs.open(0.0) == 0
    files.at(0.010, pressure=0.030)
    cost = move_costs.close(0.0, 0.045)
    assert cost.cpu_seconds == pytest.approx(0.010)
    assert cost.forgiven_seconds == pytest.approx(0.030)
    assert cost.charged_seconds == pytest.approx(0.015)


def test_the_longer_of_pressure_and_queue_time_is_forgiven(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    files.at(0.010, pressure=0.020, queue=0.030)
    assert move_costs.close(0.0, 0.040).charged_seconds == pytest.approx(0.010)


def test_cpu_time_of_other_boxes_of_the_match_reduces_forgiveness(
    files: Files, own: OwnRunQueue, tmp_path: Path
) -> None:
    rival = Files(tmp_path / "rival")
    move_costs = seat_costs(files, own, rival)
    move_costs.open(0.0)
    files.at(0.010, pressure=0.030)
    rival.at(0.025)
    assert move_costs.close(0.0, 0.040).forgiven_seconds == pytest.approx(0.005)
    rival.meter.close()


@pytest.mark.parametrize("without", ["cpu_pressure", "cpu_stat"])
def test_without_readings_nothing_is_forgiven(
    tmp_path: Path, own: OwnRunQueue, without: str
) -> None:
    files = Files(tmp_path / "seat", without=without)
    assert not files.meter.can_forgive
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    files.at(0.010, pressure=0.030)
    cost = move_costs.close(0.0, 0.040)
    assert cost.charged_seconds == 0.040
    assert (cost.cpu_seconds is None) == (without == "cpu_stat")
    files.meter.close()


def test_gpu_work_is_charged_by_wall_time(tmp_path: Path, own: OwnRunQueue) -> None:
    files = Files(tmp_path / "seat", by_wall=True)
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    files.at(0.100, pressure=0.030)
    assert move_costs.close(0.0, 0.040).charged_seconds == 0.040
    files.meter.close()


def test_cpu_time_on_several_cores_is_charged_in_full(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    files.at(0.100)
    assert move_costs.close(0.0, 0.050).charged_seconds == pytest.approx(0.100)


def test_waiting_for_own_threads_is_not_forgiven(files: Files, own: OwnRunQueue) -> None:
    """Thirty children keep one core busy for 1 s; then the agent sleeps for 1 s."""
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    files.at(1.0, pressure=0.0, queue=0.96, some=1.0)
    assert move_costs.close(0.0, 2.0).charged_seconds == pytest.approx(2.0)


def test_waiting_of_the_whole_group_is_forgiven_despite_own_contention(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    files.at(0.5, pressure=1.5, queue=1.9, some=2.0)
    assert move_costs.close(0.0, 2.0).charged_seconds == pytest.approx(0.5)


def test_a_closed_meter_keeps_the_last_totals(files: Files) -> None:
    files.at(1.5, 0.5, 0.25)
    meter = files.meter
    before = (meter.cpu_seconds(), meter.pressure_seconds(), meter.queue_seconds())
    assert before == pytest.approx((1.5, 0.5, 0.25))
    meter.close()
    assert (meter.cpu_seconds(), meter.pressure_seconds(), meter.queue_seconds()) == before
    meter.freeze()
    meter.kill()
    assert not meter.is_frozen
