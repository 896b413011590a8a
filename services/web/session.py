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
from ladder.notices import inbox
from ladder.people import confirmation, sessions
from ladder.people.records import STRANGER, Viewer
from ladder.people.sessions import SignInMethod
from services.http.app_state import AppState, Db, transaction
from services.http.auth import check_scopes
from services.http.middleware import is_https
from services.http.problems import ProblemError
from services.web import form_texts

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
FORMS_OF_READERS: Final = {
    "/sign-in": "begins another session, by what the form proves",
    "/sign-up": "makes another account",
    "/sign-out": "ends this session alone",
    "/sign-in/passkey/options": "a step of the sign-in",
    "/sign-in/passkey": "begins another session, by the passkey",
    "/sign-in/with/{key}": "a step of the sign-in",
    "/sign-up/address": "a step of the sign-up",
    "/sign-up/identity": "makes another account",
    "/recover/code": "recovers the account whose code the form proves",
    "/recover/mail": "mails a link to the owner of the account",
    "/recover/{secret}": "recovers the account whose link the form proves",
    "/device": "shows which device waits; the answer to it needs a full session",
    "/me/notices/read": "only the reader sees what is read",
    "/shows/{secret}": "whoever knows the address moves the show, without a session too",
}
"""Forms that a session may send whose token only reads, and why."""
DRAWN: Final = secrets.token_hex(32)
"""Key for signatures if no secret is set: sessions then end with the process."""


def sign_text(request: Request, purpose: str, text: str) -> str:
    secret = request.app.state.peck.settings.session_secret or DRAWN
    return hmac.new(secret.encode(), f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def visitor_of_request(request: Request, conn: Db) -> Viewer:
    """The person behind the session cookie, or an anonymous viewer.

    Refuses a form from a session whose token only reads, except FORMS_OF_READERS. So no form
    changes something for it, whatever else its route checks. Raises ProblemError.
    """
    viewer = find_visitor(request, conn)
    is_form = request.method == "POST" and request.scope["route"].path not in FORMS_OF_READERS
    if is_form and viewer.user_id is not None and viewer.scopes <= {"read"}:
        raise ProblemError("forbidden", form_texts.ONLY_READS)
    return viewer


def full_visitor(request: Request, app_state: AppState) -> Viewer:
    """The signed-in visitor, whose session may change the account. Holds no connection afterwards:
    the route may hash a password or wait for a provider. Raises ProblemError, Forbidden."""
    with transaction(app_state) as conn:
        viewer = check_scopes(visitor_of_request(request, conn), ())
        sessions.require_full_session(conn, viewer, request.state.session_id)
    return viewer


def confirmed_visitor(request: Request, app_state: AppState) -> Viewer:
    """The same, after the visitor has just given a credential. Raises ConfirmationNeeded."""
    with transaction(app_state) as conn:
        viewer = check_scopes(visitor_of_request(request, conn), ())
        confirmation.require_recent_confirmation(conn, viewer, request.state.session_id)
    return viewer


def find_visitor(request: Request, conn: Connection) -> Viewer:
    """The person behind the session cookie, or an anonymous viewer; refuses nobody."""
    key = cookie_of_request(request, SESSION)
    row = sessions.viewer_of_session(conn, key) if key else None
    request.state.session_id = row[0] if row else None
    request.state.viewer = row[1] if row else STRANGER
    viewer: Viewer = request.state.viewer
    if viewer.user_id is not None:
        request.state.unread = inbox.count_unread(conn, viewer.user_id)
    return viewer


Visitor = Annotated[Viewer, Depends(visitor_of_request)]
FullVisitor = Annotated[Viewer, Depends(full_visitor)]
"""Put it before ``Db`` in a signature, so that it gives its connection back first."""
ConfirmedVisitor = Annotated[Viewer, Depends(confirmed_visitor)]


def start_session(
    request: Request,
    response: Response,
    conn: Connection,
    user_id: UserId,
    token_id: TokenId | None = None,
    method: SignInMethod = SignInMethod.PASSWORD,
) -> None:
    """Signs the person in: creates a session and sets its cookie. Ends the browser's former one."""
    former = cookie_of_request(request, SESSION)
    if former:
        sessions.end_session_of_key(conn, former)
    device = device_name(request.headers.get("user-agent", ""))
    key = sessions.create_session(conn, user_id, device, token_id, method)
    set_cookie(request, response, SESSION, key, LIFE_SECONDS)


def end_session(request: Request, response: Response, conn: Connection, viewer: Viewer) -> None:
    """Signs this browser out."""
    if viewer.user_id is not None:
        sessions.revoke_session(conn, viewer.user_id, request.state.session_id)
    delete_cookie(request, response, SESSION)


def device_name(user_agent: str) -> str:
    """Browser and system, such as ``Firefox on Linux``."""
    browser = next((name for mark, name in BROWSERS if mark in user_agent), "A browser")
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    return f"{browser} on {system}" if system else browser


def form_token(request: Request) -> str:
    """The hidden value of a form on this page. Needs the cookie that ``set_visit_cookie`` sets."""
    return sign_text(request, "form", bound_cookie(request))


def bound_cookie(request: Request) -> str:
    """The cookie to which forms and sign-in steps of this browser are bound."""
    return cookie_of_request(request, SESSION) or visit_of_request(request)


def browser_digest(request: Request) -> bytes:
    """What the table ``sign_in_steps`` stores of this browser."""
    return hashlib.sha256(bound_cookie(request).encode("utf-8", "replace")).digest()


def visit_of_request(request: Request) -> str:
    """A random value for a browser without a session."""
    visit = cookie_of_request(request, VISIT) or getattr(request.state, "visit", None)
    request.state.visit = visit or secrets.token_urlsafe(24)
    return str(request.state.visit)


def set_visit_cookie(request: Request, response: Response) -> None:
    """Sets the cookie of a browser without a session, if the page has a form."""
    drawn = getattr(request.state, "visit", None)
    if drawn and cookie_of_request(request, VISIT) != drawn:
        set_cookie(request, response, VISIT, drawn, LIFE_SECONDS)


def cookie_name(request: Request, name: str) -> str:
    """The cookie's name at this site. With https its prefix keeps other hosts from setting it."""
    return f"__Host-{name}" if is_https(request) else name


def cookie_of_request(request: Request, name: str) -> str | None:
    return request.cookies.get(cookie_name(request, name))


def set_cookie(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    response.set_cookie(
        cookie_name(request, name),
        value,
        max_age=seconds,
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_https(request),
    )


def delete_cookie(request: Request, response: Response, name: str) -> None:
    """Deletes the cookie in the browser; a cookie with a prefix needs the same attributes."""
    response.delete_cookie(
        cookie_name(request, name),
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_https(request),
    )


def refuse_other_sites(request: Request) -> None:
    """Refuses a request that a page of another site started. Raises ProblemError."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ProblemError("forbidden", form_texts.STALE_FORM)


def check_form(request: Request, token: str) -> None:
    """Refuses a form that is not from one of our own pages. Raises ProblemError."""
    refuse_other_sites(request)
    if not hmac.compare_digest(token.encode(), form_token(request).encode()):
        raise ProblemError("forbidden", form_texts.STALE_FORM)
