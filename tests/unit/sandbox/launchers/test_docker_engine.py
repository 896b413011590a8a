"""What a Docker engine tells us: runtimes for boxes, and how containers died."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.errors import EngineAway, HostFault
from sandbox.launchers import base, docker_engine
from sandbox.launchers.docker_engine import EngineEvents
from sandbox.node.__main__ import _parse_arguments

GVISOR = {"path": "/usr/bin/runsc", "runtimeArgs": ["--host-uds=open", "--network=none"]}
INFO: dict[str, Any] = {
    "Runtimes": {
        "runc": {"path": "runc"},
        "runsc": GVISOR,
        "boxes": GVISOR,
        "closed": {"path": "/usr/local/bin/runsc"},
        "elsewhere": {"runtimeType": "io.containerd.runsc.v1"},
    }
}
NODE = ["--socket", "s", "--run-dir", "r"]


def test_without_a_runtime_name_the_usual_limits_apply() -> None:
    usual = docker_engine.find_runtime({}, "")
    assert usual == docker_engine.USUAL
    assert usual.limits(base.LIMITS) == base.LIMITS
    assert (usual.more_mb, usual.more_processes) == (0, 0)
    assert usual.digest("sha256:1") == "sha256:1"


def test_a_gvisor_box_omits_the_limits_that_gvisor_refuses() -> None:
    found = docker_engine.find_runtime(INFO, "runsc")
    assert base.MOST_PROCESSES + found.more_processes == 1024
    assert found.more_mb == 128
    refused = {"MSGQUEUE", "SIGPENDING", "NICE", "RTPRIO"}
    assert set(found.limits(base.LIMITS)) == set(base.LIMITS) - refused


def test_a_match_records_the_named_runtime() -> None:
    assert docker_engine.find_runtime(INFO, "runsc").digest("sha256:1") == "sha256:1+runsc"
    assert docker_engine.find_runtime(INFO, "runc").digest("sha256:1") == "sha256:1+runc"


def test_gvisor_is_recognised_by_the_program() -> None:
    assert docker_engine.find_runtime(INFO, "boxes").is_gvisor
    assert not docker_engine.find_runtime(INFO, "runc").is_gvisor
    assert not docker_engine.find_runtime(INFO, "elsewhere").is_gvisor


def test_an_unknown_runtime_is_refused_with_the_lines_to_write() -> None:
    with pytest.raises(HostFault, match=r"knows no 'kata' \(it has boxes, closed") as refusal:
        docker_engine.find_runtime(INFO, "kata")
    assert "/etc/docker/daemon.json" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    with pytest.raises(HostFault, match="knows no 'runsc'"):
        docker_engine.find_runtime({}, "runsc")


def test_gvisor_without_open_unix_sockets_is_refused() -> None:
    with pytest.raises(HostFault, match="closed runs without --host-uds=open"):
        docker_engine.find_runtime(INFO, "closed")


def test_the_suggested_engine_configuration_is_accepted() -> None:
    written = json.loads(docker_engine.SNIPPET)
    assert docker_engine.find_runtime(
        {"Runtimes": written["runtimes"]}, docker_engine.GVISOR
    ).is_gvisor


def test_the_command_line_overrides_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PECK_NODE_RUNTIME", raising=False)
    assert _parse_arguments(NODE).runtime == ""
    monkeypatch.setenv("PECK_NODE_RUNTIME", "runsc")
    assert _parse_arguments(NODE).runtime == "runsc"
    assert _parse_arguments([*NODE, "--runtime", "other"]).runtime == "other"


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
    monkeypatch.setattr(docker_engine, "PAUSE_SECONDS", 0.01)
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
