"""Blocks people from the instance: no sign-in, no token, no session.

``ladder.entries.blocked_accounts`` is the use case, which also pauses agents.
"""

from __future__ import annotations

from ladder.database.db import Connection, fetch_optional
from ladder.errors import Forbidden
from ladder.ids import UserId
from ladder.people import tokens


def reason_of_block(conn: Connection, user_id: UserId) -> str | None:
    """Returns why this person is blocked; None if the person is not."""
    return fetch_optional(
        conn, str, "select reason from user_blocks where user_id = %s", (user_id,)
    )


def refuse_blocked_account(conn: Connection, user_id: UserId) -> None:
    """Raises Forbidden with the reason if this person is blocked."""
    reason = reason_of_block(conn, user_id)
    if reason is not None:
        raise Forbidden(f"Ask an administrator: your account is blocked. The reason: {reason}")


def refuse_blocked_token(conn: Connection, text: str) -> None:
    """Raises Forbidden with the reason if this is a token of a blocked person, valid or not."""
    owner = tokens.owner_of_token(conn, text)
    if owner is not None:
        refuse_blocked_account(conn, owner)
