"""The web application: routers, error handlers, and the state it opens at its start.

Take ``create_app`` from ``services.app``, which loads this module in less time.
"""

from __future__ import annotations

import hashlib
import json
from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from games import external
from ladder.database import db
from ladder.database.blobs import open_blobs
from ladder.machines import connections
from ladder.mail import MailServer
from ladder.matches.live_matches import live_states
from ladder.people.identities import ProviderClient, check_issuers, read_providers
from ladder.people.passwords import PasswordHashing
from ladder.settings import Settings
from ladder.standings.board_updates import read_next_board
from services import VERSION
from services.agents import uploads as agent_uploads
from services.api import (
    feed,
    health,
)
from services.http import auth, etags, problems
from services.http.app_state import (
    AT_A_TIME,
    NEWS_AT_A_TIME,
    POOL_SIZE,
    READS_AT_A_TIME,
    State,
    read_pool,
    read_rows,
)
from services.http.attempt_limits import AttemptLimits
from services.http.body_limits import BodyLimit
from services.http.leaderboard_cache import LeaderboardCache, QuickBoardAnswers
from services.http.live_matches import LiveMatches, open_games
from services.http.mailing import Mailer
from services.http.metrics import ApiMetrics, TimingMiddleware
from services.http.middleware import HeadAnswers, PageCompression, SecurityHeaders
from services.http.reader_limits import WatcherLimits
from services.http.stream_signals import Ending
from services.http.uploads import UploadSlots
from services.machines import blobs as machine_blobs
from services.notices.things import plan_channel
from services.server_faults import RememberedFaults
from services.web import routes as pages

TITLE: Final = "Pecking Order"
DESCRIPTION: Final = """A ladder for game-playing agents.

Errors are `application/problem+json` (RFC 9457); the page at `type` explains each. Follow the
`next` link to read further pages of a list. Send an `Idempotency-Key` with every POST that creates
something. A thing that you may not see answers `404`, like a missing thing.
"""
ROUTERS: Final = (
    feed.router,
    *(operations.router for operations in pages.FEATURES),
    machine_blobs.router,
    health.router,
)
BODILESS: Final = ("get", "delete", "head")


def create_app(settings: Settings | None = None) -> FastAPI:
    """The web application of one process, API and pages. Raises ValueError without a database or
    for a wrong setting, and
    ExternalGameError if a file in PECK_GAMES defines no game."""
    chosen = settings or Settings()
    if not chosen.database_url or not chosen.blobs_url:
        raise ValueError("set PECK_DATABASE_URL and PECK_BLOBS_URL")
    mail_server = MailServer.of(chosen)
    providers = {one.key: ProviderClient(one) for one in read_providers(chosen.identity_providers)}
    external.register_games(chosen.games)
    connections.check_addresses(chosen)
    connections.read_certificates(chosen.machine_certificates)
    measures = ApiMetrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await to_thread(check_issuers, providers.values())
        blobs = open_blobs(chosen.blobs_url, chosen.machine_blobs_endpoint)
        with (
            db.pool(chosen.database_url, POOL_SIZE) as pool,
            read_pool(chosen.database_url, READS_AT_A_TIME) as reads,
            read_pool(chosen.database_url, NEWS_AT_A_TIME) as news,
        ):
            intake = UploadSlots(POOL_SIZE - AT_A_TIME)
            live_matches = LiveMatches(
                chosen.redis_url,
                lambda ids: read_rows(news, lambda conn: live_states(conn, ids, open_games())),
            )
            boards = LeaderboardCache(
                lambda season_id, before: read_rows(
                    reads, lambda conn: read_next_board(conn, before, season_id)
                )
            )
            found = State(
                chosen,
                pool,
                reads,
                news,
                blobs,
                boards,
                intake,
                measures,
                PasswordHashing(),
                AttemptLimits(chosen.redis_url),
                live_matches,
                Ending(live_matches.notify_all),
                WatcherLimits(chosen.live_streams),
                RememberedFaults(chosen.redis_url, blobs),
                Mailer(mail_server, chosen.base_url) if mail_server is not None else None,
                providers,
            )
            app.state.peck = found
            with found.ending.noticing_signals():
                async with (
                    found.listener.listening(chosen.database_url),
                    found.clock.ticking(),
                    found.live.reading(),
                    found.boards.heads.reading(chosen.database_url),
                ):
                    yield
            if found.mailer is not None:
                await to_thread(found.mailer.close)

    app = FastAPI(
        title=TITLE,
        version=VERSION,
        description=DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,
        openapi_url=None,  # `send_openapi_document` sends it with an ETag
        docs_url=None,  # our own page instead: FastAPI's loads scripts from other sites
        redoc_url=None,
    )
    problems.install_handlers(app)
    app.router.routes.extend(all_routes())
    pages.mount(app)
    app.openapi = openapi_document  # type: ignore[method-assign]
    app.add_route("/openapi.json", send_openapi_document, include_in_schema=False)
    app.add_middleware(QuickBoardAnswers)
    app.add_middleware(PageCompression)
    app.add_middleware(BodyLimit)
    app.add_middleware(SecurityHeaders, base_url=chosen.base_url)
    app.add_middleware(TimingMiddleware, measures=measures)
    app.add_middleware(HeadAnswers)
    return app


@cache
def all_routes() -> tuple[BaseRoute, ...]:
    """The routes of API and pages, which all applications of a process share.

    ``include_router`` would prepare each route a second time at the first request, in 0.3 s.
    """
    return tuple(route for router in (*ROUTERS, *pages.ROUTERS) for route in router.routes)


@cache
def openapi_document() -> dict[str, Any]:
    """The OpenAPI document with the problem's schema. Leaves out impossible answers. The token is
    optional for operations that need none."""
    document = get_openapi(
        title=TITLE, version=VERSION, description=DESCRIPTION, routes=all_routes()
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for model in (problems.Problem, problems.FieldProblem):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schema.pop("$defs", None)
        schemas[model.__name__] = schema
    known = {
        route.name
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and needs_token(route.dependant)
    }
    for methods in document["paths"].values():
        for method, operation in methods.items():
            if "security" in operation and operation["operationId"] not in known:
                operation["security"].insert(0, {})
            if method in BODILESS:
                operation["responses"].pop("413", None)
                operation["responses"].pop("400", None)
            elif "application/octet-stream" not in operation.get("requestBody", {}).get(
                "content", {}
            ):
                operation["responses"].update(encode_keys(problems.problem_responses(415)))
    return document


@cache
def openapi_text() -> tuple[bytes, str]:
    """The OpenAPI document as it is sent, and its ETag."""
    text = json.dumps(openapi_document(), separators=(",", ":")).encode()
    return text, f'W/"{hashlib.sha256(text).hexdigest()[:32]}"'


def send_openapi_document(request: Request) -> Response:
    """Sends the OpenAPI document, which `peck` keeps by its ETag."""
    text, tag = openapi_text()
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if etags.matches(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    return Response(text, media_type="application/json", headers=headers)


def needs_token(dependant: Dependant) -> bool:
    """Whether the route refuses anonymous callers."""
    checks = (
        auth.require_scopes,
        agent_uploads.plan_upload,
        plan_channel,
        machine_blobs.machine_of_request,
    )
    return any(one.call in checks or needs_token(one) for one in dependant.dependencies)


def encode_keys(responses: dict[int | str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {str(status): response for status, response in responses.items()}
