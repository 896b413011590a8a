"""The arithmetic of the charge, with meters that the test controls."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.move_cost import (
    OWN_DOING_SECONDS,
    MoveCost,
    MoveFacts,
    Reading,
    charge_move,
)
from tests.unit.sandbox.match.metered_seats import Files, seat_costs
from tests.unit.sandbox.match.metered_seats import files as files
from tests.unit.sandbox.match.metered_seats import own as own
from tests.unit.sandbox.match.metered_seats import stolen as stolen

seconds = st.floats(0, 1000)
cpus = st.sampled_from([0.5, 1.0, 2.0])
NOTHING = Reading()


def charge(
    wall: float,
    cpu: float,
    waited: float = 0.0,
    others: float = 0.0,
    own: float = 0.0,
    *,
    granted: float = 1.0,
) -> MoveCost:
    after = Reading(pressure=waited, others_cpu=others)
    move = MoveFacts(wall, cpu, own_wait_seconds=own, free_seconds=math.inf, cpus=granted)
    return charge_move(NOTHING, after, move).cost


def losses(*cores: float) -> bytes:
    return struct.pack(f"{len(cores)}d", *cores)


CASES: dict[str, tuple[Reading, MoveFacts, tuple[float, float, float, float]]] = {
    # after, move: (charged, forgiven, spared, unforgiven); the earlier reading is all zero
    "work alone": (NOTHING, MoveFacts(2.0, 2.0), (2.0, 0.0, 0.0, 0.0)),
    "sleep costs its wall time": (NOTHING, MoveFacts(2.0, 0.1), (2.0, 0.0, 0.0, 0.0)),
    "two busy threads on one core granted": (NOTHING, MoveFacts(2.0, 4.0), (4.0, 0.0, 0.0, 0.0)),
    "two busy threads on two cores": (NOTHING, MoveFacts(2.0, 4.0, cpus=2.0), (2.0, 0.0, 0.0, 0.0)),
    "pressure": (Reading(pressure=1.5), MoveFacts(2.0, 0.5), (0.5, 1.5, 0.0, 0.0)),
    "run queue": (Reading(queue=1.5), MoveFacts(2.0, 0.5), (0.5, 1.5, 0.0, 0.0)),
    "larger of both": (Reading(pressure=1.0, queue=1.5), MoveFacts(2.0, 0.5), (0.5, 1.5, 0.0, 0.0)),
    "own threads in each other's way": (
        Reading(queue=1.5, contended=1.5),
        MoveFacts(2.0, 0.5),
        (2.0, 0.0, 0.0, 0.0),
    ),
    "other boxes of the match": (
        Reading(pressure=1.5, others_cpu=1.0),
        MoveFacts(2.0, 0.5),
        (1.5, 0.5, 0.0, 0.0),
    ),
    "more work of other boxes than waiting": (
        Reading(pressure=0.5, others_cpu=1.0),
        MoveFacts(2.0, 0.5),
        (2.0, 0.0, 0.0, 0.0),
    ),
    "waiting before the move began": (
        Reading(pressure=1.5),
        MoveFacts(2.0, 0.5, stale_seconds=1.0),
        (1.5, 0.5, 0.0, 0.0),
    ),
    "late referee": (NOTHING, MoveFacts(2.0, 0.5, own_wait_seconds=0.5), (1.5, 0.5, 0.0, 0.0)),
    "question sent late": (NOTHING, MoveFacts(2.0, 0.5, unsent_seconds=1.0), (1.0, 1.0, 0.0, 0.0)),
    "a wait in both is forgiven once": (
        Reading(pressure=1.0),
        MoveFacts(2.0, 0.5, unsent_seconds=0.5),
        (1.0, 1.0, 0.0, 0.0),
    ),
    "never more than the wall time": (Reading(pressure=9.0), MoveFacts(2.0), (0.0, 2.0, 0.0, 0.0)),
    "patience ends": (
        Reading(pressure=8.0),
        MoveFacts(10.0, 1.0, patience_seconds=2.0),
        (8.0, 2.0, 0.0, 6.0 - OWN_DOING_SECONDS),
    ),
    "no patience is left": (
        Reading(pressure=8.0),
        MoveFacts(10.0, 1.0, own_wait_seconds=0.5, patience_seconds=-1.0),
        (9.5, 0.5, 0.0, 8.0 - OWN_DOING_SECONDS),
    ),
    "nobody measures": (
        Reading(pressure=1.5),
        MoveFacts(2.0, None, can_forgive=False),
        (2.0, 0.0, 0.0, 0.0),
    ),
    "no pressure": (
        Reading(queue=1.5, stolen=1.0),
        MoveFacts(2.0, 3.0, own_wait_seconds=0.5, can_forgive=False),
        (3.0, 0.5, 0.0, 0.0),
    ),
    "GPU": (NOTHING, MoveFacts(2.0, 9.0, can_forgive=False, by_wall=True), (2.0, 0.0, 0.0, 0.0)),
    "a lost core": (
        Reading(losses=losses(0.0, 0.125)),
        MoveFacts(2.0, 2.0),
        (1.875, 0.125, 0.125, 0.0),
    ),
    "a core gone now": (Reading(gone=0.125), MoveFacts(2.0, 2.0), (1.875, 0.125, 0.125, 0.0)),
    "loss and absence add up": (
        Reading(losses=losses(0.0, 0.0625), gone=0.0625),
        MoveFacts(2.0, 2.0),
        (1.875, 0.125, 0.125, 0.0),
    ),
    "a report of the hypervisor": (
        Reading(stolen=0.125),
        MoveFacts(2.0, 2.0),
        (1.875, 0.125, 0.125, 0.0),
    ),
    "a report above twice the CPU time": (
        Reading(stolen=0.25),
        MoveFacts(2.0, 0.0625),
        (1.875, 0.125, 0.125, 0.0),
    ),
    "lost time without pressure": (
        Reading(losses=losses(0.125, 0.0), gone=1.0, stolen=1.0),
        MoveFacts(2.0, 2.0, can_forgive=False),
        (1.875, 0.125, 0.125, 0.0),
    ),
    "a charge within the free time": (
        Reading(stolen=0.125),
        MoveFacts(2.0, 2.0, free_seconds=2.0),
        (2.0, 0.0, 0.0, 0.0),
    ),
    "only the part above the free time": (
        Reading(stolen=0.125),
        MoveFacts(2.0, 2.0, free_seconds=1.9375),
        (1.9375, 0.0625, 0.0625, 0.0),
    ),
    "the rest of the episode's limit": (
        Reading(stolen=1.0),
        MoveFacts(2.0, 2.0, spare_limit_seconds=0.0625),
        (1.9375, 0.0625, 0.0625, 0.0),
    ),
    "the episode's limit is used up": (
        Reading(stolen=1.0),
        MoveFacts(2.0, 2.0, spare_limit_seconds=0.0),
        (2.0, 0.0, 0.0, 0.0),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_case_has_its_charge(case: str) -> None:
    after, move, expected = CASES[case]
    result = charge_move(Reading(losses=losses(0.0, 0.0) if after.losses else b""), after, move)
    found = (
        result.cost.charged_seconds,
        result.cost.forgiven_seconds,
        result.spared_seconds,
        result.unforgiven_seconds,
    )
    assert found == pytest.approx(expected)
    assert (result.cost.wall_seconds, result.cost.cpu_seconds) == move[:2]


@given(seconds, seconds, seconds, seconds, seconds, cpus)
def test_a_charge_is_never_below_the_cpu_time(
    wall: float, cpu: float, waited: float, others: float, own: float, granted: float
) -> None:
    cost = charge(wall, cpu, waited, others, own, granted=granted)
    assert cost.charged_seconds >= cpu / granted
    assert 0 <= cost.charged_seconds <= max(wall, cpu / granted)
    assert 0 <= cost.forgiven_seconds <= wall
    assert cost.charged_seconds == max(wall - cost.forgiven_seconds, cpu / granted)


@given(st.lists(seconds, min_size=5, max_size=5), seconds, cpus)
def test_more_cpu_use_never_costs_less(facts: list[float], more: float, granted: float) -> None:
    charged = charge(*facts, granted=granted).charged_seconds
    slack = 1e-9 * (1 + more + max(facts))
    for position, is_dearer in enumerate((True, True, False, True, False)):
        changed = [fact + more * (number == position) for number, fact in enumerate(facts)]
        other = charge(*changed, granted=granted).charged_seconds
        assert other >= charged if is_dearer else other <= charged + slack


@given(seconds, seconds, seconds)
def test_waiting_caused_by_boxes_of_the_match_is_not_forgiven(
    wall: float, cpu: float, waited: float
) -> None:
    assert charge(wall, cpu, waited, others=waited).forgiven_seconds == 0


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
