"""Later deadlines that hosts give to single teams."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from ladder.field_types import AwareDatetime, Line
from ladder.leagues import deadline_extensions
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Host, Known
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page
from services.http.path_parameters import SeasonKey, TeamKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["seasons"], route_class=LazyRoute)


class ExtensionOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    team_id: str
    team_name: str
    closes_at: datetime


class NewExtension(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"closes_at": "2026-12-03T18:00:00+01:00", "reason": "ill, with a note"}]
        },
    )
    closes_at: AwareDatetime
    reason: Annotated[Line, Field(min_length=1, description="kept in the audit log")]


@router.put(
    "/seasons/{season}/extensions/{team}",
    summary="Extend a team's deadline",
    responses=problem_responses(403, 404, 409),
)
def put_extension(
    season: SeasonKey, team: TeamKey, body: NewExtension, conn: Db, who: Host
) -> ExtensionOut:
    """Hosts and administrators only; the audit log keeps the act. The team's uploads close at this
    time, even if the season locks earlier. The team reads the time at `GET
    /v1/seasons/{season}/limits`."""
    found = permissions.hosted_season(conn, who, season)[0]
    made = deadline_extensions.extend_deadline(
        conn, found.id, team, body.closes_at, by=who.user_id, reason=body.reason
    )
    return ExtensionOut.model_validate(made)


@router.get(
    "/seasons/{season}/extensions", summary="List extensions", responses=problem_responses(403, 404)
)
def list_extensions(season: SeasonKey, conn: Db, who: Known) -> Page[ExtensionOut]:
    """Hosts and administrators only."""
    found = permissions.hosted_season(conn, who, season)[0]
    rows = deadline_extensions.list_extensions(conn, found.id)
    return Page(items=[ExtensionOut.model_validate(row) for row in rows])
