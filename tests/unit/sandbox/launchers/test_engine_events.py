"""The meaning of an engine's events for a lost box."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.errors import EngineAway
from sandbox.launchers import docker_engine as engine_events
from sandbox.launchers.docker_engine import EngineEvents

BOX = "b" * 64


class Stream:
    """Streams of events from a test; None ends one, as an engine's end does."""

    def __init__(self) -> None:
        self.events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.opened = 0

    def listen(self) -> Iterator[dict[str, Any]]:
        self.opened += 1
        if self.opened > 2:
            raise ConnectionRefusedError
        return iter(self.events.get, None)

    def say(self, action: str, container: str = BOX, **attributes: str) -> None:
        self.events.put({"Action": action, "Actor": {"ID": container, "Attributes": attributes}})


@pytest.fixture
def stream() -> Stream:
    return Stream()


@pytest.fixture
def events(stream: Stream) -> EngineEvents:
    made = EngineEvents(stream.listen, lambda: None, (OSError,))
    made.begin()
    made.follow(BOX)
    return made


def test_a_box_killed_by_a_signal_counts_as_killed_from_outside(
    stream: Stream, events: EngineEvents
) -> None:
    stream.say("die", "another", exitCode="1")
    stream.say("die", exitCode="137")
    assert events.wait_until_dead(BOX, 0, 10)
    assert events.killed_from_outside(BOX)


def test_an_out_of_memory_kill_is_not_a_kill_from_outside(
    stream: Stream, events: EngineEvents
) -> None:
    stream.say("oom")
    stream.say("die", exitCode="137")
    assert events.wait_until_dead(BOX, 0, 10)
    assert not events.killed_from_outside(BOX)
    assert events.out_of_memory(BOX)


@pytest.mark.parametrize("code", ["0", "1", "134", "139", ""])
def test_a_failed_supervisor_is_not_a_kill_from_outside(
    stream: Stream, events: EngineEvents, code: str
) -> None:
    stream.say("die", exitCode=code)
    assert events.wait_until_dead(BOX, 0, 10)
    assert not events.killed_from_outside(BOX)


def test_the_end_of_the_stream_ends_the_epoch(
    stream: Stream, events: EngineEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_events, "PAUSE_SECONDS", 0.01)
    assert events.epoch() == 0
    stream.events.put(None)
    assert events.wait_until_dead(BOX, 0, 10)
    assert not events.is_current_epoch(0)
    assert events.is_current_epoch(1)
    stream.events.put(None)
    assert events.wait_until_dead(BOX, 1, 10)
    with pytest.raises(EngineAway):
        events.epoch()


def test_a_kill_request_to_the_engine_is_recognised(stream: Stream, events: EngineEvents) -> None:
    stream.say("kill", signal="9")
    stream.say("die", exitCode="137")
    assert events.wait_until_dead(BOX, 0, 10)
    assert events.killed_by_request(BOX)
    assert events.was_killed(BOX)


def test_a_kill_without_a_request_is_recognised(stream: Stream, events: EngineEvents) -> None:
    stream.say("die", exitCode="137")
    assert events.wait_until_dead(BOX, 0, 10)
    assert events.was_killed(BOX)
    assert not events.killed_by_request(BOX)
