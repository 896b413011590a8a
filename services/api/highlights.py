"""Games worth watching of a league, and the matches that its hosts pinned."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from ladder.matches.match_titles import lineup_title
from ladder.reports import highlights
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone, Host
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import LeagueKey, MatchKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["matches"], route_class=LazyRoute)


class HighlightOut(BaseModel):
    match_id: str
    title: str = Field(description="who met whom, without the result")
    pinned: bool = Field(description="whether a host pinned it")
    reasons: list[str] = Field(description="why it is worth watching, in words")
    upset: float | None = Field(description="chance before that the others would do better")
    lead_changes: int | None
    closeness: float | None = Field(description="1: the best two were equal near the end")
    score: float | None = Field(description="what the list is sorted by")


class HighlightsOut(BaseModel):
    """Pinned matches first, then the best of the day."""

    items: list[HighlightOut]


@router.get(
    "/leagues/{league}/highlights",
    summary="List games worth watching",
    responses=problem_responses(404),
)
def list_highlights(
    league: LeagueKey,
    conn: Db,
    who: Anyone,
    day: Annotated[
        date | None,
        Query(
            description="a day in UTC; default: the last 24 hours",
            ge=date(2020, 1, 1),
            le=date(9000, 1, 1),
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> HighlightsOut:
    """Finished rated matches whose replay you may see, by upset, lead changes, closeness and
    length."""
    found = permissions.visible_league(conn, who, league)
    rows = highlights.list_highlights(conn, who, league=found, day=day, limit=limit)
    return HighlightsOut(items=[_highlight_out(one) for one in rows])


@router.put(
    "/leagues/{league}/pins/{match}",
    summary="Pin a match",
    status_code=204,
    response_class=Response,
    responses=problem_responses(403, 404, 409),
)
def pin_match(league: LeagueKey, match: MatchKey, conn: Db, who: Host) -> None:
    """Shows a finished rated match first. Pinning it again changes nothing."""
    found = permissions.hosted_league(conn, who, league)
    pinned = permissions.visible_match(conn, who, match)
    highlights.pin_match(conn, found.id, pinned.id, who.user_id)


@router.delete(
    "/leagues/{league}/pins/{match}",
    summary="Unpin a match",
    status_code=204,
    response_class=Response,
    responses=problem_responses(403, 404),
)
def unpin_match(league: LeagueKey, match: MatchKey, conn: Db, who: Host) -> None:
    """Repeating it changes nothing."""
    found = permissions.hosted_league(conn, who, league)
    pinned = permissions.visible_match(conn, who, match)
    highlights.unpin_match(conn, found.id, pinned.id, who.user_id)


def _highlight_out(one: highlights.Highlight) -> HighlightOut:
    interest = one.interest
    return HighlightOut(
        match_id=one.match.id,
        title=lineup_title(one.match),
        pinned=one.is_pinned,
        reasons=list(interest.reasons) if interest else [],
        upset=interest.upset if interest else None,
        lead_changes=interest.lead_changes if interest else None,
        closeness=interest.closeness if interest else None,
        score=interest.score if interest else None,
    )
