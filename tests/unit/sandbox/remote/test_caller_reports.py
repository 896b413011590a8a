"""What a caller says of its agent and of itself, read by the daemon."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from sandbox.box.output_capture import OutputCapture
from sandbox.remote import daemon
from sandbox.remote.caller_processes import COMPLAINT_BYTES, CallerProcess

UNREAD = "GET / had an answer that cannot be read"


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, CallerProcess]]:
    theirs, ours = socket.socketpair()
    log = os.memfd_create("log")
    with theirs, ours:
        yield theirs, CallerProcess(1, ours, ours, OutputCapture(log, b"", [0]))
    os.close(log)


def test_an_error_after_a_good_report_is_kept(
    ends: tuple[socket.socket, CallerProcess],
) -> None:
    theirs, begun = ends
    theirs.sendall(b'{"away": null, "reached": true}\nTraceback\nremote: ready')
    assert daemon._read_report(begun.report) == (None, True)
    assert begun.complaint() == r"'Traceback\nremote: ready'", "one line, whatever it holds"
    assert begun.complaint() == ""


@pytest.mark.parametrize("said", [b"Traceback", b"[" * 60_000, b"{}\n", b"\xff\n", b"1" * 60_000])
def test_an_unreadable_report_fails_only_the_seat(
    ends: tuple[socket.socket, CallerProcess], said: bytes
) -> None:
    theirs, begun = ends
    theirs.sendall(said)
    assert (daemon._read_report(begun.report).away or "").startswith(UNREAD)
    assert 0 < len(begun.complaint()) <= 4 * COMPLAINT_BYTES
