"""Authentication: finds the person behind a token and checks its scopes.

The type in a route's signature says who may call it, by a token of the API or by a session on
pages. ``Anyone`` needs no token and ``Known`` a valid one. ``Writer``, ``Scrimmer``, ``Host`` and
``Admin`` need a token with the scope they name. ``FullToken``, ``FullWriter`` and ``FullAdmin``
need all scopes and a token that never expires. ``ladder.people.permissions`` decides later what the
person may see or change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes

from ladder.errors import Forbidden
from ladder.people import sessions, tokens, users
from ladder.people.records import STRANGER, Viewer
from services.http.app_state import Db
from services.http.problems import ProblemError

bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    bearerFormat="peck_...",
    description="A token minted by POST /v1/users/{user}/tokens.",
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]


def viewer_of_request(request: Request, conn: Db, credentials: Credentials) -> Viewer:
    """The person who sent the request: by the session on pages, by the token elsewhere.

    The class of the route says which (``PageRoute.viewer_of_session``).
    """
    if not hasattr(request.state, "viewer"):  # FastAPI asks once for each set of scopes
        viewer_of_session = getattr(request.scope["route"], "viewer_of_session", None)
        request.state.viewer = (
            viewer_of_session(request, conn)
            if viewer_of_session
            else viewer_of_token(request, conn, credentials)
        )
    viewer: Viewer = request.state.viewer
    return viewer


def viewer_of_token(request: Request, conn: Db, credentials: Credentials) -> Viewer:
    """The person behind the token, or an anonymous viewer without a token. Refuses a bad token, so
    that its owner learns why private things are missing."""
    if credentials is None:
        if "authorization" in request.headers:
            raise ProblemError(
                "unauthorized", "Send the Authorization header as 'Bearer', a space and a token."
            )
        return STRANGER
    viewer = users.viewer_of_token(conn, credentials.credentials)
    if viewer is None:
        sessions.refuse_blocked_token(conn, credentials.credentials)
        raise ProblemError("unauthorized", "Check the token: it is mistyped, expired or revoked.")
    return viewer


Anyone = Annotated[Viewer, Security(viewer_of_request)]


async def require_scopes(scopes: SecurityScopes, viewer: Anyone) -> Viewer:
    """The viewer, if the token has the scopes that the route names."""
    return check_scopes(viewer, scopes.scopes)


def check_scopes(viewer: Viewer, scopes: Sequence[str]) -> Viewer:
    """The viewer, if its token has these scopes. Raises ProblemError: 401 or 403."""
    if viewer.user_id is None:
        raise ProblemError("unauthorized", "Send a token as 'Authorization: Bearer ...'.")
    for scope in scopes:
        if scope not in viewer.scopes and not viewer.is_admin:
            raise ProblemError(
                "forbidden",
                f"Use a token with the scope {scope!r}: this token lacks it.",
                scope=scope,
            )
        if scope == "admin" and not viewer.is_admin:
            raise ProblemError(
                "forbidden", "Ask an administrator: only administrators may do this.", scope=scope
            )
    return viewer


Known = Annotated[Viewer, Security(require_scopes)]


def is_page(request: Request) -> bool:
    """Whether the request is for a page, which knows the viewer by the session."""
    return hasattr(request.scope["route"], "viewer_of_session")


def require_full_token(
    request: Request, conn: Db, viewer: Known, credentials: Credentials
) -> Viewer:
    """The viewer, if the token, or the token that began the session, has all scopes that a password
    gives and never expires. So a limited token cannot win more, or last longer. Raises
    Forbidden."""
    if is_page(request):
        request.scope["route"].require_full_session(conn, viewer, request.state.session_id)
        return viewer
    users.require_all_scopes(conn, viewer)
    if credentials is not None and tokens.expiry_of(conn, credentials.credentials) is not None:
        raise Forbidden("Use a token that never expires, or the pages of this site.")
    return viewer


Writer = Annotated[Viewer, Security(require_scopes, scopes=["agents:write"])]
Scrimmer = Annotated[Viewer, Security(require_scopes, scopes=["scrims:write"])]
Host = Annotated[Viewer, Security(require_scopes, scopes=["leagues:write"])]
Admin = Annotated[Viewer, Security(require_scopes, scopes=["admin"])]
FullToken = Annotated[Viewer, Security(require_full_token)]
FullWriter = Annotated[Viewer, Security(require_full_token, scopes=["agents:write"])]
FullAdmin = Annotated[Viewer, Security(require_full_token, scopes=["admin"])]
