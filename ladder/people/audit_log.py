"""Writes and reads the audit log of a league, or of accounts: who intervened, and why."""

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
from ladder.ids import LeagueId, SeasonId, UserId
from ladder.people.records import Viewer

AUDIT: Final = """select a.id, a.league_id, a.season_id, a.by_user, u.name as by_name, a.act,
      a.subject, a.reason, a.details, a.created_at
    from audits a left join users u on u.id = a.by_user"""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One act of a host, an administrator or the operator."""

    __pydantic_config__ = RECORD
    id: Annotated[str, Field(examples=["aud_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    league_id: LeagueId | None
    """Null: an act on an account or the instance."""
    season_id: SeasonId | None
    by_user: UserId | None
    """Null: the operator, on the server."""
    by_name: str | None
    act: Annotated[str, Field(examples=["disqualify"])]
    subject: str
    reason: str
    details: dict[str, Json]
    created_at: datetime


def record_audit(
    conn: Connection,
    league_id: LeagueId | None,
    *,
    by: UserId | None,
    act: str,
    subject: str,
    reason: str,
    season_id: SeasonId | None = None,
    details: Mapping[str, Json] | None = None,
) -> str:
    """Writes an audit entry in the act's transaction; returns its id."""
    audit_id = ids.new_id("aud")
    conn.execute(
        """insert into audits (id, league_id, season_id, by_user, act, subject, reason, details)
        values (%s, %s, %s, %s, %s, %s, %s, %s)""",
        (audit_id, league_id, season_id, by, act, subject, reason, Jsonb(dict(details or {}))),
    )
    return audit_id


def record_account_act(
    conn: Connection, by: Viewer, act: str, user_id: UserId, reason: str
) -> None:
    """Writes an audit entry of an administrator's act on a person's account."""
    record_audit(conn, None, by=by.user_id, act=act, subject=user_id, reason=reason)


def list_audits(
    conn: Connection, league_id: LeagueId, *, after: str | None = None, limit: int = 50
) -> list[AuditEntry]:
    """Returns a league's audit log, newest first, after ``after``."""
    query = f"""{AUDIT}
        where a.league_id = %(league_id)s and (%(after)s::text is null or a.id < %(after)s)
        order by a.id desc limit %(limit)s"""
    return fetch(conn, AuditEntry, query, {"league_id": league_id, "after": after, "limit": limit})
