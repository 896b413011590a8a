"""People who make, join and lead teams."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ladder.database import db
from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import TeamId, UserId
from ladder.people import team_invitations, teams, users
from ladder.people.records import Viewer
from ladder.people.team_invitations import NewTeamInvitation


def person(conn: Connection, name: str) -> UserId:
    return users.create_user(conn, name).id


def viewer(conn: Connection, user_id: UserId) -> Viewer:
    found = users.viewer_of_user(conn, user_id)
    assert found is not None
    return found


def join(conn: Connection, team_id: TeamId, user_id: UserId) -> None:
    """Invites by the first owner, and accepts."""
    owner = next(user.id for user in teams.list_members(conn, team_id) if user.is_owner)
    name = users.get_user(conn, user_id).name
    made = team_invitations.invite(
        conn, team_id, viewer(conn, owner), NewTeamInvitation(person=name)
    )
    team_invitations.accept_invitation(conn, user_id, made.id)


def names(conn: Connection, team_id: TeamId) -> dict[str, bool]:
    return {user.name: user.is_owner for user in teams.list_members(conn, team_id)}


def at_once(database_url: str, *acts: Callable[[Connection], object]) -> list[str]:
    """Runs each act on a connection of its own, all at one time; returns their errors, sorted."""

    def run(act: Callable[[Connection], object]) -> str:
        try:
            with db.connect(database_url) as own:
                act(own)
        except LadderError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(len(acts)) as pool:
        return sorted(pool.map(run, acts))
