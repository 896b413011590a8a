"""The entry that a team keeps for its rank while uploads are open."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from ladder.entries import declared_entry
from ladder.entries.request_models import Declaration
from ladder.ids import EntryId
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone, Writer
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import SeasonKey, TeamKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["seasons"], route_class=LazyRoute)
PATH = "/seasons/{season}/teams/{team}/entry"


class DeclaredOut(BaseModel):
    season_id: str
    team_id: str
    entry_id: str | None = Field(description="null: the service chooses the entry")


@router.get(PATH, summary="Read a team's declared entry", responses=problem_responses(404))
def read_declared(season: SeasonKey, team: TeamKey, conn: Db, who: Anyone) -> DeclaredOut:
    """The entry that the team's owner declared, if any."""
    found, playing = (
        permissions.visible_season(conn, who, season),
        permissions.visible_team(conn, who, team),
    )
    entry_id = declared_entry.declared_entry_of_team(conn, found.id, playing.id)
    return DeclaredOut(season_id=found.id, team_id=playing.id, entry_id=entry_id)


@router.put(PATH, summary="Declare a team's entry", responses=problem_responses(403, 404, 409))
def declare_entry(
    season: SeasonKey, team: TeamKey, body: Declaration, conn: Db, who: Writer
) -> DeclaredOut:
    """Only members of the team may do this, until uploads lock, and only for the entry that stands
    for the team. It then stands for the team until uploads lock; after that only results decide."""
    found, playing = (
        permissions.visible_season(conn, who, season),
        permissions.require_member_team(conn, who, team),
    )
    chosen = None if body.entry is None else EntryId(body.entry)
    declared_entry.declare_entry(conn, found.id, playing.id, chosen, who.user_id)
    return DeclaredOut(season_id=found.id, team_id=playing.id, entry_id=chosen)
