"""The listener of a lending daemon under many strangers, who leave room for valid clients."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import listener as sandbox_listener
from sandbox.box import wire
from sandbox.errors import BoxLate, HostFault
from sandbox.listener import MOST_ACCEPTING, STRANGERS, Listener
from sandbox.match import loans

HELLO = {"node": "n", "launcher": "l", "profiles": [], "image_digests": {}, "lacks": []}
CROWD = 40


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    return Path("door.sock")


@contextlib.contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    with sandbox_listener.open_listening_socket(path) as listener:
        yield listener
        listener.shutdown(socket.SHUT_RDWR)


def _knock(path: Path) -> socket.socket:
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(5.0)
    line.connect(str(path))
    return line


def _refusal(path: Path) -> str:
    """The answer to a question, once this daemon has room for it."""
    for _ in range(200):
        with _knock(path) as late, contextlib.suppress(wire.WireError):
            wire.send_frame(late, {"op": "hello"})
            reason: str = wire.receive_frame(late)[0]["reason"]
            return reason
        time.sleep(0.05)
    raise AssertionError("there was never room again")


def test_silent_connections_use_a_limited_number_of_threads(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sandbox_listener, "STRANGERS_SECONDS", 60.0
    )  # accepted clients stay connected
    before = threading.active_count()
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listening(path))
        Listener(lambda *_: None, HELLO, frozenset()).start_accepting(listener)
        crowd = [stack.enter_context(_knock(path)) for _ in range(CROWD)]
        for line in crowd[STRANGERS:]:
            answer, _ = wire.receive_frame(line)
            assert "may not borrow" in answer["reason"]
        assert threading.active_count() - before <= MOST_ACCEPTING + STRANGERS
        for line in crowd[:STRANGERS]:
            line.close()
        assert "see --allow-uid" in _refusal(path)


def test_a_client_waits_while_the_backlog_is_full(path: Path) -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listening(path))
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                line = stack.enter_context(socket.socket(socket.AF_UNIX))
                line.setblocking(False)
                line.connect(str(path))

        def serve() -> None:
            time.sleep(0.1)
            while True:
                taken, _ = listener.accept()
                with taken, contextlib.suppress(wire.WireError):
                    wire.receive_frame(taken, deadline=time.monotonic() + 0.05)
                    wire.send_frame(taken, HELLO)
                    return

        thread = threading.Thread(target=serve, daemon=True)
        with pytest.raises(HostFault, match="no node answers"):
            loans.node_hello(path, 0.05)
        with pytest.raises(HostFault, match="another daemon listens"):
            sandbox_listener.open_listening_socket(path)
        thread.start()
        assert loans.node_hello(path, 5.0).node == "n"
        thread.join()


@pytest.mark.parametrize("fault", [BoxLate("no box was free in time"), HostFault("closing down")])
def test_a_worker_distinguishes_a_late_box_from_other_faults(path: Path, fault: HostFault) -> None:
    def lend(*_: object) -> None:
        raise fault

    with listening(path) as listener:
        Listener(lend, HELLO, frozenset([os.geteuid()])).start_accepting(listener)
        with pytest.raises(HostFault, match=str(fault)) as caught:
            loans.borrow_all(path, [], 5.0)
    assert type(caught.value) is type(fault)
