"""Creates, lists and revokes invitation codes of leagues, and finds the invitation of a code.

A code is ``join_`` and 24 random characters; only its SHA-256 is stored.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import dict_row

from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.enums import LeagueRole, Visibility
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import InvitationId, LeagueId, UserId
from ladder.leagues import leagues
from ladder.leagues.members import PLAIN
from ladder.leagues.records import League
from ladder.people import quotas
from ladder.people.tokens import LETTERS

PREFIX: Final = "join_"
RANDOM_CHARS: Final = 24
INVITATION: Final = (
    "select i.id, i.league_id, i.role, i.label, i.max_uses, (select count(*) from ("
    "   select user_id from joinings where invitation_id = i.id union"
    "   select user_id from code_accounts where invitation_id = i.id) as u) as uses,"
    " i.expires_at, i.revoked_at, i.created_at"
    " from invitations i"
)
WRONG_CODE: Final = (
    "this code is mistyped, expired, revoked or used up; ask the host of the league for a new one"
)


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation without the text of its code."""

    id: InvitationId
    league_id: LeagueId
    role: LeagueRole
    label: str
    max_uses: int | None
    uses: int
    expires_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime


@atomic_function
def create_invitation(
    conn: Connection,
    league_id: LeagueId,
    *,
    role: LeagueRole | str,
    created_by: UserId | None,
    label: str = "",
    max_uses: int | None = None,
    expires_at: datetime | None = None,
) -> tuple[Invitation, str]:
    """Creates an invitation; returns it and its code, which is shown only once.

    Raises Conflict in a private league, where hosts add members. Raises Invalid for the role of
    host, and LimitReached.
    """
    if leagues.get_league(conn, league_id).visibility is Visibility.PRIVATE:
        raise Conflict(
            "visibility: change it to invitation, or add members by role; a"
            " private league takes no codes"
        )
    made = create_roster_invitation(
        conn,
        league_id,
        role=role,
        created_by=created_by,
        label=label,
        max_uses=max_uses,
        expires_at=expires_at,
    )
    quotas.check_invitation_quota(conn, league_id)
    return made


def create_roster_invitation(
    conn: Connection,
    league_id: LeagueId,
    *,
    role: LeagueRole | str,
    created_by: UserId | None,
    label: str,
    max_uses: int | None,
    expires_at: datetime | None = None,
) -> tuple[Invitation, str]:
    """Creates an invitation for a person on the roster; works in any league."""
    if LeagueRole(role) not in PLAIN:
        raise Invalid("role", "a code can make competitors or viewers; hosts give other roles")
    code = PREFIX + "".join(secrets.choice(LETTERS) for _ in range(RANDOM_CHARS))
    invitation_id = InvitationId(ids.new_id("inv"))
    conn.execute(
        "insert into invitations (id, league_id, role, label, hash, max_uses, expires_at,"
        " created_by) values (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            invitation_id,
            league_id,
            LeagueRole(role).value,
            label,
            _hash_code(code),
            max_uses,
            expires_at,
            created_by,
        ),
    )
    return get_invitation(conn, league_id, invitation_id), code


def get_invitation(
    conn: Connection, league_id: LeagueId, invitation_id: InvitationId
) -> Invitation:
    """Returns an invitation of this league. Raises NotFound."""
    found = _select_invitations(
        conn, "where i.id = %s and i.league_id = %s", (invitation_id, league_id)
    )
    if not found:
        raise NotFound.of("invitation")
    return found[0]


def list_invitations(
    conn: Connection, league_id: LeagueId, after: InvitationId | None = None, limit: int = 50
) -> list[Invitation]:
    """A league's invitations, newest first, including revoked and used ones."""
    return _select_invitations(
        conn,
        "where i.league_id = %s and (%s::text is null or i.id < %s) order by i.id desc limit %s",
        (league_id, after, after, limit),
    )


def revoke_invitation(
    conn: Connection, league_id: LeagueId, invitation_id: InvitationId
) -> Invitation:
    """Revokes a code; its members stay. A repeat is no error. Raises NotFound."""
    conn.execute(
        "update invitations set revoked_at = coalesce(revoked_at, now())"
        " where id = %s and league_id = %s",
        (invitation_id, league_id),
    )
    return get_invitation(conn, league_id, invitation_id)


def read_code(conn: Connection, user_id: UserId | None, code: str) -> tuple[Invitation, League]:
    """Returns the invitation and league of a code. Raises NotFound, one message for all reasons.

    For a person who has already joined by the code, it stays valid until revoked. ``user_id`` is
    None for a person without an account.
    """
    found = _select_invitations(
        conn,
        "join leagues l on l.id = i.league_id where i.hash = %s and i.revoked_at is null"
        " and l.state <> 'closed' and (l.visibility <> 'private' or exists ("
        "   select 1 from roster r where r.invitation_id = i.id)) and (exists ("
        "   select 1 from joinings j where j.invitation_id = i.id and j.user_id = %s) or exists ("
        "   select 1 from code_accounts a where a.invitation_id = i.id and a.user_id = %s)"
        " or (coalesce(i.expires_at > now(), true) and (i.max_uses is null or i.max_uses >"
        "   (select count(*) from (select user_id from joinings where invitation_id = i.id union"
        "     select user_id from code_accounts where invitation_id = i.id) as u))))",
        (_hash_code(code.strip()), user_id, user_id),
    )
    if not found:
        raise NotFound(WRONG_CODE, field="code")
    return found[0], leagues.get_league(conn, found[0].league_id)


def inviter_name(conn: Connection, invitation_id: InvitationId) -> str | None:
    """Name of the person who made an invitation; None without one.

    Only for readers who hold the code. The page of invitations tells the host that they see it.
    """
    row = conn.execute(
        "select u.name from invitations i join users u on u.id = i.created_by where i.id = %s",
        (invitation_id,),
    ).fetchone()
    return None if row is None else str(row[0])


def lock_code(conn: Connection, user_id: UserId | None, code: str) -> tuple[Invitation, League]:
    """Like ``read_code``, and locks the code, so it admits no more people than its limit."""
    conn.execute(
        "select 1 from invitations where hash = %s for update", (_hash_code(code.strip()),)
    )
    return read_code(conn, user_id, code)


def reserve_code(conn: Connection, invitation_id: InvitationId, user_id: UserId) -> None:
    """Counts a locked code as used by a person who signed up with it and has not joined yet."""
    conn.execute(
        "insert into code_accounts (invitation_id, user_id) values (%s, %s)",
        (invitation_id, user_id),
    )


def _hash_code(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()


def _select_invitations(
    conn: Connection, tail: str, arguments: tuple[object, ...]
) -> list[Invitation]:
    with conn.cursor(row_factory=dict_row) as cur:
        return [
            Invitation(**{**row, "role": LeagueRole(row["role"])})
            for row in cur.execute(f"{INVITATION} {tail}", arguments)
        ]
