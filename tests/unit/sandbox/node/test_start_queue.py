"""The order in which boxes start."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import wait

import pytest

from sandbox.node.box_pool import StartQueue

SECONDS = 120.0
"""Time limit for a thread to act; only a failing test waits that long."""


class Slow:
    """A start that runs until ``end`` is called."""

    def __init__(self) -> None:
        self.has_begun, self._may_end = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.has_begun.set()
        assert self._may_end.wait(SECONDS)

    def end(self) -> None:
        """End the start."""
        self._may_end.set()


@pytest.fixture
def two() -> Iterator[StartQueue]:
    starts = StartQueue(2)
    yield starts
    starts.close()


def test_concurrent_starts_never_exceed_the_cores(two: StartQueue) -> None:
    first, second, third = Slow(), Slow(), Slow()
    for slow in (first, second, third):
        two.add("torch", slow, is_asked=True)
    assert first.has_begun.wait(SECONDS)
    assert second.has_begun.wait(SECONDS)
    assert not third.has_begun.wait(0.2)
    first.end()
    assert third.has_begun.wait(SECONDS)
    second.end()
    third.end()


def test_slow_starts_do_not_delay_another_profile(two: StartQueue) -> None:
    slow = [Slow() for _ in range(6)]
    for each in slow:
        two.add("torch", each, is_asked=True)
    assert not wait([two.add("numpy", lambda: None, is_asked=True)], SECONDS).not_done
    for each in slow:
        each.end()


def test_a_start_for_a_waiting_match_comes_first(two: StartQueue) -> None:
    running = [Slow(), Slow()]
    for each in running:
        two.add("torch", each, is_asked=False)
    order: list[str] = []
    last = [two.add("torch", lambda: order.append("ready"), is_asked=False)]
    last.append(two.add("torch", lambda: order.append("asked"), is_asked=True))
    running[0].end()
    wait(last, SECONDS)
    assert order == ["asked", "ready"]
    running[1].end()


def test_a_start_needed_by_a_match_is_moved_forward(two: StartQueue) -> None:
    running = [Slow(), Slow()]
    for each in running:
        two.add("torch", each, is_asked=False)
    late = two.add("numpy", lambda: None, is_asked=False)
    assert not late.done()
    two.hasten("numpy")
    assert not wait([late], SECONDS).not_done
    for each in running:
        each.end()


def test_close_cancels_pending_starts() -> None:
    starts = StartQueue(1)
    running, never = Slow(), Slow()
    starts.add("torch", running, is_asked=True)
    assert running.has_begun.wait(SECONDS)
    waiting = starts.add("torch", never, is_asked=True)
    starts.close()
    assert waiting.cancelled()
    assert starts.add("numpy", never, is_asked=True).cancelled()
    assert not starts.wait_until_ended(0.0)
    running.end()
    assert starts.wait_until_ended(SECONDS)
    assert not never.has_begun.is_set()
