"""Who asks, and what their token may do. A route's signature is its policy.

``Anyone`` may be a stranger, ``Known`` has a valid token, and ``Writer``, ``Scrimmer``, ``Host``
and ``Admin`` have one with the scope they name. Whether the thing asked for is theirs to see or
change is decided behind that, by ``ladder.people.permissions``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes

from ladder.people import users
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
    """The person behind the token, or the stranger when there is none. A bad token is refused
    rather than ignored, so that nobody wonders why their own things are not found."""
    if credentials is None:
        if "authorization" in request.headers:
            raise ProblemError(
                "unauthorized", "The Authorization header must be 'Bearer' and a token."
            )
        return STRANGER
    found = users.viewer_of_token(conn, credentials.credentials)
    if found is None:
        raise ProblemError("unauthorized", "This token is mistyped, expired or revoked.")
    return found


Anyone = Annotated[Viewer, Security(viewer_of_request)]


async def require_scopes(scopes: SecurityScopes, who: Anyone) -> Viewer:
    """A viewer whose token has the scopes the route names."""
    return check_scopes(who, scopes.scopes)


def check_scopes(who: Viewer, scopes: Sequence[str]) -> Viewer:
    """The viewer, if its token has these scopes. Raises ProblemError: 401 or 403."""
    if who.user_id is None:
        raise ProblemError("unauthorized", "This needs a token: send 'Authorization: Bearer ...'.")
    for scope in scopes:
        if scope not in who.scopes and not who.is_admin:
            raise ProblemError("forbidden", f"This token lacks the scope {scope!r}.", scope=scope)
        if scope == "admin" and not who.is_admin:
            raise ProblemError("forbidden", "Only an administrator may do this.", scope=scope)
    return who


Known = Annotated[Viewer, Security(require_scopes)]
Writer = Annotated[Viewer, Security(require_scopes, scopes=["agents:write"])]
Scrimmer = Annotated[Viewer, Security(require_scopes, scopes=["scrims:write"])]
Host = Annotated[Viewer, Security(require_scopes, scopes=["leagues:write"])]
Admin = Annotated[Viewer, Security(require_scopes, scopes=["admin"])]
