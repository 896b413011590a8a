"""Loads the web application without the garbage collector, which would take a fifth of the time.

Run as ``uvicorn services.app:create_app --factory``. Settings come from ``PECK_*``.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from ladder.settings import Settings


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application of one process; see ``services.application.create_app``."""
    return _load()(settings)


@cache
def _load() -> Callable[[Settings | None], FastAPI]:
    gc.disable()
    try:
        from services.application import create_app  # here, so that no import comes before disable

        return create_app
    finally:
        gc.freeze()  # modules stay to the end, so the collector need not look at them
        gc.enable()
