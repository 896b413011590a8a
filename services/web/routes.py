"""All pages: ``ROUTERS`` for the application; ``mount`` for static files and error pages."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import psycopg_pool
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import Scope

from services.agents import pages as agent_pages
from services.agents import upload_page
from services.agents.operations import operations as agent_operations
from services.comparisons import pages as comparison_pages
from services.comparisons.operations import operations as comparison_operations
from services.http.app_state import app_state_of, transaction
from services.http.problems import PROBLEM_KINDS, ProblemError
from services.leaderboard.operations import operations as leaderboard_operations
from services.leagues import pages as league_pages
from services.leagues.operations import operations as league_operations
from services.machines import pages as machine_pages
from services.machines.operations import operations as machine_operations
from services.matches.operations import operations as match_operations
from services.members import pages as member_pages
from services.members.operations import operations as member_operations
from services.moderation import pages as moderation_pages
from services.moderation.operations import operations as moderation_operations
from services.notices import pages as notice_pages
from services.notices.operations import operations as notice_operations
from services.people import pages as people_pages
from services.people.operations import operations as people_operations
from services.rosters import pages as roster_pages
from services.rosters.operations import operations as roster_operations
from services.scrims import pages as scrim_pages
from services.scrims.operations import operations as scrim_operations
from services.teams import pages as team_pages
from services.teams.operations import operations as team_operations
from services.tournaments import pages as tournament_pages
from services.tournaments import screens as tournament_screens
from services.tournaments.operations import operations as tournament_operations
from services.web import (
    account,
    api_reference,
    atom_feeds,
    certainty,
    client_download,
    confirm,
    documents,
    finding,
    form_texts,
    highlights,
    home,
    identities,
    live,
    matches,
    passkeys,
    pictures,
    recover,
    season_charts,
    sign_in,
    sign_in_settings,
)
from services.web.operation_forms import form_routes
from services.web.page_rendering import FOLDER, PageRoute, problem_page, render
from services.web.session import Visitor, find_visitor

OF_PROGRAMS = ("/v1", "/health", "/metrics")
"""Paths with these prefixes never answer with a page."""
STATIC = FOLDER / "static"
Handler = Callable[[Request, Any], Awaitable[Response] | Response]
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/problems/{slug}")
def show_problem_type(request: Request, slug: str, who: Visitor) -> Response:
    """The page of a problem type, the ``type`` of an API error."""
    kind = PROBLEM_KINDS.get(slug)
    if kind is None:
        raise ProblemError("not-found", form_texts.UNKNOWN_PROBLEM)
    sample = {
        "type": f"/problems/{kind.slug}",
        "title": kind.title,
        "status": kind.status,
        "detail": "…",
    }
    return render(
        request,
        "problem_type.html",
        kind=kind,
        kinds=PROBLEM_KINDS.values(),
        sample=json.dumps(sample, indent=2, ensure_ascii=False),
    )


@router.get("/favicon.ico")
def send_icon() -> Response:
    """The icon for browsers that ask for this address."""
    return FileResponse(STATIC / "favicon.ico")


@router.get("/robots.txt")
def send_robots() -> Response:
    """Which addresses search engines should leave out."""
    return FileResponse(STATIC / "robots.txt", media_type="text/plain")


PARTS = (
    pictures,
    highlights,
    live,
    *(agent_pages, matches, account),
    *(client_download, sign_in, sign_in_settings),
    *(confirm, upload_page, certainty),
    api_reference,
    *(finding, documents, atom_feeds),
    *(passkeys, identities, recover),
    *(home, season_charts),
)
FEATURES = (
    leaderboard_operations,  # first, because it is read most: routes are tried in order
    agent_operations,
    league_operations,
    roster_operations,
    team_operations,
    machine_operations,
    match_operations,
    member_operations,
    moderation_operations,
    notice_operations,
    people_operations,
    scrim_operations,
    comparison_operations,
    tournament_operations,
)
ROUTERS = (
    router,
    *(part.router for part in PARTS),
    league_pages.router,
    roster_pages.router,
    team_pages.router,
    machine_pages.router,
    moderation_pages.router,
    member_pages.router,
    notice_pages.router,
    scrim_pages.router,
    comparison_pages.router,
    people_pages.router,
    tournament_pages.router,
    tournament_screens.router,
    *(form_routes(operations) for operations in FEATURES),
)


class Files(StaticFiles):
    """Our scripts and styles. A browser asks each time whether its copy is current."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'self'"
        return response


def mount(app: FastAPI) -> None:
    """Adds the static files, and makes errors outside the API pages for browsers.

    Call it after the application's own exception handlers are in place; other clients keep those.
    """
    app.mount("/static", Files(directory=STATIC), name="static")
    for kind in (HTTPException, Exception):
        kept: Handler | None = app.exception_handlers.get(kind)
        app.add_exception_handler(kind, as_error_page(kept))


def as_error_page(otherwise: Handler | None) -> Callable[[Request, Exception], Awaitable[Response]]:
    """A handler that answers browsers outside the API with a page, and other clients as before."""

    async def handle(request: Request, error: Exception) -> Response:
        wants = "text/html" in request.headers.get("accept", "")
        if otherwise is None or (wants and not request.url.path.startswith(OF_PROGRAMS)):
            if isinstance(error, HTTPException):
                await run_in_threadpool(find_viewer, request)
            return problem_page(request, error)
        answer = otherwise(request, error)
        return answer if isinstance(answer, Response) else await answer

    return handle


def find_viewer(request: Request) -> None:
    """Finds the visitor for an error page outside the routes. Leaves an unknown one on failure."""
    failures = (psycopg.Error, psycopg_pool.PoolTimeout)
    with contextlib.suppress(*failures), transaction(app_state_of(request)) as conn:
        find_visitor(request, conn)
