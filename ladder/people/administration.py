"""What administrators read of people, and their acts on sessions and tokens of others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from ladder.database.db import Connection, atomic_function, fetch, fetch_optional
from ladder.errors import Forbidden
from ladder.field_types import RECORD, Name, RequestModel
from ladder.ids import SessionId, TeamId, TokenId, UserId
from ladder.people import audit_log, passwords, sessions, teams, tokens, users
from ladder.people.audit_log import AUDIT, AuditEntry
from ladder.people.records import User, Viewer
from ladder.slugs import normal_text

ACCOUNT: Final = """
    select u.id, u.name, u.is_admin, u.created_at, b.created_at as blocked_at,
      b.reason as blocked_reason,
      (select max(s.seen_at) from sessions s where s.user_id = u.id and s.revoked_at is null)
        as seen_at
    from users u left join user_blocks b on b.user_id = u.id
    where u.erased_at is null"""


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A person as administrators see them."""

    __pydantic_config__ = RECORD
    id: Annotated[UserId, Field(examples=["usr_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    name: Annotated[str, Field(examples=["Ada"])]
    is_admin: bool
    created_at: datetime
    blocked_at: datetime | None
    blocked_reason: str | None
    seen_at: datetime | None
    """Last use of a browser that is signed in."""


class NewUser(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Ada"}]})
    name: Name
    is_admin: bool = False


def search_accounts(
    conn: Connection, text: str = "", after: UserId | None = None, limit: int = 50
) -> list[AccountRow]:
    """Returns people whose name contains the text, or who have this id, in order of creation."""
    pattern = normal_text(text).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return fetch(
        conn,
        AccountRow,
        f"""{ACCOUNT} and u.id > %(after)s and (u.name ilike %(pattern)s or u.id = %(text)s)
        order by u.id limit %(limit)s""",
        {"after": after or "", "pattern": f"%{pattern}%", "text": text, "limit": limit},
    )


def get_account(conn: Connection, user_id: UserId) -> AccountRow | None:
    """Returns the person with this id; None if unknown."""
    return fetch_optional(conn, AccountRow, f"{ACCOUNT} and u.id = %s", (user_id,))


def list_all_audits(
    conn: Connection, *, after: str | None = None, limit: int = 50
) -> list[AuditEntry]:
    """Returns the acts on the instance and in all leagues, newest first, after ``after``."""
    return fetch(
        conn,
        AuditEntry,
        f"{AUDIT} where %s::text is null or a.id < %s order by a.id desc limit %s",
        (after, after, limit),
    )


@atomic_function
def create_account(conn: Connection, by: Viewer, name: str, *, is_admin: bool) -> User:
    """Creates a person without credentials. Raises Conflict if the name is taken."""
    user = users.create_user(conn, name, is_admin=is_admin)
    reason = "administrator" if is_admin else "user"
    audit_log.record_account_act(conn, by, "create-account", user.id, reason)
    return user


@atomic_function
def end_session(conn: Connection, by: Viewer, user_id: UserId, session_id: SessionId) -> None:
    """Ends a session of another person; a repeat is no error. Raises NotFound."""
    sessions.revoke_session(conn, user_id, session_id)
    audit_log.record_account_act(conn, by, "end-session", user_id, f"session {session_id}")


@atomic_function
def end_all_sessions(conn: Connection, by: Viewer, user_id: UserId) -> int:
    """Ends all sessions of a person; returns how many."""
    ended = sessions.revoke_other_sessions(conn, user_id, None)
    audit_log.record_account_act(conn, by, "end-sessions", user_id, f"{ended} sessions")
    return ended


@atomic_function
def revoke_token_of(conn: Connection, by: Viewer, user_id: UserId, token_id: TokenId) -> None:
    """Revokes a token of another person; a repeat is no error. Raises NotFound."""
    tokens.revoke_token(conn, user_id, token_id)
    audit_log.record_account_act(conn, by, "revoke-token", user_id, f"token {token_id}")


@atomic_function
def remove_password_of(conn: Connection, by: Viewer, user_id: UserId) -> None:
    """Removes a person's password and ends the sessions."""
    passwords.remove_password(conn, user_id)
    audit_log.record_account_act(conn, by, "remove-password", user_id, "the person sets a new one")


@atomic_function
def add_to_team(
    conn: Connection, by: Viewer, team_id: TeamId, user_id: UserId, *, is_owner: bool = False
) -> None:
    """Adds another person to a team. Writes an audit entry.

    Raises Forbidden for the administrator's own account, which would read the team's private data,
    and the errors of `teams.add_member`.
    """
    person = users.get_user(conn, user_id)
    if person.id == by.user_id:
        raise Forbidden("Ask an owner of the team to invite you: you may add only other people.")
    teams.add_member(conn, team_id, person.id, by.user_id, is_owner=is_owner)
    reason = f"{'owner' if is_owner else 'member'} of {team_id}"
    audit_log.record_account_act(conn, by, "add-to-team", person.id, reason)
