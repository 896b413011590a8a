"""The arithmetic of the charge, with meters that the test controls."""

from __future__ import annotations

import math
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.match import move_cost
from sandbox.match.cpu_meter import CpuMeter, OwnRunQueue, StolenTime
from sandbox.match.move_cost import (
    DOUBT_STEP_SECONDS,
    OFF_TURN_SECONDS,
    OWN_DOING_SECONDS,
    TICK_SECONDS,
    MoveCosts,
    compute_move_cost,
)

seconds = st.floats(0, 1000)
cpus = st.sampled_from([0.5, 1.0, 2.0])


@given(seconds, seconds, seconds, seconds, seconds, cpus)
def test_a_charge_is_never_below_the_cpu_time(
    wall: float, cpu: float, waited: float, others: float, own: float, granted: float
) -> None:
    cost = compute_move_cost(wall, cpu, waited, others, own, granted)
    assert cost.charged_seconds >= cpu / granted
    assert 0 <= cost.charged_seconds <= max(wall, cpu / granted)
    assert 0 <= cost.waited_seconds <= wall
    assert cost.charged_seconds == max(wall - cost.waited_seconds, cpu / granted)


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
    assert compute_move_cost(wall, cpu, waited, waited, 0.0, 1.0).waited_seconds == 0


def test_patience_limits_forgiven_waiting() -> None:
    cost = compute_move_cost(10.0, 1.0, 8.0, 0.0, 0.5, 1.0, patience=2.0)
    assert (cost.waited_seconds, cost.charged_seconds) == (2.5, 7.5)
    assert compute_move_cost(10.0, 1.0, 8.0, 0.0, 0.5, 1.0, patience=-1.0).waited_seconds == 0.5


class Files:
    """A seat's kernel files, written by the test in seconds."""

    def __init__(self, folder: Path, *, without: str = "", by_wall: bool = False) -> None:
        folder.mkdir()
        self._folder = folder
        names = ("cpu_stat", "cpu_pressure", "schedstat", "freeze", "kill", "lost")
        kept = [name for name in names if name != without]
        for name in kept:
            (folder / name).write_text("")
        self.at(0, 0, 0)
        self.lost(0.0, 0.0)
        opened = {name: os.open(folder / name, os.O_RDWR) for name in kept}
        self.meter = CpuMeter(opened, 1.0, by_wall)

    def at(
        self, cpu: float, pressure: float = 0.0, queue: float = 0.0, some: float | None = None
    ) -> None:
        """Set the counters. ``pressure`` is the full line, ``some`` the other (default: equal)."""
        text = f"usage_usec {cpu * 1e6:.0f}\nuser_usec 0\nsystem_usec 0\n"
        (self._folder / "cpu_stat").write_text(text)
        totals = {"some": pressure if some is None else some, "full": pressure}
        lines = [
            f"{name} avg10=0.00 avg60=0.00 avg300=0.00 total={total * 1e6:.0f}\n"
            for name, total in totals.items()
        ]
        (self._folder / "cpu_pressure").write_text("".join(lines))
        (self._folder / "schedstat").write_text(f"1 {queue * 1e9:.0f} 3\n")

    def lost(self, first: float, second: float, due: float = math.inf) -> None:
        """Two cores' losses and moments, after the steal monitor's own two words."""
        with (self._folder / "lost").open("r+b") as file:
            file.write(struct.pack("6d", 1.0, 1.0, first, second, math.inf, due))

    @property
    def is_frozen(self) -> bool:
        return (self._folder / "freeze").read_text() == "1"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], float]:
    """Sets the referee's own clock to the seconds given, and returns them."""

    def at(now: float) -> float:
        monkeypatch.setattr(move_cost, "monotonic", lambda: now)
        return now

    return at


@pytest.fixture(autouse=True)
def stolen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the seconds that a hypervisor has taken; this machine's own would interfere."""
    path = tmp_path / "stat"

    def at(seconds: float) -> None:
        ticks = seconds * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
        path.write_text(f"cpu  7 7 7 7 7 7 7 {ticks:.0f} 0 0\ncpu0\n")

    at(0.0)
    monkeypatch.setattr(move_cost, "_STOLEN", StolenTime(str(path)))
    return at


