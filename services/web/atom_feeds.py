"""Atom feeds (RFC 4287): of an agent, of a league, and at a secret address."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final, Protocol
from urllib.parse import urlsplit
from xml.etree import ElementTree

from fastapi import APIRouter, Path, Request, Response

from ladder.notices import inbox
from services.http import permissions
from services.http.app_state import Db, app_state_of
from services.http.path_parameters import AgentKey, LeagueKey
from services.web.page_rendering import HEADERS, PageRoute
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Secret = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{20,60}$")]
CACHE: Final = {"Cache-Control": "private, no-cache", "X-Robots-Tag": "noindex"}
ATOM: Final = "http://www.w3.org/2005/Atom"
MEDIA_TYPE: Final = "application/atom+xml"
EMPTY_AT: Final = datetime(2020, 1, 1, tzinfo=UTC)
"""Time of the last change of a feed without entries."""


@router.get("/agents/{agent}/feed.atom")
def show_agent_feed(request: Request, agent: AgentKey, conn: Db, who: Visitor) -> Response:
    """What everybody who sees the agent may know: that it plays, and its medals' leagues."""
    found = permissions.visible_agent(conn, who, agent)
    return feed_response(
        request, found.name, found.id, inbox.public_events(conn, who, agent_id=found.id)
    )


@router.get("/leagues/{league}/feed.atom")
def show_league_feed(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Seasons that open and end, agents that begin to play, and medals."""
    found = permissions.visible_league(conn, who, league)
    return feed_response(
        request, found.title, found.id, inbox.public_events(conn, who, league_id=found.id)
    )


@router.get("/feeds/{secret}.atom")
def show_private_feed(request: Request, secret: Secret, conn: Db) -> Response:
    """The notices of the person who made this address."""
    feed, found = inbox.read_private_feed(conn, secret)
    title = feed.agent_name or feed.league_title or "all"
    return feed_response(request, f"Notices: {title}", feed.id, found)


class FeedEntry(Protocol):
    """A notice, or another thing that a feed lists."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> StrEnum: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...


def feed_response(
    request: Request,
    title: str,
    feed_id: str,
    entries: Sequence[FeedEntry],
    *,
    is_private: bool = True,
) -> Response:
    """The feed, or 304 for a reader who has it."""
    base_url = app_state_of(request).settings.base_url.rstrip("/")
    content = write_feed(title, feed_id, base_url, entries)
    etag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    headers = {**HEADERS, **(CACHE if is_private else {}), "ETag": etag}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=MEDIA_TYPE, headers=headers)


def write_feed(title: str, feed_id: str, base_url: str, entries: Sequence[FeedEntry]) -> bytes:
    """Returns the feed as XML in UTF-8. ``feed_id`` is the same at every request."""
    feed = ElementTree.Element("feed", {"xmlns": ATOM})
    _add(feed, "title", title)
    _add(feed, "id", _tag(base_url, feed_id))
    _add(feed, "updated", _time_text(max((e.created_at for e in entries), default=EMPTY_AT)))
    ElementTree.SubElement(feed, "link", {"rel": "alternate", "href": base_url + "/"})
    author = ElementTree.SubElement(feed, "author")
    _add(author, "name", "Pecking Order")
    for each in entries:
        entry = ElementTree.SubElement(feed, "entry")
        _add(entry, "title", each.title)
        _add(entry, "id", _tag(base_url, each.id))
        _add(entry, "updated", _time_text(each.created_at))
        ElementTree.SubElement(entry, "link", {"rel": "alternate", "href": base_url + each.path})
        ElementTree.SubElement(entry, "category", {"term": each.kind.value})
        _add(entry, "summary", each.text)
    content: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return content


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    """Adds an element. XML has no place for control characters and halves of surrogates."""
    child = ElementTree.SubElement(parent, name)
    child.text = "".join(char if char.isprintable() else " " for char in text)


def _tag(base_url: str, name: str) -> str:
    """A tag URI (RFC 4151), which does not change with the path."""
    return f"tag:{urlsplit(base_url).hostname},2026:{name}"


def _time_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
