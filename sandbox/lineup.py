"""Loans for all seats of a match at once, given back together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from sandbox.errors import BundleRefused
from sandbox.loans import Loan, SeatRequest, borrow_all, end_together


@contextlib.contextmanager
def borrowed(
    node_socket: Path, requests: Sequence[SeatRequest], timeout_seconds: float
) -> Iterator[tuple[Loan | BundleRefused, ...]]:
    """A loan for each request, or the refusal of its bundle; all are ended on the way out.

    Raises HostFault when one could not be had.
    """
    lent = borrow_all(node_socket, requests, timeout_seconds)
    try:
        yield lent
    finally:
        end_together([loan for loan in lent if isinstance(loan, Loan)])
