"""Writes and reads what people did with a team. Members of the team and administrators see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from psycopg.types.json import Jsonb
from pydantic import Field

from ladder import ids
from ladder.database.db import Connection, fetch
from ladder.enums import Json
from ladder.field_types import RECORD
from ladder.ids import TeamId, UserId


@dataclass(frozen=True, slots=True)
class TeamAct:
    """One line of the team's log. ``subject`` is the id of a person, a team or an invitation."""

    __pydantic_config__ = RECORD
    id: str
    by_user: UserId | None
    """null: the operator, on the machine itself."""
    by_name: str | None
    act: Annotated[str, Field(examples=["rename"])]
    subject: str
    subject_name: str | None
    """Name of the person in ``subject``; null for other subjects."""
    details: dict[str, Json]
    created_at: datetime


NOTICES: Final = {"invite": "team_invited", "join": "team_joined"}
"""The kind of the notice about an act, if it gives one."""


def record_team_act(
    conn: Connection,
    team_id: TeamId,
    by: UserId | None,
    act: str,
    subject: str = "",
    details: Mapping[str, Json] | None = None,
) -> None:
    """Writes an act in its own transaction, and a notice to those whom it concerns."""
    query = """insert into team_audits (id, team_id, by_user, act, subject, details)
        values (%s, %s, %s, %s, %s, %s)"""
    conn.execute(query, (ids.new_id("tau"), team_id, by, act, subject, Jsonb(dict(details or {}))))
    if act in NOTICES:
        # The domain of notices lies above this one, so its SQL function is called.
        conn.execute(
            """select notices_record(%s, jsonb_build_object('team_id', %s::text, 'user_id', u.id))
            from users u
            where u.id = %s""",  # an invitation by link names no person
            (NOTICES[act], team_id, subject),
        )


def list_team_acts(
    conn: Connection, team_id: TeamId, *, after: str | None = None, limit: int = 50
) -> list[TeamAct]:
    """Returns a team's acts, newest first, after ``after``."""
    query = """select a.id, a.by_user, u.name as by_name, a.act, a.subject, p.name as subject_name,
          a.details, a.created_at
        from team_audits a left join users u on u.id = a.by_user
        left join users p on p.id = a.subject
        where a.team_id = %(team_id)s and (%(after)s::text is null or a.id < %(after)s)
        order by a.id desc limit %(limit)s"""
    return fetch(conn, TeamAct, query, {"team_id": team_id, "after": after, "limit": limit})
