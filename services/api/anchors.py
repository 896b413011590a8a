"""Reference agents of a season: they fix its scale and fill seats that no competitor takes."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.entries import anchors
from ladder.leagues.settings import ANCHORS, AnchorNames
from ladder.reports import season_health
from services.api.entries import EntryOut, entry_out
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.auth import Host
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import SeasonKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["seasons"], route_class=LazyRoute)


class NewAnchors(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"fill": True}]})
    anchors: AnchorNames = Field(default_factory=list, description=ANCHORS, examples=[["greedy"]])
    fill: bool = Field(
        default=False,
        description="add reference agents until one agent can play",
    )


class AddedAnchorsOut(BaseModel):
    anchors: list[EntryOut]
    lacking: str | None = Field(
        description="why the season cannot play yet; null if its seats can be filled",
        examples=["3 of 4 seats can be filled: add an agent or an anchor"],
    )


@router.post(
    "/seasons/{season}/anchors",
    status_code=201,
    summary="Add reference agents",
    response_model=AddedAnchorsOut,
    responses=problem_responses(403, 404, 409),
)
def add_anchors(
    season: SeasonKey, body: NewAnchors, conn: Db, app_state: AppState, who: Host, once: Idempotent
) -> Response:
    """Hosts and administrators only, while uploads are open. When the first results of a new anchor
    count, all scores move together. Ranks stay."""
    found, league = permissions.hosted_season(conn, who, season)

    def create() -> AddedAnchorsOut:
        entered = anchors.add_anchors(
            conn, app_state.blobs, found, body.anchors, who, fill=body.fill
        )
        return AddedAnchorsOut(
            anchors=[entry_out(conn, who, entry) for entry in entered],
            lacking=season_health.why_no_lineup(conn, found, league),
        )

    return once.run(create)