@pytest.fixture
def own() -> OwnRunQueue:
    """The queue of no thread: it never waits."""
    queue = OwnRunQueue()
    queue.close()
    return queue


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    made = Files(tmp_path / "seat")
    yield made
    made.meter.close()


def _move_costs(
    files: Files, own: OwnRunQueue, *others: Files, patience: float = math.inf
) -> MoveCosts:
    return MoveCosts(files.meter, [other.meter for other in others], own, patience)


def test_waiting_for_a_core_is_forgiven(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    assert move_costs.open(0.0) == 0
    files.at(0.010, pressure=0.030)
    cost = move_costs.close(0.0, 0.045)
    assert cost.cpu_seconds == pytest.approx(0.010)
    assert cost.waited_seconds == pytest.approx(0.030)
    assert cost.charged_seconds == pytest.approx(0.015)


def test_the_longer_of_pressure_and_queue_time_is_forgiven(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    files.at(0.010, pressure=0.020, queue=0.030)
    assert move_costs.close(0.0, 0.040).charged_seconds == pytest.approx(0.010)


def test_cpu_time_of_other_boxes_of_the_match_reduces_forgiveness(
    files: Files, own: OwnRunQueue, tmp_path: Path
) -> None:
    rival = Files(tmp_path / "rival")
    move_costs = _move_costs(files, own, rival)
    move_costs.open(0.0)
    files.at(0.010, pressure=0.030)
    rival.at(0.025)
    assert move_costs.close(0.0, 0.040).waited_seconds == pytest.approx(0.005)
    rival.meter.close()


def test_steal_time_is_forgiven_only_to_a_working_agent(
    files: Files, own: OwnRunQueue, stolen: Callable[[float], None]
) -> None:
    seat = _move_costs(files, own)
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
    seat = _move_costs(files, own)
    stolen(5.0)
    seat.open(100.0)
    files.at(0.010)
    assert seat.close(100.0, 100.030).charged_seconds == pytest.approx(0.030)


def test_a_lost_core_counts_as_neither_wall_nor_cpu_time(files: Files, own: OwnRunQueue) -> None:
    seat = _move_costs(files, own)
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
    seat = _move_costs(files, own)
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


class Delayed(OwnRunQueue):
    """A thread that has waited in the queue since the question."""

    def since_asked_seconds(self) -> float:
        return 0.020


def test_an_agent_is_not_charged_before_the_question_is_sent(
    files: Files,
) -> None:
    late = Delayed()
    late.close()
    seat = _move_costs(files, late)
    seat.open(100.0)
    files.at(0.003, queue=0.002)
    seat.sent(100.0, 100.021)
    files.at(0.010, queue=0.002)
    cost = seat.close(100.0, 100.030)
    assert cost.waited_seconds == pytest.approx(0.015)
    assert cost.charged_seconds == pytest.approx(0.015)
    seat.open(200.0)
    seat.sent(200.0, 200.0001)
    files.at(0.020, queue=0.002)
    assert seat.close(200.0, 200.030).charged_seconds == pytest.approx(0.030)


def test_a_core_lost_between_moves_is_not_off_turn_work(files: Files, own: OwnRunQueue) -> None:
    seat = _move_costs(files, own)
    seat.open(100.0)
    files.at(0.010)
    seat.close(100.0, 100.010)
    files.at(0.062)
    files.lost(0.0, 0.050)
    assert seat.open(100.2) == 0


def test_time_lost_in_a_move_does_not_excuse_off_turn_work(files: Files, own: OwnRunQueue) -> None:
    seat = _move_costs(files, own)
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
    seat = _move_costs(files, own)
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
    seat = _move_costs(files, own)
    seat.open(0.0)
    files.lost(0.2, 0.1)
    assert seat.close(0.0, 0.5).charged_seconds == pytest.approx(0.3)
    files.meter.close()


@pytest.mark.parametrize("without", ["cpu_pressure", "cpu_stat"])
def test_without_readings_nothing_is_forgiven(
    tmp_path: Path, own: OwnRunQueue, without: str
) -> None:
    files = Files(tmp_path / "seat", without=without)
    assert not files.meter.can_forgive
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    files.at(0.010, pressure=0.030)
    cost = move_costs.close(0.0, 0.040)
    assert cost.charged_seconds == 0.040
    assert (cost.cpu_seconds is None) == (without == "cpu_stat")
    files.meter.close()


def test_gpu_work_is_charged_by_wall_time(tmp_path: Path, own: OwnRunQueue) -> None:
    files = Files(tmp_path / "seat", by_wall=True)
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    files.at(0.100, pressure=0.030)
    assert move_costs.close(0.0, 0.040).charged_seconds == 0.040
    files.meter.close()


def test_cpu_time_on_several_cores_is_charged_in_full(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    files.at(0.100)
    assert move_costs.close(0.0, 0.050).charged_seconds == pytest.approx(0.100)


def test_a_quick_seat_turning_slow_is_forgiven_from_that_question(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    move_costs.close(0.0, 0.0005)
    files.at(0.0005, pressure=5.0)  # waits in quick moves give no credit
    move_costs.open(0.1)
    files.at(0.0005, pressure=5.020)  # no look comes before the wait: the referee waits too
    assert move_costs.remaining_wait_seconds(0.1, 0.120, 0.015) > 0
    files.at(0.0105, pressure=5.030)
    cost = move_costs.close(0.1, 0.145)
    assert cost.waited_seconds == pytest.approx(0.030)
    assert cost.charged_seconds == pytest.approx(0.015)


def test_waits_in_unread_quick_answers_are_not_forgiven_later(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = _move_costs(files, own)
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
    assert cost.waited_seconds == pytest.approx(0.0285)
    assert cost.charged_seconds == pytest.approx(0.0115)


def test_the_cpu_time_of_quick_answers_is_read_where_it_can_cost_bank(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = _move_costs(files, own)
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
    move_costs = _move_costs(files, own)
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
    move_costs = _move_costs(files, own)
    for number in range(40):
        move_costs.open(number * 0.0002, 1.0)
        move_costs.close(number * 0.0002, number * 0.0002 + 0.0001)
    files.at(0.060)
    # On two cores answers and pauses of 8 ms had 16 ms, and the long pause excuses its own 2 ms.
    assert move_costs.open(0.1) > 0.040
    assert move_costs.ponders


def test_off_turn_work_above_the_tolerance_is_charged(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
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
    move_costs = _move_costs(files, own)
    for number in range(100):
        move_costs.open(number / 1000)
        move_costs.close(number / 1000, number / 1000 + 0.000998)
    files.at(0.080)
    expected = 0.080 - TICK_SECONDS - OFF_TURN_SECONDS
    assert move_costs.open(1.0) == pytest.approx(expected)


def test_late_booked_cpu_time_is_not_off_turn_work(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    files.at(0.006)  # 4 ms of the core's running tick are not booked yet
    assert move_costs.close(0.0, 0.010).charged_seconds == 0.010
    files.at(0.010)
    assert move_costs.open(1.0) == 0
    assert not move_costs.ponders


def test_sleeping_excuses_at_most_one_tick_of_pondering(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    move_costs.close(0.0, 1.0)
    files.at(1.0)
    assert move_costs.open(2.0) == pytest.approx(1.0 - TICK_SECONDS - OFF_TURN_SECONDS)


@given(
    limit=st.floats(0.001, 100),
    share=st.floats(0, 1),
)
def test_waiting_extends_the_deadline_until_patience_ends(limit: float, share: float) -> None:
    """``share`` is the part of all time that is waiting."""
    wall, patience, looks = limit, 3 * limit + 1, 0
    while True:
        cost = compute_move_cost(wall, 0.0, wall * share, 0.0, 0.0, 1.0, patience)
        rest = limit - cost.charged_seconds
        if rest <= 0:
            break
        wall += max(rest, 0.001)
        looks += 1
        assert looks < 5000
    assert wall <= limit + patience + 0.001


def test_a_question_is_extended_by_exactly_the_waited_time(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    files.at(0.010, pressure=0.015)
    assert move_costs.remaining_wait_seconds(0.0, 0.025, 0.025) == pytest.approx(0.015)
    files.at(0.020, pressure=0.020)
    assert move_costs.remaining_wait_seconds(0.0, 0.040, 0.025) == pytest.approx(0.005)
    files.at(0.025, pressure=0.020)
    assert move_costs.remaining_wait_seconds(0.0, 0.046, 0.025) == DOUBT_STEP_SECONDS
    assert move_costs.remaining_wait_seconds(0.0, 0.066, 0.025) == 0


def test_a_sleeping_agent_gets_one_short_extension(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    assert move_costs.remaining_wait_seconds(0.0, 0.025, 0.025) == DOUBT_STEP_SECONDS
    assert move_costs.remaining_wait_seconds(0.0, 0.045, 0.025) == 0


def test_an_agent_in_the_run_queue_is_not_late(
    files: Files, own: OwnRunQueue, clock: Callable[[float], float]
) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    for look in range(5):
        files.at(0.0, pressure=0.018 * look)  # an average over cores: less than the real wait
        assert move_costs.remaining_wait_seconds(0.0, clock(0.1 + 0.02 * look), 0.025) > 0
    files.at(0.010, pressure=0.072, queue=0.170)  # it ran, and its wait is booked
    assert move_costs.close(0.0, 0.180).charged_seconds == pytest.approx(0.010)


def test_a_delayed_referee_calls_no_waiting_agent_late(
    files: Files, own: OwnRunQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent always waits for a core. Pressure lacks the first 80 ms of its wait."""
    began, delays = monotonic(), [0.03]

    def pressure_seconds(meter: CpuMeter) -> float:
        return max(0.0, monotonic() - began - 0.08)

    def queue_seconds(meter: CpuMeter) -> float:
        time.sleep(delays.pop() if delays else 0.0)
        return 0.0

    move_costs = _move_costs(files, own)
    move_costs.open(began)
    monkeypatch.setattr(CpuMeter, "pressure_seconds", pressure_seconds)
    monkeypatch.setattr(CpuMeter, "queue_seconds", queue_seconds)
    for _ in range(2):
        time.sleep(0.1 - DOUBT_STEP_SECONDS if delays else DOUBT_STEP_SECONDS)
        now = monotonic()
        assert move_costs.remaining_wait_seconds(began, now, 0.015) == DOUBT_STEP_SECONDS


def test_an_agent_whose_core_is_gone_is_not_late(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0, 0.025)
    files.at(0.003)
    files.lost(0.0, 0.0, due=0.005)
    assert move_costs.remaining_wait_seconds(0.0, 0.045, 0.025) == pytest.approx(0.020)
    files.lost(0.0, 0.042)
    files.at(0.010)
    assert move_costs.close(0.0, 0.052).charged_seconds == pytest.approx(0.025)


@pytest.mark.parametrize(("share", "waits"), [(0.3, True), (0.2, False)])
def test_a_quarter_of_the_time_in_pressure_shows_a_wait(
    share: float, waits: bool, files: Files, own: OwnRunQueue, clock: Callable[[float], float]
) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    for look in range(2):
        now = clock(0.1 + look * DOUBT_STEP_SECONDS)
        files.at(0.0, pressure=look * share * DOUBT_STEP_SECONDS)
        assert (move_costs.remaining_wait_seconds(0.0, now, 0.025) > 0) is (waits or not look)


def test_extensions_end_for_an_agent_waiting_for_own_threads(
    files: Files, own: OwnRunQueue, clock: Callable[[float], float]
) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    now = 100.0
    while move_costs.remaining_wait_seconds(0.0, clock(now), 100.0) > 0:
        now += DOUBT_STEP_SECONDS
        files.at(now, pressure=now - 100.0)
    assert 100.0 < now < 106.0 + DOUBT_STEP_SECONDS


def test_waiting_within_patience_makes_no_question_late(files: Files, own: OwnRunQueue) -> None:
    """Forty busy processes beside a seat: 0.4 s of processor time in 10 s of waiting."""
    move_costs = _move_costs(files, own, patience=60.0)
    move_costs.open(0.0)
    files.at(0.4, pressure=9.6)
    assert move_costs.remaining_wait_seconds(0.0, 10.0, 3.0) == pytest.approx(2.6)
    files.at(2.4, pressure=57.6)
    cost = move_costs.close(0.0, 60.0)
    assert cost.charged_seconds == pytest.approx(2.4)
    assert move_costs.unforgiven_now_seconds == 0


def test_waiting_beyond_patience_is_charged(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own, patience=5.0)
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
    move_costs = _move_costs(files, own, patience=0.0)
    for move in range(10):
        move_costs.open(float(move), 1.0)
        files.at(0.1 * move, pressure=0.8 * (move + 1))
        move_costs.close(float(move), move + 0.9)
    assert move_costs.unforgiven_before_seconds == 0


def test_throttling_by_the_seats_quota_uses_up_no_patience(files: Files, own: OwnRunQueue) -> None:
    """On four cores it computes for a quarter of each period, and is throttled for the rest."""
    move_costs = _move_costs(files, own, patience=5.0)
    for move in range(20):
        move_costs.open(float(move))
        files.at(move + 1.0, pressure=0.75 * (move + 1))
        assert move_costs.close(float(move), move + 1.0).charged_seconds == pytest.approx(1.0)
    assert move_costs.patience_seconds == pytest.approx(5.0)


def test_throttling_after_an_earlier_move_is_not_the_hosts_fault(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = _move_costs(files, own, patience=0.0)
    for move in range(20):
        move_costs.open(float(move))
        files.at(0.1 * (move + 1), pressure=0.075 * (move + 1))
        move_costs.close(float(move), move + 0.1)
    assert move_costs.unforgiven_before_seconds + move_costs.unforgiven_now_seconds == 0


def test_bank_time_lost_to_waiting_extends_the_next_deadline(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = MoveCosts(files.meter, [], own, 0.0, waits_for_host=True)
    move_costs.open(0.0, 1.0)
    files.at(0.0, pressure=3.0)
    move_costs.close(0.0, 3.0)
    taken = 2.0  # of the bank; the rest was free
    move_costs.open(3.0, 1.0)
    assert move_costs.remaining_wait_seconds(3.0, 7.0, 5.0) == pytest.approx(1.0 + taken)


def test_waiting_for_own_threads_is_not_forgiven(files: Files, own: OwnRunQueue) -> None:
    """Thirty children keep one core busy for 1 s; then the agent sleeps for 1 s."""
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    files.at(1.0, pressure=0.0, queue=0.96, some=1.0)
    assert move_costs.close(0.0, 2.0).charged_seconds == pytest.approx(2.0)


def test_waiting_of_the_whole_group_is_forgiven_despite_own_contention(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    files.at(0.5, pressure=1.5, queue=1.9, some=2.0)
    assert move_costs.close(0.0, 2.0).charged_seconds == pytest.approx(0.5)


def test_patience_is_shared_by_all_moves_of_an_episode(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own, patience=0.050)
    forgiven = []
    for move in range(1, 4):
        move_costs.open(float(move))
        files.at(0.0, pressure=0.030 * move)
        forgiven.append(move_costs.close(float(move), move + 0.030).waited_seconds)
    assert forgiven == pytest.approx([0.030, 0.020, 0.0])


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


def test_deadline_extensions_in_doubt_are_bounded_per_match(
    files: Files, own: OwnRunQueue, clock: Callable[[float], float]
) -> None:
    move_costs = _move_costs(files, own, patience=0.0)
    now = doubted = 0.0
    for _ in range(40):
        move_costs.open(now)
        began = now
        now += 100.5
        while move_costs.remaining_wait_seconds(began, clock(now), 100.0) > 0:
            now += DOUBT_STEP_SECONDS
            files.at(now, pressure=now - 100.0)
        doubted += now - began - 100.5
        move_costs.close(began, now)
    assert doubted < 6.0 + DOUBT_STEP_SECONDS


def test_work_on_an_owed_answer_is_not_off_turn(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    for owes, charged in ((True, 0.0), (False, 1.0 - OFF_TURN_SECONDS)):
        move_costs.open(0.0)
        files.at(1.0)
        move_costs.close(0.0, 1.0)
        files.at(2.0)
        assert move_costs.open(2.0, owes=owes) == pytest.approx(charged)
        files.at(0.0)


def test_off_turn_work_is_charged_only_once(files: Files, own: OwnRunQueue) -> None:
    move_costs = _move_costs(files, own)
    move_costs.open(0.0)
    move_costs.close(0.0, 0.1)
    files.at(1.0)
    assert move_costs.open(2.0) == pytest.approx(1.0 - OFF_TURN_SECONDS - TICK_SECONDS)
    assert move_costs.open(3.0) == 0.0
