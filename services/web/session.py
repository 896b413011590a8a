"""Sessions: a signed cookie made from a pasted token, and protection of forms.

The cookie holds the SHA-256 of the token and an expiry, signed. Nobody can compute the token from
the cookie. Revoking the token ends the session. Each form carries a value derived from the
visitor's cookie, so that another site cannot send it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import Annotated, Final

from fastapi import Depends, Request, Response

from ladder.people import users
from ladder.people.records import STRANGER, Viewer
from services.http.app_state import Db
from services.http.problems import ProblemError
from services.web import formatting

SESSION: Final = "peck_session"
VISIT: Final = "peck_visit"
LIFE_SECONDS: Final = 14 * 86400
DRAWN: Final = secrets.token_hex(32)
"""Key for signatures if no secret is set: sessions then end with the process."""


def sign_text(request: Request, purpose: str, text: str) -> str:
    secret = request.app.state.peck.settings.session_secret or DRAWN
    return hmac.new(secret.encode(), f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def seal_token(request: Request, token: str) -> str:
    """The cookie's value for a valid token."""
    body = f"{int(time.time()) + LIFE_SECONDS}.{hashlib.sha256(token.encode()).hexdigest()}"
    return f"{body}.{sign_text(request, 'session', body)}"


def unseal_token(request: Request, cookie: str) -> bytes | None:
    """The token's hash in a cookie that we signed and that has not expired."""
    body, _, signature = cookie.rpartition(".")
    if not hmac.compare_digest(signature.encode(), sign_text(request, "session", body).encode()):
        return None
    expires, _, digest = body.partition(".")
    return bytes.fromhex(digest) if int(expires) > time.time() else None


def visitor_of_request(request: Request, conn: Db) -> Viewer:
    """The person behind the session cookie, or an anonymous viewer."""
    cookie = request.cookies.get(SESSION)
    digest = unseal_token(request, cookie) if cookie else None
    found = users.viewer_by_hash(conn, digest) if digest else None
    request.state.viewer = found or STRANGER
    return found or STRANGER


Visitor = Annotated[Viewer, Depends(visitor_of_request)]


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


def check_form(request: Request, given: str) -> None:
    """Refuses a form that is not from one of our own pages. Raises ProblemError."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    expected = form_token(request)
    if site not in ("same-origin", "none") or not hmac.compare_digest(
        given.encode(), expected.encode()
    ):
        raise ProblemError("forbidden", formatting.STALE_FORM)
