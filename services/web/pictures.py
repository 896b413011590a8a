"""Pictures, embedded players and oEmbed: what other sites show of a public match.

These routes read no cookie. They answer everybody as a stranger, so a member of a private league
gets 404 here too.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from functools import cache
from typing import Annotated, Final
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from games import GAMES
from ladder.database.db import Connection
from ladder.errors import NotFound
from ladder.ids import MatchId, is_id
from ladder.matches.match_titles import lineup_title, match_title
from ladder.people.records import STRANGER
from ladder.reports import pictures, shown_publicly
from ladder.reports.pictures import MEDIA_TYPES, Form
from ladder.tournaments.views import find_place
from services.http import etags, permissions
from services.http.app_state import AppState, Db, State, read_rows, transaction
from services.http.foreign_urls import split_url
from services.http.path_parameters import AgentKey, LeagueKey, MatchKey
from services.http.problems import ProblemError
from services.web import matches
from services.web.page_rendering import FOLDER, HEADERS, PageRoute, render
from services.web.sharing import EMBED, embed_code, site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
WAIT_SECONDS: Final = 3.0
"""Longest wait for a picture that is being drawn. Then the answer is 202 with a placeholder."""
LOOK_SECONDS: Final = 0.15
MOST_WAITING: Final = 32
"""Requests that may wait at a time in one process; further ones get the placeholder at once."""
PATIENCE_SECONDS: Final = 20.0
"""After a wait in vain, requests do not wait for this long: perhaps no worker draws."""
KEPT_SECONDS: Final = 300
LEAST_EMBED: Final = (240, 320)
EMBED_HEADERS: Final = {
    **HEADERS,
    "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace(
        "frame-ancestors 'none'", "frame-ancestors *"
    ),
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Vary": "Accept-Encoding",
}
MATCH_PATH: Final = re.compile(r"^/(?:embed/)?matches/([^/]{1,40})/?$")
_waiting = 0
_waits_again_at = 0.0


@router.get("/pictures/matches/{match}/card.png")
async def send_match_card(match: MatchKey, request: Request, app_state: AppState) -> Response:
    """The picture card of a match whose replay everybody may see."""
    return await _send(request, app_state, Form.CARD, lambda conn: _match_subject(conn, match))


@router.get("/pictures/matches/{match}/clip.{form}")
async def send_clip(match: MatchKey, form: str, request: Request, app_state: AppState) -> Response:
    """The moving picture of a match, as ``webp`` or ``gif``."""
    if form not in (Form.WEBP, Form.GIF):
        raise NotFound.of("picture")
    chosen = Form(form)
    return await _send(request, app_state, chosen, lambda conn: _match_subject(conn, match, chosen))


@router.get("/pictures/agents/{agent}/card.png")
async def send_agent_card(agent: AgentKey, request: Request, app_state: AppState) -> Response:
    """The picture card of an agent of a public league."""

    def subject(conn: Connection) -> str:
        return pictures.agent_subject(permissions.visible_agent(conn, STRANGER, agent).id)

    return await _send(request, app_state, Form.CARD, subject)


@router.get("/pictures/leagues/{league}/card.png")
async def send_league_card(league: LeagueKey, request: Request, app_state: AppState) -> Response:
    """The picture card of a public league."""

    def subject(conn: Connection) -> str:
        return pictures.league_subject(permissions.visible_league(conn, STRANGER, league).id)

    return await _send(request, app_state, Form.CARD, subject)


@router.get("/pictures/compare/{agent}/{opponent}/card.png")
async def send_comparison_card(
    agent: AgentKey, opponent: AgentKey, request: Request, app_state: AppState
) -> Response:
    """The picture card of a comparison of two agents of public leagues."""

    def subject(conn: Connection) -> str:
        pair = [permissions.visible_agent(conn, STRANGER, key).id for key in (agent, opponent)]
        return pictures.comparison_subject(*pair)

    return await _send(request, app_state, Form.CARD, subject)


def _match_subject(conn: Connection, match: str, form: Form = Form.CARD) -> str:
    return pictures.match_subject(shown_publicly.public_match(conn, MatchId(match)).match.id, form)


async def _send(
    request: Request, app_state: State, form: Form, subject_of: Callable[[Connection], str]
) -> Response:
    """The picture; or 202 and a placeholder while a worker draws it."""
    global _waiting, _waits_again_at

    def ask() -> tuple[str, str | None]:
        with transaction(app_state) as conn:
            subject = subject_of(conn)
            digest = pictures.ask_for_picture(conn, subject)
            if digest is not None and not app_state.blobs.exists(digest):
                pictures.draw_anew(conn, subject)
                digest = None
            return subject, digest

    def look() -> str | None:
        return read_rows(app_state.news, lambda conn: pictures.ask_for_picture(conn, subject))

    subject, digest = await run_in_threadpool(ask)
    may_wait = _waiting < MOST_WAITING and time.monotonic() >= _waits_again_at
    if digest is None and may_wait:
        _waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while digest is None:
                    await asyncio.sleep(LOOK_SECONDS)
                    digest = await run_in_threadpool(look)
        except TimeoutError:
            if form is Form.CARD:  # a clip takes longer
                _waits_again_at = time.monotonic() + PATIENCE_SECONDS
        finally:
            _waiting -= 1
    headers = {"Cross-Origin-Resource-Policy": "cross-origin"}
    if digest is None:
        headers |= {"Cache-Control": "no-store", "Retry-After": "3", "Refresh": "3"}
        return Response(_placeholder(), 202, headers, "image/png")
    headers |= {"Cache-Control": f"public, max-age={KEPT_SECONDS}", "ETag": f'"{digest}"'}
    if etags.matches(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    content = await run_in_threadpool(lambda: b"".join(app_state.blobs.open(digest)))
    return Response(content, headers=headers, media_type=MEDIA_TYPES[form])


@cache
def _placeholder() -> bytes:
    return (FOLDER / "static" / "placeholder.png").read_bytes()


@router.get("/embed/matches/{match}")
def show_embedded(request: Request, match: MatchKey, conn: Db) -> Response:
    """The player alone, for an ``<iframe>`` of another site."""
    shown = shown_publicly.public_match(conn, MatchId(match))
    found = shown.match
    answer = render(
        request,
        "embed.html",
        match=found,
        place=find_place(conn, STRANGER, found),
        title=match_title(found),
        neutral=lineup_title(found),
        seated=sorted(found.seats, key=lambda seat: seat.seat),
        position=0,
        logs={},
        episode_address=f"/embed/matches/{found.id}/episode.json",
    )
    answer.headers.update(EMBED_HEADERS)
    return answer


@router.get("/embed/matches/{match}/episode.json")
def send_embedded_episode(
    match: MatchKey,
    request: Request,
    conn: Db,
    app_state: AppState,
    if_none_match: etags.IfNoneMatch = None,
) -> Response:
    """The frames of an embedded player."""
    return matches.send_episode(
        shown_publicly.public_match(conn, MatchId(match)).match,
        app_state,
        if_none_match=if_none_match,
        accept_encoding=request.headers.get("accept-encoding", ""),
    )


@router.get("/oembed")
def send_oembed(
    request: Request,
    conn: Db,
    url: Annotated[str, Query(max_length=500)],
    format: Annotated[str, Query(max_length=20)] = "json",
    maxwidth: Annotated[int, Query(ge=1, le=10_000)] = EMBED[0],
    maxheight: Annotated[int, Query(ge=1, le=10_000)] = EMBED[1],
) -> Response:
    """oEmbed 1.0: how to embed the match at this address of ours."""
    if format != "json":
        return Response("Ask for format=json.", 501, media_type="text/plain")
    asked = split_url(url)
    found = MATCH_PATH.match(asked.path)
    ours = {request.url.netloc, urlsplit(request.app.state.peck.settings.base_url).netloc}
    if found is None or asked.netloc not in ours or not is_id(found[1], "mat"):
        raise ProblemError("not-found", "There is no match at this address.")
    shown = shown_publicly.public_match(conn, MatchId(found[1]))
    width = max(LEAST_EMBED[0], min(EMBED[0], maxwidth))
    height = max(LEAST_EMBED[1], min(EMBED[1], maxheight))
    step = parse_qs(asked.query).get("step", [""])[0] or asked.fragment.removeprefix("step=")
    site = site_address(request)
    game = GAMES[shown.match.game].title if shown.match.game in GAMES else shown.match.game
    place = find_place(conn, STRANGER, shown.match)
    content = {
        "type": "rich",
        "version": "1.0",
        "provider_name": "Pecking Order",
        "provider_url": site,
        "title": f"{lineup_title(shown.match)} ({game}){f' · {place.title}' if place else ''}",
        "width": width,
        "height": height,
        "thumbnail_url": f"{site}/pictures/matches/{shown.match.id}/card.png",
        "thumbnail_width": 1200,
        "thumbnail_height": 630,
        "cache_age": KEPT_SECONDS,
        "html": embed_code(site, shown.match.id, (width, height), step),
    }
    headers = {"Cross-Origin-Resource-Policy": "cross-origin"}
    return Response(json.dumps(content), headers=headers, media_type="application/json")
