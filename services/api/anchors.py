"""Reference agents of a season: they pin its scale and fill seats that competitors leave empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.entries import entries
from ladder.errors import Conflict, Invalid
from ladder.leagues.medals import Kind
from ladder.leagues.records import Season
from ladder.people.records import Viewer
from ladder.reports import cadence
from services import anchors, bundles
from services.api.entries import EntryOut, shown
from services.http import permissions
from services.http.auth import Host
from services.http.fields import Line, SeasonKey
from services.http.idempotency import Once
from services.http.problems import of
from services.http.state import Db, House

router = APIRouter(prefix="/v1", tags=["seasons"])

Names = Annotated[list[Annotated[Line, Field(min_length=1)]], Field(max_length=20)]
NAMES = "names of this installation's reference agents, or ids of own submissions"


class NewAnchors(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"fill": True}]})
    anchors: Names = Field(default_factory=list, description=NAMES, examples=[["greedy"]])
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
    found = permissions.season(conn, who, season)
    league = permissions.hosted_league(conn, who, found.league_id)
    refuse_unknown(found.game, body.anchors)
    if found.state != "open":
        raise Conflict("this season's uploads are locked: open a new season to change its anchors")
    if found.medals["kind"] == Kind.LINES and found.accepted_no:
        raise Conflict(
            "this season gives medals by score, and new anchors would change the scores:"
            " add anchors before its first match"
        )

    def create() -> AnchorsOut:
        entered = enter(conn, house, who, found, body.anchors, fill=body.fill)
        return AnchorsOut(anchors=entered, lacking=cadence.lacking(conn, found, league))

    return once.run(create)


def refuse_unknown(game: str, names: Sequence[str]) -> None:
    """Raises ProblemError for the first name that is not a reference agent of this game."""
    known = bundles.names(game)
    for name in names:
        if bundles.name_of(name) not in known and not name.startswith("sub_"):
            raise Invalid(
                "anchors",
                f"there is no reference agent {name!r}; choose from "
                f"{', '.join(known) or 'none'}, or give the id of a submission.",
            )


def enter(
    conn: Db, house: House, who: Viewer, season: Season, names: Sequence[str], *, fill: bool
) -> list[EntryOut]:
    """Enters these anchors; with ``fill`` also more, until one agent can play."""
    entered = []
    for name in dict.fromkeys(
        one if one.startswith("sub_") else bundles.name_of(one) for one in names
    ):
        if name.startswith("sub_"):
            submission = permissions.own_submission(conn, who, name)
            entry, *_ = entries.enter(
                conn, season.id, submission.id, is_anchor=True, count_limit=False
            )
        else:
            entry = anchors.enter(conn, house.blobs, season.id, season.game, name)
        if not entry.is_anchor:
            raise Conflict(f"{name} competes in this season; choose another", field="anchors")
        entered.append(entry)
    if fill:
        entered += anchors.fill(conn, house.blobs, season)
    return [shown(conn, who, entry) for entry in entered]
