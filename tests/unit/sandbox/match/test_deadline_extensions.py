"""How long a question waits for an agent that waits for a core."""

from __future__ import annotations

import time
from collections.abc import Callable
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.match import move_cost
from sandbox.match.cpu_meter import CpuMeter, OwnRunQueue
from sandbox.match.move_cost import DOUBT_STEP_SECONDS, MoveCosts, MoveFacts, Reading, charge_move
from tests.unit.sandbox.match.metered_seats import Files, seat_costs
from tests.unit.sandbox.match.metered_seats import files as files
from tests.unit.sandbox.match.metered_seats import own as own
from tests.unit.sandbox.match.metered_seats import stolen as stolen


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], float]:
    """Sets the referee's own clock to the seconds given, and returns them."""

    def at(now: float) -> float:
        monkeypatch.setattr(move_cost, "monotonic", lambda: now)
        return now

    return at


class Delayed(OwnRunQueue):
    """A thread that has waited in the queue since the question."""

    def since_asked_seconds(self) -> float:
        return 0.020


def test_an_agent_is_not_charged_before_the_question_is_sent(
    files: Files,
) -> None:
    late = Delayed()
    late.close()
    seat = seat_costs(files, late)
    seat.open(100.0)
    files.at(0.003, queue=0.002)
    seat.sent(100.0, 100.021)
    files.at(0.010, queue=0.002)
    cost = seat.close(100.0, 100.030)
    assert cost.forgiven_seconds == pytest.approx(0.015)
    assert cost.charged_seconds == pytest.approx(0.015)
    seat.open(200.0)
    seat.sent(200.0, 200.0001)
    files.at(0.020, queue=0.002)
    assert seat.close(200.0, 200.030).charged_seconds == pytest.approx(0.030)


def test_a_quick_seat_turning_slow_is_forgiven_from_that_question(
    files: Files, own: OwnRunQueue
) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    move_costs.close(0.0, 0.0005)
    files.at(0.0005, pressure=5.0)  # waits in quick moves give no credit
    move_costs.open(0.1)
    files.at(0.0005, pressure=5.020)  # no look comes before the wait: the referee waits too
    assert move_costs.remaining_wait_seconds(0.1, 0.120, 0.015) > 0
    files.at(0.0105, pressure=5.030)
    cost = move_costs.close(0.1, 0.145)
    assert cost.forgiven_seconds == pytest.approx(0.030)
    assert cost.charged_seconds == pytest.approx(0.015)


@given(
    limit=st.floats(0.001, 100),
    share=st.floats(0, 1),
)
def test_waiting_extends_the_deadline_until_patience_ends(limit: float, share: float) -> None:
    """``share`` is the part of all time that is waiting."""
    wall, patience, looks = limit, 3 * limit + 1, 0
    while True:
        move = MoveFacts(wall, 0.0, patience_seconds=patience)
        cost = charge_move(Reading(), Reading(pressure=wall * share), move).cost
        rest = limit - cost.charged_seconds
        if rest <= 0:
            break
        wall += max(rest, 0.001)
        looks += 1
        assert looks < 5000
    assert wall <= limit + patience + 0.001


def test_a_question_is_extended_by_exactly_the_waited_time(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    files.at(0.010, pressure=0.015)
    assert move_costs.remaining_wait_seconds(0.0, 0.025, 0.025) == pytest.approx(0.015)
    files.at(0.020, pressure=0.020)
    assert move_costs.remaining_wait_seconds(0.0, 0.040, 0.025) == pytest.approx(0.005)
    files.at(0.025, pressure=0.020)
    assert move_costs.remaining_wait_seconds(0.0, 0.046, 0.025) == DOUBT_STEP_SECONDS
    assert move_costs.remaining_wait_seconds(0.0, 0.066, 0.025) == 0


def test_a_sleeping_agent_gets_one_short_extension(files: Files, own: OwnRunQueue) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    assert move_costs.remaining_wait_seconds(0.0, 0.025, 0.025) == DOUBT_STEP_SECONDS
    assert move_costs.remaining_wait_seconds(0.0, 0.045, 0.025) == 0


def test_an_agent_in_the_run_queue_is_not_late(
    files: Files, own: OwnRunQueue, clock: Callable[[float], float]
) -> None:
    move_costs = seat_costs(files, own)
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

    move_costs = seat_costs(files, own)
    move_costs.open(began)
    monkeypatch.setattr(CpuMeter, "pressure_seconds", pressure_seconds)
    monkeypatch.setattr(CpuMeter, "queue_seconds", queue_seconds)
    for _ in range(2):
        time.sleep(0.1 - DOUBT_STEP_SECONDS if delays else DOUBT_STEP_SECONDS)
        now = monotonic()
        assert move_costs.remaining_wait_seconds(began, now, 0.015) == DOUBT_STEP_SECONDS


@pytest.mark.parametrize(("share", "waits"), [(0.3, True), (0.2, False)])
def test_a_quarter_of_the_time_in_pressure_shows_a_wait(
    share: float, waits: bool, files: Files, own: OwnRunQueue, clock: Callable[[float], float]
) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    for look in range(2):
        now = clock(0.1 + look * DOUBT_STEP_SECONDS)
        files.at(0.0, pressure=look * share * DOUBT_STEP_SECONDS)
        assert (move_costs.remaining_wait_seconds(0.0, now, 0.025) > 0) is (waits or not look)


def test_extensions_end_for_an_agent_waiting_for_own_threads(
    files: Files, own: OwnRunQueue, clock: Callable[[float], float]
) -> None:
    move_costs = seat_costs(files, own)
    move_costs.open(0.0)
    now = 100.0
    while move_costs.remaining_wait_seconds(0.0, clock(now), 100.0) > 0:
        now += DOUBT_STEP_SECONDS
        files.at(now, pressure=now - 100.0)
    assert 100.0 < now < 106.0 + DOUBT_STEP_SECONDS


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


def test_deadline_extensions_in_doubt_are_bounded_per_match(
    files: Files, own: OwnRunQueue, clock: Callable[[float], float]
) -> None:
    move_costs = seat_costs(files, own, patience=0.0)
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
