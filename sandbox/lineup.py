"""Loans for all seats of a match at once, given back together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from sandbox.errors import BundleRefused
from sandbox.loans import Loan, SeatRequest, borrow


@contextlib.contextmanager
def borrowed(
    node_socket: Path, requests: Sequence[SeatRequest], timeout_seconds: float
) -> Iterator[tuple[Loan | BundleRefused, ...]]:
    """A loan for each request, or the refusal of its bundle; all are ended on the way out.

    Boxes are asked for side by side, because a cold one takes most of a second. Raises HostFault
    when one could not be had.
    """
    with ThreadPoolExecutor(max(1, len(requests))) as pool:
        futures = [pool.submit(borrow, node_socket, seat, timeout_seconds) for seat in requests]
    with contextlib.ExitStack() as stack:
        for future in futures:
            if future.exception() is None:
                stack.enter_context(future.result())
        yield tuple(map(_loan_or_refusal, futures))


def _loan_or_refusal(future: Future[Loan]) -> Loan | BundleRefused:
    try:
        return future.result()
    except BundleRefused as refusal:
        return refusal
