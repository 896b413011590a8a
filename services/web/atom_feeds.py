"""Atom feeds: of an agent and of a league for those who see them, and at a secret address."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request, Response

from ladder.notices import atom, feeds
from ladder.notices.texts import Notice
from services.http import permissions
from services.http.app_state import Db, app_state_of
from services.http.path_parameters import AgentKey, LeagueKey
from services.web.page_rendering import HEADERS, PageRoute
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Secret = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{20,60}$")]
CACHE: Final = {"Cache-Control": "private, no-cache", "X-Robots-Tag": "noindex"}


@router.get("/agents/{agent}/feed.atom")
def show_agent_feed(request: Request, agent: AgentKey, conn: Db, who: Visitor) -> Response:
    """What everybody who sees the agent may know: that it plays, and its medals' leagues."""
    found = permissions.visible_agent(conn, who, agent)
    return feed_response(
        request, found.name, found.id, feeds.public_events(conn, who, agent_id=found.id)
    )


@router.get("/leagues/{league}/feed.atom")
def show_league_feed(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Seasons that open and end, agents that begin to play, and medals."""
    found = permissions.visible_league(conn, who, league)
    return feed_response(
        request, found.title, found.id, feeds.public_events(conn, who, league_id=found.id)
    )


@router.get("/feeds/{secret}.atom")
def show_private_feed(request: Request, secret: Secret, conn: Db) -> Response:
    """The notices of the person who made this address."""
    feed, found = feeds.read_private_feed(conn, secret)
    title = feed.agent_name or feed.league_title or "all"
    return feed_response(request, f"Notices: {title}", feed.id, found)


def feed_response(
    request: Request, title: str, feed_id: str, entries: Sequence[Notice]
) -> Response:
    """The feed, or 304 for a reader who has it."""
    base_url = app_state_of(request).settings.base_url.rstrip("/")
    content = atom.write_feed(title, feed_id, base_url, entries)
    etag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    headers = {**HEADERS, **CACHE, "ETag": etag}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=atom.MEDIA_TYPE, headers=headers)
