"""A daemon's reactions to termination signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from sandbox import process_guard


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers]
    event = threading.Event()
    process_guard.set_on_stop_signal(event)
    yield event
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_wait_stops_the_daemon(
    stop: threading.Event, number: signal.Signals
) -> None:
    with stop._cond:  # type: ignore[attr-defined]  # as in wait(), which a signal can interrupt
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    assert stop.wait(60)


OTHER_THREAD = """
import signal, threading, time
from sandbox import process_guard
stop = threading.Event()
process_guard.set_on_stop_signal(stop)
def signalled():
    time.sleep(0.1)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    time.sleep(300)
threading.Thread(target=signalled, daemon=True).start()
process_guard.wait_for_stop(stop)
print("stops", flush=True)
"""


def test_a_signal_that_another_thread_gets_stops_the_daemon() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OTHER_THREAD], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "stops\n", done.stderr


STUCK = """
import threading, time
from sandbox import process_guard
stop = threading.Event()
process_guard.set_on_stop_signal(stop)
print("listens", flush=True)
stop.wait()
print("stops", flush=True)
while True:
    time.sleep(60)
"""


def test_a_second_signal_ends_a_stuck_daemon() -> None:
    daemon = subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True)
    assert daemon.stdout is not None
    with daemon.stdout as said:
        assert said.readline() == "listens\n"
        daemon.send_signal(signal.SIGTERM)
        assert said.readline() == "stops\n"
        time.sleep(process_guard.AGAIN_SECONDS)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait() == 128 + signal.SIGTERM
