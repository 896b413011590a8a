"""Interfaces for people and programs: API, pages, command line, scheduler.

``api`` and ``web`` share ``http``, and ``app`` joins both. ``scheduler`` runs jobs without a
request. All decisions are in ``ladder``.
"""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
"""The version of the service and of its command line."""
