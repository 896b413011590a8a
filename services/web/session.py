"""Sessions of browsers, and protection of forms.

The cookie holds a session's random key. Each form carries a value derived from the visitor's
cookie, so that another site cannot send it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Annotated, Final

from fastapi import Depends, Request, Response

from ladder.database.db import Connection
from ladder.ids import TokenId, UserId
from ladder.people import sessions
from ladder.people.records import STRANGER, Viewer
from services.http.app_state import Db
from services.http.problems import ProblemError
from services.web import formatting

SESSION: Final = "peck_session"
VISIT: Final = "peck_visit"
LIFE_SECONDS: Final = int(sessions.LIFE.total_seconds())
BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
"""Marks in the User-Agent header. The first that is found counts: Chrome also names Safari."""
SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
DRAWN: Final = secrets.token_hex(32)
"""Key for signatures if no secret is set: sessions then end with the process."""


def sign_text(request: Request, purpose: str, text: str) -> str:
    secret = request.app.state.peck.settings.session_secret or DRAWN
    return hmac.new(secret.encode(), f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def visitor_of_request(request: Request, conn: Db) -> Viewer:
    """The person behind the session cookie, or an anonymous viewer."""
    key = request.cookies.get(SESSION)
    found = sessions.viewer_of_session(conn, key) if key else None
    request.state.session_id = found[0] if found else None
    request.state.viewer = found[1] if found else STRANGER
    viewer: Viewer = request.state.viewer
    return viewer


Visitor = Annotated[Viewer, Depends(visitor_of_request)]


def start_session(
    request: Request,
    response: Response,
    conn: Connection,
    user_id: UserId,
    token_id: TokenId | None = None,
) -> None:
    """Signs the person in: creates a session and sets its cookie."""
    device = device_name(request.headers.get("user-agent", ""))
    key = sessions.create_session(conn, user_id, device, token_id)
    set_cookie(request, response, SESSION, key, LIFE_SECONDS)


def end_session(request: Request, response: Response, conn: Connection, who: Viewer) -> None:
    """Signs this browser out."""
    if who.user_id is not None:
        sessions.revoke_session(conn, who.user_id, request.state.session_id)
    response.delete_cookie(SESSION, path="/", httponly=True, samesite="lax")


def device_name(user_agent: str) -> str:
    """Browser and system, such as ``Firefox on Linux``."""
    browser = next((name for mark, name in BROWSERS if mark in user_agent), "A browser")
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    return f"{browser} on {system}" if system else browser


def form_token(request: Request) -> str:
    """The hidden value of a form on this page. Needs the cookie that ``set_visit_cookie`` sets."""
    bound = request.cookies.get(SESSION) or visit_of_request(request)
    return sign_text(request, "form", bound)


def visit_of_request(request: Request) -> str:
    """A random value for a browser without a session."""
    known = request.cookies.get(VISIT) or getattr(request.state, "visit", None)
    request.state.visit = known or secrets.token_urlsafe(24)
    return str(request.state.visit)


def set_visit_cookie(request: Request, response: Response) -> None:
    """Sets the cookie of a browser without a session, if the page has a form."""
    drawn = getattr(request.state, "visit", None)
    if drawn and request.cookies.get(VISIT) != drawn:
        set_cookie(request, response, VISIT, drawn, LIFE_SECONDS)


def set_cookie(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    base_url: str = request.app.state.peck.settings.base_url
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path="/",
        httponly=True,
        samesite="lax",
        secure="https" in (request.url.scheme, base_url.split(":", 1)[0]),
    )


def refuse_other_sites(request: Request) -> None:
    """Refuses a request that a page of another site started. Raises ProblemError."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ProblemError("forbidden", formatting.STALE_FORM)


def check_form(request: Request, given: str) -> None:
    """Refuses a form that is not from one of our own pages. Raises ProblemError."""
    refuse_other_sites(request)
    if not hmac.compare_digest(given.encode(), form_token(request).encode()):
        raise ProblemError("forbidden", formatting.STALE_FORM)
