"""Repair of a season by its hosts, and the log of all that was done beyond the course of play."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.store import audits, repair
from services.api import sight
from services.api.auth import Host, Known
from services.api.fields import Key, LeagueKey, Line, SeasonKey
from services.api.idempotency import Once
from services.api.paging import Page, Paging
from services.api.problems import of
from services.api.state import Db

router = APIRouter(prefix="/v1", tags=["repair"])
Reason = Annotated[Line, Field(min_length=1, description="one sentence, kept in the audit log")]


class Verdict(BaseModel):
    """Who is meant, and why."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"subject": "ent_01j8x6m3c2k4v9q0w7r5t1y8z3", "reason": "It colludes with another."}
            ]
        },
    )
    subject: Annotated[Key, Field(description="id of an entry, an agent or a team")]
    reason: Reason


class ActOut(BaseModel):
    """What was done to whom."""

    model_config = ConfigDict(from_attributes=True)
    audit_id: str = Field(examples=["aud_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    subject: str
    entries: list[str] = Field(description="those that it changed")


class AuditOut(BaseModel):
    """One act beyond the course of play."""

    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["aud_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str | None
    by_user: str | None = Field(description="null: the operator, at the machine itself")
    by_name: str | None
    act: str = Field(examples=["disqualify"])
    subject: str
    reason: str
    details: dict[str, Any]
    created_at: datetime


@router.get("/leagues/{league}/audits", summary="List audited acts", responses=of(403, 404))
def list_audits(league: LeagueKey, conn: Db, who: Known, span: Paging) -> Page[AuditOut]:
    """Hosts and administrators only: who changed what beyond the course of play, and why. Newest
    first."""
    found = sight.hosted_league(conn, who, league)
    rows = audits.list_audits(conn, found.id, after=span.after, limit=span.limit)
    return span.page(rows, lambda row: row.id, AuditOut.model_validate)


@router.post(
    "/seasons/{season}/disqualifications",
    status_code=201,
    summary="Disqualify",
    response_model=ActOut,
    responses=of(403, 404, 409),
)
def disqualify(season: SeasonKey, body: Verdict, conn: Db, who: Host, once: Once) -> Response:
    """Hosts and administrators only. Takes an entry, or all of an agent or a team, out of the
    season: the official standing is fitted as if it had never played. Matches and the live ratings
    of others stay as they are. An agent or team enters nothing more in the season."""
    return _act(repair.disqualify, season, body, conn, who, once)


@router.post(
    "/seasons/{season}/reinstatements",
    status_code=201,
    summary="Undo a disqualification",
    response_model=ActOut,
    responses=of(403, 404, 409),
)
def reinstate(season: SeasonKey, body: Verdict, conn: Db, who: Host, once: Once) -> Response:
    """Hosts and administrators only. The results count again, and what was active plays again."""
    return _act(repair.reinstate, season, body, conn, who, once)


def _act(
    act: Callable[..., repair.Act], season: str, body: Verdict, conn: Db, who: Host, once: Once
) -> Response:
    found = sight.season(conn, who, season)
    sight.hosted_league(conn, who, found.league_id)

    def create() -> ActOut:
        done = act(conn, found.id, body.subject, by=who.user_id, reason=body.reason)
        return ActOut.model_validate(done)

    return once.run(create)
