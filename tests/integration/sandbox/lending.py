"""A node in the process of the test, with boxes of bubblewrap."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox.launchers import choose
from sandbox.launchers.gpu import Gpu
from sandbox.listener import Listener
from sandbox.match import loans
from sandbox.node.box_pool import BoxPool, PooledBox
from sandbox.node.lender import BoxLender
from tests.integration.sandbox.conftest import require
from tests.integration.sandbox.nodes import HONEST, MEMORY_MB, STATE

MOST = 4
"""Boxes in all."""


class Watched(BoxPool):
    """A pool that shows its busy boxes."""

    @property
    def busy(self) -> list[PooledBox]:
        return list(self._busy)

    @property
    def idle(self) -> list[PooledBox]:
        return list(self._idle)


@dataclass
class LendingNode:
    """A node in this process."""

    pool: Watched
    socket: Path
    profile: str

    def request(self, name: str, agent: str = HONEST) -> loans.SeatRequest:
        path = self.socket.parent / f"{name}.py"
        path.write_text(f"{agent}# {name}\n")
        return loans.SeatRequest(self.profile, path, MEMORY_MB)

    def borrow(self, *names: str, seconds: float = 120.0, agent: str = HONEST) -> list[loans.Loan]:
        requests = [self.request(name, agent) for name in names]
        lent = loans.borrow_all(self.socket, requests, seconds)
        return [one for one in lent if isinstance(one, loans.Loan)]

    def settle(self) -> None:
        """Wait until no box is busy; the end of a conversation causes that."""
        with self.pool._changed:
            assert self.pool._changed.wait_for(lambda: not self.pool.busy, 120)


@contextlib.contextmanager
def lend_boxes(folder: Path, profile: str, gpus: Sequence[Gpu] = ()) -> Iterator[LendingNode]:
    """Lend boxes of this profile at a socket in ``folder``."""
    require("bubblewrap")
    if os.geteuid() != 0:
        pytest.skip("boxes of an ordinary user take one match only")
    kind, digests = choose.choose_launcher("bubblewrap", [profile], folder, STATE, print)
    pool = Watched(
        kind,
        "node-test",
        warm={profile: 0},
        gpus=gpus,
        memory_mb=MEMORY_MB,
        keep=MOST,
        keep_bytes=1 << 30,
        most=MOST,
        say=print,
    )
    connections = Listener(BoxLender("node-test", kind, pool, digests).serve, {}, frozenset({0}))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "node.sock"))
        listener.listen()
        connections.start_accepting(listener)
        yield LendingNode(pool, folder / "node.sock", profile)
        listener.shutdown(socket.SHUT_RDWR)
    connections.hang_up()
    pool.close()
    kind.sweep()
