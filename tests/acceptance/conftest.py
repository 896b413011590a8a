"""Fixtures of the acceptance tests."""

from __future__ import annotations

from tests.web.conftest import browser

__all__ = ["browser"]
