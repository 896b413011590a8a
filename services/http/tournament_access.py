"""Checks who acts on a tournament, for the API and the pages."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.people.records import Viewer
from ladder.tournaments.records import Tournament
from services.http import auth, permissions


def require_host(conn: Connection, who: Viewer, found: Tournament) -> None:
    """Checks that the viewer hosts the tournament and that the token may be used for it. Raises
    NotFound and ProblemError."""
    permissions.hosted_tournament(conn, who, found.id)
    auth.check_scopes(who, ("leagues:write",))
