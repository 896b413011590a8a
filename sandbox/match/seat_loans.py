"""Borrows loans for all seats of a match at once and gives them back together.

The node lends boxes; the remote daemon lends callers of remote agents. A match may have both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic

from sandbox.errors import HostFault, SeatRefused
from sandbox.match.loans import Loan, SeatRequest, borrow_all, end_all
from sandbox.profiles import REMOTE


@contextlib.contextmanager
def borrow_seats(
    node_socket: Path,
    requests: Sequence[SeatRequest],
    timeout_seconds: float,
    remote_socket: Path | None = None,
) -> Iterator[tuple[Loan | SeatRefused, ...]]:
    """Borrow a loan for each request, or return the refusal of its bundle. All loans end on exit.

    Raises HostFault if a loan could not be had, or if a remote agent has no ``remote_socket``.
    """
    deadline = monotonic() + timeout_seconds
    remote = {n: one for n, one in enumerate(requests) if one.profile == REMOTE}
    boxes = {n: one for n, one in enumerate(requests) if n not in remote}
    if remote and remote_socket is None:
        raise HostFault(
            "this worker plays no remote agents; set PECK_REMOTE_SOCKET to the daemon's socket"
        )
    lent: dict[int, Loan | SeatRefused] = {}
    try:
        # Callers first: they may take seconds, and no box should wait for them.
        for socket, wanted in ((remote_socket, remote), (node_socket, boxes)):
            if wanted and socket is not None:
                lent.update(_borrow_from(socket, wanted, max(0.1, deadline - monotonic())))
        yield tuple(lent[number] for number in range(len(requests)))
    finally:
        end_all([loan for loan in lent.values() if isinstance(loan, Loan)])


def _borrow_from(
    socket: Path, wanted: Mapping[int, SeatRequest], timeout_seconds: float
) -> Mapping[int, Loan | SeatRefused]:
    return dict(
        zip(wanted, borrow_all(socket, list(wanted.values()), timeout_seconds), strict=True)
    )
