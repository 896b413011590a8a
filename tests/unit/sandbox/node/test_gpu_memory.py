"""The node's looks at agents' GPU memory: what it does when it cannot tell."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.listener import Listener, open_listening_socket
from sandbox.match import loans
from sandbox.node import box_pool
from sandbox.node.__main__ import _report_late_lack

SHARE_MB = 2047
PID = 4711


@dataclass
class Group:
    """A match group of one process."""

    kills: int = 0

    def processes(self) -> frozenset[int]:
        return frozenset({PID})

    def kill(self) -> None:
        self.kills += 1


@dataclass
class Pool:
    """A pool with one lent box that shares a GPU."""

    group: Group = field(default_factory=Group)

    @contextlib.contextmanager
    def lent_boxes(self) -> Iterator[list[Any]]:
        spec = SimpleNamespace(gpu=SimpleNamespace(memory_mb=SHARE_MB, is_shared=True))
        yield [SimpleNamespace(box=SimpleNamespace(group=self.group, spec=spec))]


Look = Callable[[], Mapping[int, int | None]]


def watched(monkeypatch: pytest.MonkeyPatch, *looks: Look) -> tuple[Group, list[str]]:
    """The group and the reports after these looks, of which each is made once."""
    waiting, stop = list(looks), threading.Event()
    pool: Any = Pool()
    reports: list[str] = []

    def read_use() -> Mapping[int, int | None]:
        look = waiting.pop(0)
        if not waiting:
            stop.set()
        return look()

    monkeypatch.setattr(box_pool, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(box_pool, "read_use", read_use)
    box_pool.watch_gpu_memory(pool, stop, reports.append)
    return pool.group, reports


def fail() -> Mapping[int, int | None]:
    raise PermissionError("not allowed")


def test_a_failed_look_is_reported_once_and_the_next_look_ends_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group, (report,) = watched(monkeypatch, fail, fail, lambda: {PID: SHARE_MB + 1})
    assert "not allowed" in report
    assert group.kills == 1


def test_an_unknown_use_of_memory_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    group, reports = watched(monkeypatch, lambda: {PID: None}, lambda: {PID: None})
    assert reports == [box_pool.UNKNOWN_USE]
    assert group.kills == 0


def test_a_process_outside_of_boxes_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    _, reports = watched(monkeypatch, lambda: {PID + 1: None, PID: SHARE_MB})
    assert reports == []


def test_a_report_is_a_lack_of_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    path = Path("node.sock")
    hello = {"node": "n", "launcher": "l", "profiles": [], "image_digests": {}, "lacks": ["one"]}
    with open_listening_socket(path) as listening:
        listener = Listener(lambda *_: None, hello, frozenset({os.getuid()}))
        listener.start_accepting(listening)
        _report_late_lack(listener, ["one"], box_pool.UNKNOWN_USE)
        assert loans.node_hello(path).lacks == ("one", box_pool.UNKNOWN_USE)
        listening.shutdown(socket.SHUT_RDWR)
    assert f"lacks: {box_pool.UNKNOWN_USE}" in capsys.readouterr().err
