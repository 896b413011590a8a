"""Rendering of pages: templates, headers of every page, and error pages.

Pages run only our own scripts and styles; the Content-Security-Policy forbids others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import jinja2
import psycopg
import psycopg_pool
from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from ladder.database import db
from ladder.database.blobs import BlobsFull, BlobsUnavailable
from ladder.entries.submit import MOST_NOTE_CHARACTERS
from ladder.errors import ConfirmationNeeded, Forbidden, LadderError, NotFound
from ladder.people import sessions
from ladder.people.records import STRANGER
from services.http.foreign_urls import split_url
from services.http.lazy_routes import LazyRoute
from services.http.problems import ACCOUNT_DELETED, BY_STATUS, PROBLEM_KINDS, ProblemError
from services.web import form_texts, formatting, forms, session

FOLDER: Final = Path(__file__).parent
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "private, no-cache",
    "Vary": "Cookie",
}
STYLES_FIRST: Final = "</static/site.css>; rel=preload; as=style"
"""Lets a browser ask for the styles before it reads the page: it paints nothing without them."""
FORMS_BELOW: Final = {
    "/me": "/me/account",
    "/team-invitations": "/me#teams",
    "/team-merges": "/me#teams",
}
"""Paths and the page from which a person reaches the forms. These are sent to addresses below the
paths."""
FORMS_WITH_FILES: Final = ("/upload", "/leagues/{league}/roster")
"""Forms whose routes read the body and check its token, since a file follows."""
log = logging.getLogger(__name__)

templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader([FOLDER / "templates", FOLDER.parent]),  # teams/team.html
    autoescape=True,  # for all file names: texts of agents and people are never HTML
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.filters.update(formatting.FILTERS)
templates.globals["MOST_NOTE_CHARACTERS"] = MOST_NOTE_CHARACTERS
templates.tests["contains"] = lambda values, one: one in values


def render(
    request: Request, template: str, *, status: int = 200, etag: str | None = None, **values: Any
) -> HTMLResponse:
    """The page, for the viewer that ``session.find_visitor`` found."""
    viewer = getattr(request.state, "viewer", None)
    content = templates.get_template(template).render(
        request=request,
        viewer=viewer or STRANGER,
        is_known=viewer is not None,  # false if an error came before authentication
        path=request.url.path,
        unread=getattr(request.state, "unread", 0),
        form_token=lambda: session.form_token(request),
        **values,
    )
    headers = dict(HEADERS)
    if not template.startswith("parts/") and not template.endswith("_part.html"):
        headers["Link"] = STYLES_FIRST
    if etag:
        headers["ETag"] = etag
    response = HTMLResponse(content, status_code=status, headers=headers)
    session.set_visit_cookie(request, response)
    return response


def not_modified(etag: str) -> Response:
    """The answer 304, for a reader who has this version."""
    return Response(status_code=304, headers={**HEADERS, "ETag": etag})


def problem_page(request: Request, error: Exception) -> Response:
    """The page of an error.

    ConfirmationNeeded leads to ``/confirm`` and back. A page that needs a person leads an anonymous
    visitor to the sign-in and back.

    GET of an address that takes only POST redirects to the nearest page.
    """
    if isinstance(error, ConfirmationNeeded):
        query = urlencode({"next": page_before(request)})
        return RedirectResponse(f"/confirm?{query}", status_code=303, headers=dict(HEADERS))
    if is_anonymous(request) and isinstance(error, ProblemError) and error.kind.status == 401:
        address = formatting.sign_in_address(page_before(request))
        return RedirectResponse(address, status_code=303, headers=dict(HEADERS))
    status, title, detail = describe_error(error)
    nearest = nearest_page(request) if status == 405 else ""
    if nearest and request.method == "GET":
        return RedirectResponse(nearest, status_code=303, headers=dict(HEADERS))
    if status == 503:
        line = " ".join(str(error).split())
        log.warning("%s %s: %s", request.method, request.url.path, line)
    elif status >= 500:
        log.error("%s %s: %s", request.method, request.url.path, error, exc_info=error)
    response = render(
        request,
        "problem.html",
        status=status,
        code=status,
        title=title,
        detail=detail,
        nearest=nearest,
    )
    if status == 503:
        response.headers["Retry-After"] = "5"
    return response


def is_anonymous(request: Request) -> bool:
    """Whether the visitor is known to have no session."""
    viewer = getattr(request.state, "viewer", None)
    return viewer is not None and viewer.user_id is None


def nearest_page(request: Request) -> str:
    """The address of the page here or, if there is none, of the nearest page above it."""
    path = request.scope["path"]
    while path and not has_page(request, path):
        path = path.rpartition("/")[0]
        if path in FORMS_BELOW:
            return FORMS_BELOW[path]
    return quote(path or "/")


def has_page(request: Request, path: str) -> bool:
    """Whether a route takes GET at this path.

    Does not check that the team, league or match in the path exists.
    """
    scope = {**request.scope, "method": "GET", "path": path}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes)


def page_before(request: Request) -> str:
    """The path of the page that the visitor sees: this one, or the one with the form."""
    address = split_url(str(request.url))
    if request.method != "GET":
        address = split_url(request.headers.get("referer", ""))
        if address.netloc != request.url.netloc:
            return "/me/account"
    return f"{address.path}?{address.query}" if address.query else address.path


def describe_error(error: Exception) -> tuple[int, str, str]:
    """Status, title and message of an error."""
    if isinstance(error, ProblemError):
        return error.kind.status, error.kind.title, error.detail
    if isinstance(error, NotFound):
        return 404, PROBLEM_KINDS["not-found"].title, form_texts.NOT_FOUND
    if isinstance(error, Forbidden):
        return 403, PROBLEM_KINDS["forbidden"].title, str(error)
    if isinstance(error, LadderError):
        return 400, PROBLEM_KINDS["malformed"].title, str(error)
    if isinstance(error, RequestValidationError):
        if any(item["loc"][0] == "path" for item in error.errors()):
            return 404, PROBLEM_KINDS["not-found"].title, form_texts.NOT_FOUND
        return 422, PROBLEM_KINDS["invalid"].title, form_texts.ADDRESS_INVALID
    if isinstance(error, HTTPException):
        kind = PROBLEM_KINDS[BY_STATUS.get(error.status_code, "internal")]
        details = {
            "not-found": form_texts.NOT_FOUND,
            "method-not-allowed": form_texts.TAKES_NO_FORM,
            "too-large": error.detail,
        }
        text = details.get(kind.slug, kind.text)
        return error.status_code, kind.title, text
    if isinstance(error, psycopg.Error) and error.sqlstate == db.ERASED:
        return 401, PROBLEM_KINDS["unauthorized"].title, ACCOUNT_DELETED
    if isinstance(error, BlobsFull):
        return 507, PROBLEM_KINDS["storage-full"].title, PROBLEM_KINDS["storage-full"].text
    if isinstance(error, psycopg.OperationalError | psycopg_pool.PoolTimeout | BlobsUnavailable):
        return 503, PROBLEM_KINDS["unavailable"].title, PROBLEM_KINDS["unavailable"].text
    return 500, PROBLEM_KINDS["internal"].title, PROBLEM_KINDS["internal"].text


class PageRoute(LazyRoute):
    """A route that knows its visitor by the session and answers errors with pages. It takes a form
    from our own pages only."""

    viewer_of_session = staticmethod(session.visitor_of_request)
    require_full_session = staticmethod(sessions.require_full_session)

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        methods: set[str] | list[str] | None = None,
        dependencies: Sequence[Any] | None = None,
        **options: Any,
    ) -> None:
        is_form = "POST" in (methods or ()) and path not in FORMS_WITH_FILES
        own = [Depends(forms.sent_form)] if is_form else []
        options["dependencies"] = [*own, *(dependencies or ())]
        super().__init__(path, endpoint, methods=methods, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:
                return problem_page(request, error)

        return shown
