"""Moments in messages for people."""

from __future__ import annotations

from datetime import UTC, datetime


def moment_text(moment: datetime) -> str:
    """A moment to the minute: ``2026-12-01 18:00 UTC``."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
