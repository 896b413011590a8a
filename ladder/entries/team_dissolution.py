"""Dissolves teams: retires their entries, and keeps what their results need."""

from __future__ import annotations

from psycopg import errors

from ladder.database.db import Connection, atomic, atomic_function
from ladder.entries import entries
from ladder.ids import EntryId, TeamId
from ladder.people import competitors, teams
from ladder.people.records import Viewer
from ladder.people.teams import record_team_act


@atomic_function
def dissolve_team(conn: Connection, team_id: TeamId, viewer: Viewer) -> None:
    """Ends a team for good. Owners and administrators may.

    Its entries of unfinished seasons retire, and its members leave. Finished results, its name and
    its agents stay, so nobody else can take the name. A team without agents is deleted, and its
    name is free. People who competed for the team compete for no other team in the same season.

    Raises Forbidden. Raises Conflict while uploads are locked and the team declared an entry.
    """
    competitors.lock_team(conn, team_id)
    teams.require_owner(conn, team_id, viewer)
    _retire_entries(conn, team_id)
    conn.execute(
        "update team_invitations set revoked_at = now() where team_id = %s and revoked_at is null",
        (team_id,),
    )
    conn.execute(
        """
        update team_merges set outcome = 'withdrawn', answered_at = now(), answered_by = %s
        where %s in (team_id, into_team_id) and outcome is null
        """,
        (viewer.user_id, team_id),
    )
    conn.execute("delete from memberships where team_id = %s", (team_id,))
    record_team_act(conn, team_id, viewer.user_id, "dissolve")
    if not _delete_unused(conn, team_id):
        conn.execute("update teams set ended_at = now() where id = %s", (team_id,))


def _retire_entries(conn: Connection, team_id: TeamId) -> None:
    rows = conn.execute(
        """
        select e.id, e.season_id, e.validation_match_id from entries e
        join seasons s on s.id = e.season_id where e.team_id = %s
        and e.state in ('pending', 'active', 'paused') and s.state <> 'finished' order by e.id
        """,
        (team_id,),
    ).fetchall()
    entries.lock_matches_and_seasons(
        conn, [match for _, _, match in rows if match], [season for _, season, _ in rows]
    )
    for entry_id, _, _ in rows:
        entries.retire_entry(conn, EntryId(entry_id), with_team=True)


def _delete_unused(conn: Connection, team_id: TeamId) -> bool:
    """Deletes a team to which no other row refers, except those about its members."""
    try:
        with atomic(conn):
            conn.execute(
                """
                delete from team_joinings where invitation_id in (
                select id from team_invitations where team_id = %s)
                """,
                (team_id,),
            )
            conn.execute("delete from team_invitations where team_id = %s", (team_id,))
            conn.execute("delete from team_merges where %s in (team_id, into_team_id)", (team_id,))
            conn.execute("delete from roster_teams where team_id = %s", (team_id,))
            conn.execute("delete from teams where id = %s", (team_id,))
    except errors.ForeignKeyViolation:
        return False
    return True
