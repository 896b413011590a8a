"""Running matches: their frames while they are played."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field

from ladder.enums import MatchState
from ladder.people import users
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Credentials
from services.http.lazy_routes import LazyRoute
from services.http.live_answers import (
    WatchedMatch,
    answer_watcher,
    watched_match,
    watcher_key,
)
from services.http.live_streams import Watcher
from services.http.path_parameters import MatchKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["matches"], route_class=LazyRoute)


class LiveOut(BaseModel):
    """Frames of a running match, as in a frames document."""

    state: MatchState
    id: str = Field(description="send it as `after` to get only later frames")
    position: int = Field(description="which episode: 0 is the first")
    episodes: int = Field(description="episodes that began")
    first: int = Field(description="number of the first of these frames; 0 is the start")
    frames: list[dict[str, Any]]
    steps: list[dict[str, Any]] = Field(description="the steps that led to these frames")


def watched_by_token(
    match: MatchKey, request: Request, conn: Db, who: Anyone, credentials: Credentials
) -> tuple[WatchedMatch, Watcher]:
    """The match that the token's owner watches."""
    token = credentials.credentials if credentials else None
    again = (lambda conn: users.viewer_of_token(conn, token)) if token else None
    return watched_match(conn, who, match), Watcher(watcher_key(request, who), who, again)


@router.get(
    "/matches/{match}/live",
    summary="Watch a running match",
    response_model=LiveOut,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
        **problem_responses(403, 404, 503),
    },
)
async def watch_match(
    request: Request,
    app_state: AppState,
    watched: Annotated[tuple[WatchedMatch, Watcher], Depends(watched_by_token)],
    episode: Annotated[int, Query(ge=0, le=1000)] = 0,
    after: Annotated[str, Query(max_length=30, description="`id` of the last answer")] = "",
) -> Response:
    """The frames so far; with `Accept: text/event-stream` a stream of new ones.

    The stream resumes from `Last-Event-ID`. Its events are `frames`, `next` (another episode began)
    and `end`. A match that is not being played has no frames here: read its replay.
    """
    return await answer_watcher(request, app_state, *watched, episode, after)
