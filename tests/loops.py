"""Runs a coroutine although a browser of another test may have this thread's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_coroutine(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs it in a loop of its own, in a thread of its own; returns its result."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
