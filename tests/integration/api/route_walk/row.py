"""A row of the table of all routes."""

from __future__ import annotations

from typing import Any

JSON = dict[str, Any]
Row = tuple[str, str, JSON | None, str, str]
"""Method, path, body, then the status for stranger, rival, member, host and admin in a public
league. The last column gives the statuses in a private league if they differ. {words} are ids of
the world (``words.py``), and {n} is fresh."""
