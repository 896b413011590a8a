"""Acts of hosts on a tournament, for the API and the pages."""

from __future__ import annotations

from collections.abc import Callable

from ladder.database.db import Connection
from ladder.ids import UserId
from ladder.people.records import Viewer
from ladder.tournaments import course_acts, locking, tournaments
from ladder.tournaments.records import Tournament
from ladder.tournaments.request_models import TournamentAct
from services.http import auth, permissions


def require_host(conn: Connection, who: Viewer, found: Tournament) -> None:
    """Checks that the viewer hosts the tournament and that the token may be used for it. Raises
    NotFound and ProblemError."""
    permissions.hosted_tournament(conn, who, found.id)
    auth.check_scopes(who, ("leagues:write",))


def act_on_tournament(
    conn: Connection, found: Tournament, body: TournamentAct, by: UserId | None
) -> None:
    """Opens, locks, starts, pauses, resumes or cancels. Raises Conflict with the reason."""
    acts: dict[str, Callable[[], None]] = {
        "open": lambda: tournaments.open_registration(conn, found.id, by),
        "lock": lambda: locking.lock_entrants(conn, found.id, by),
        "start": lambda: course_acts.start_tournament(conn, found.id, by),
        "pause": lambda: tournaments.pause_tournament(conn, found.id, by, body.reason),
        "resume": lambda: tournaments.resume_tournament(conn, found.id, by),
        "cancel": lambda: course_acts.cancel_tournament(conn, found.id, by, body.reason),
    }
    acts[body.act]()
