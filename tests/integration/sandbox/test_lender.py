"""Boxes that fail around a match: the lender's behaviour as a worker sees it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox.box import wire
from sandbox.errors import HostFault
from sandbox.match import loans
from sandbox.node import lender
from sandbox.node.box_pool import PooledBox
from tests.integration.sandbox.census import wait_until
from tests.integration.sandbox.lending import MOST, LendingNode, lend_boxes
from tests.integration.sandbox.nodes import MEMORY_MB, Player

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def lending_node(short_folder: Callable[[], Path]) -> Iterator[LendingNode]:
    with lend_boxes(short_folder(), "python") as node:
        yield node


def reaper_and_supervisor(place: PooledBox) -> tuple[int, int]:
    """Pids of a box's process 1 and of its supervisor."""
    reaper = _only_child(place.box.handle.process.pid)
    return reaper, _only_child(reaper)


def _only_child(pid: int) -> int:
    # A helper of the supervisor may still be ending.
    wait_until(lambda: len(_children(pid)) == 1, lambda: f"children {_children(pid)}")
    (child,) = _children(pid)
    return child


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True  # its reaper was faster than the stop signal


def test_a_dead_idle_supervisor_costs_no_match(lending_node: LendingNode) -> None:
    loans.end_all(lending_node.borrow("one", "two"))
    lending_node.settle()
    # While it is stopped, process 1 keeps the waiting child alive, as in the moment of a box's
    # death.
    bound = next(place for place in lending_node.pool.idle if place.digest is not None)
    reaper, supervisor = reaper_and_supervisor(bound)
    zygote = _only_child(supervisor)
    wait_until(lambda: bool(_children(zygote)), lambda: "no pre-forked child")
    os.kill(reaper, signal.SIGSTOP)
    os.kill(supervisor, signal.SIGKILL)
    try:
        wait_until(lambda: _is_dead(supervisor), lambda: "its supervisor")
        lent = lending_node.borrow("one", "two")
    finally:
        os.kill(reaper, signal.SIGCONT)
    assert [Player(loan).start() for loan in lent] == [{"k": "ready"}] * 2
    loans.end_all(lent)
    lending_node.settle()


def test_hanging_boxes_are_ended_in_parallel(
    lending_node: LendingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after another would take longer than the loan waits."""
    monkeypatch.setattr(lender, "END_SECONDS", 5.0)
    monkeypatch.setattr(loans, "END_SECONDS", 14.0)
    lent = lending_node.borrow("one", "two", "three", "four")
    hung = [reaper_and_supervisor(place)[1] for place in lending_node.pool.busy]
    for pid in hung[:3]:
        os.kill(pid, signal.SIGSTOP)
    loans.end_all(lent)  # caused only by their agents
    assert sorted(loan.end().clean for loan in lent) == [False] * 3 + [True]


def test_descriptors_queued_in_host_sockets_stop_no_box(
    lending_node: LendingNode,
) -> None:
    """The kernel counts these descriptors by uid: all idle boxes, other nodes, other programs."""
    null = os.open(os.devnull, os.O_RDONLY)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(ours, [b"x"], [null] * 200)
        lent = lending_node.borrow("one")
        assert Player(lent[0]).start() == {"k": "ready"}
        loans.end_all(lent)
        lending_node.settle()
    os.close(null)


def test_a_malformed_end_request_keeps_no_box(lending_node: LendingNode) -> None:
    request = lending_node.request("one")
    assert isinstance(request.bundle, Path)
    with socket.socket(socket.AF_UNIX) as door, request.bundle.open("rb") as bundle:
        door.connect(str(lending_node.socket))
        seat = {"profile": "python", "memory_mb": MEMORY_MB}
        wire.send_frame(
            door, {"op": "borrow", "seats": [seat], "timeout_seconds": 30}, (bundle.fileno(),)
        )
        answer, fds = wire.receive_frame(door, max_fds=8)
        wire.close_all(fds)
        assert answer["op"] == "lent"
        wire.send_frame(door, {"op": "end", "seats": [0], "closed": [[]]})
        ended, _ = wire.receive_frame(door)
        assert ended["op"] == "ended"
    lending_node.settle()


def test_matches_too_large_to_run_together_run_in_turn(
    lending_node: LendingNode,
) -> None:
    def match(number: int) -> int:
        lent = lending_node.borrow(*(f"{number}-{seat}" for seat in range(3)))
        loans.end_all(lent)
        return len(lent)

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(match, range(4))] == [3] * 4


def test_a_match_larger_than_the_node_is_refused_at_once(lending_node: LendingNode) -> None:
    with pytest.raises(HostFault, match="5 boxes are more than the 4 of this node"):
        lending_node.borrow(*map(str, range(MOST + 1)))
