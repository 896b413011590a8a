"""All pages: ``router`` for the application; ``mount`` for static files and error pages."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import Scope

from services.http.problems import PROBLEM_KINDS, ProblemError
from services.web import (
    account,
    agents,
    api_reference,
    confirm,
    device,
    formatting,
    join,
    league_people,
    leagues,
    matches,
    moderation,
    new_league,
    remote_agents,
    scrims,
    sign_in,
    sign_in_settings,
    upload,
)
from services.web.page_rendering import FOLDER, PageRoute, problem_page, render
from services.web.session import Visitor

OF_PROGRAMS = ("/v1", "/health", "/metrics")
"""Paths with these prefixes never answer with a page."""
Handler = Callable[[Request, Any], Awaitable[Response] | Response]
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/problems/{slug}")
def show_problem_type(request: Request, slug: str, who: Visitor) -> Response:
    """The page of a problem type, the ``type`` of an API error."""
    kind = PROBLEM_KINDS.get(slug)
    if kind is None:
        raise ProblemError("not-found", formatting.UNKNOWN_PROBLEM)
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


PARTS = (
    *(leagues, agents, remote_agents, matches, scrims, account, sign_in, sign_in_settings),
    *(confirm, device, upload, join, new_league, moderation, api_reference, league_people),
)
for part in PARTS:
    router.include_router(part.router)


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
    app.mount("/static", Files(directory=FOLDER / "static"), name="static")
    for kind in (HTTPException, Exception):
        kept: Handler | None = app.exception_handlers.get(kind)
        app.add_exception_handler(kind, as_error_page(kept))


def as_error_page(otherwise: Handler | None) -> Callable[[Request, Exception], Awaitable[Response]]:
    """A handler that answers browsers outside the API with a page, and other clients as before."""

    async def handle(request: Request, error: Exception) -> Response:
        wants = "text/html" in request.headers.get("accept", "")
        if otherwise is None or (wants and not request.url.path.startswith(OF_PROGRAMS)):
            return problem_page(request, error)
        answer = otherwise(request, error)
        return answer if isinstance(answer, Response) else await answer

    return handle
