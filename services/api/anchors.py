"""Reference agents of a season: they pin its scale and fill seats that competitors leave empty."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.entries import anchors
from ladder.leagues.requests import ANCHORS, AnchorNames
from ladder.reports import cadence
from services.api.entries import EntryOut, shown
from services.http import permissions
from services.http.auth import Host
from services.http.fields import SeasonKey
from services.http.idempotency import Once
from services.http.problems import of
from services.http.state import Db, House

router = APIRouter(prefix="/v1", tags=["seasons"])


class NewAnchors(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"fill": True}]})
    anchors: AnchorNames = Field(default_factory=list, description=ANCHORS, examples=[["greedy"]])
    fill: bool = Field(
        default=False,
        description="enter more reference agents, until one agent can play",
    )


class AnchorsOut(BaseModel):
    anchors: list[EntryOut]
    lacking: str | None = Field(
        description="why the season still cannot play; null when its seats can be filled",
        examples=["3 of 4 seats can be filled: add an agent or an anchor"],
    )


@router.post(
    "/seasons/{season}/anchors",
    status_code=201,
    summary="Add reference agents",
    response_model=AnchorsOut,
    responses=of(403, 404, 409),
)
def add_anchors(
    season: SeasonKey, body: NewAnchors, conn: Db, house: House, who: Host, once: Once
) -> Response:
    """Only hosts and administrators may do this, while uploads are open. When the first results of
    a new anchor count, all scores move together; ranks stay."""
    found, league = permissions.hosted_season(conn, who, season)

    def create() -> AnchorsOut:
        entered = anchors.add(conn, house.blobs, found, body.anchors, who, fill=body.fill)
        return AnchorsOut(
            anchors=[shown(conn, who, entry) for entry in entered],
            lacking=cadence.lacking(conn, found, league),
        )

    return once.run(create)
