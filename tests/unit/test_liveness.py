"""When a worker counts as stalled."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workers.liveness import StallMonitor, last_answer_at, record_answer, recording_answers


def ended(waiting: Callable[[], int], busy: int, *, seconds: float = 0.4, slots: int = 2) -> bool:
    """Whether a watch with short times ends its worker."""
    over = threading.Event()
    record_answer()
    watch = StallMonitor(
        waiting, lambda: busy, slots, stalled_seconds=0.1, look_seconds=0.01, end=over.set
    )
    watch.start()
    told = over.wait(seconds)
    watch.stop()
    watch.join()
    return told


def away() -> int:
    raise ConnectionError("Redis is away")


def test_a_stalled_worker_with_waiting_tasks_exits() -> None:
    assert ended(lambda: 3, busy=1, seconds=60)


def test_a_worker_without_waiting_tasks_keeps_running() -> None:
    assert not ended(lambda: 0, busy=0)


def test_a_fully_busy_worker_keeps_running() -> None:
    assert not ended(lambda: 3, busy=2)


def test_a_worker_keeps_running_while_redis_is_down() -> None:
    assert not ended(away, busy=0)


def test_a_consuming_worker_keeps_running() -> None:
    def wake() -> int:
        record_answer()
        return 3

    assert not ended(wake, busy=0)


def test_only_a_computing_answer_updates_the_last_answer_time() -> None:
    looked = threading.Semaphore(0)

    def spending(step: float) -> Callable[[], float]:
        spent = 0.0

        def look() -> float:
            nonlocal spent
            spent += step
            looked.release()
            return spent

        return look

    for step, moves in (1.0, True), (0.0, False):
        record_answer()
        before = last_answer_at()
        with recording_answers(spending(step), look_seconds=0.001):
            for _ in range(5):
                assert looked.acquire(timeout=60)
        assert (last_answer_at() > before) is moves
