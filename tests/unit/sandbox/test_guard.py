"""What a daemon makes of the signals that end it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from sandbox import guard


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers]
    event = threading.Event()
    guard.stops(event)
    yield event
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_moment_in_which_the_main_thread_holds_the_events_lock_still_stops(
    stop: threading.Event, number: signal.Signals
) -> None:
    with stop._cond:  # type: ignore[attr-defined]  # as in wait(), which a signal can interrupt
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    assert stop.wait(10)
