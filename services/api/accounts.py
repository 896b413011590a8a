"""Accounts: signing up, sessions, and `peck login` on a device without a browser."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.errors import Forbidden
from ladder.field_types import Line, Name
from ladder.ids import SessionId, UserId
from ladder.people import administration, device_logins, recovery, sessions, tokens, users
from ladder.people.device_logins import LoginState
from ladder.people.records import Team, User, Viewer
from ladder.people.request_models import SignUp
from services.api.users import UserOut, own_or_any_user
from services.http import sign_in
from services.http.app_state import AppState, Db, transaction
from services.http.attempt_limits import Limits
from services.http.auth import FullAdmin, Known
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page
from services.http.path_parameters import SessionKey, UserKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["accounts"], route_class=LazyRoute)


class NewAccount(BaseModel):
    """A new person, their own team if there is one, and a token, which is shown only once."""

    user: UserOut
    team: Team | None
    token: str = Field(examples=["peck_..."])


class NewDeviceLogin(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"device": "laptop"}]}
    )
    device: Annotated[Name, Field(description="name of the device, for the person who confirms")]


class DeviceLoginOut(BaseModel):
    """What the device shows, and the secret by which it asks for its token."""

    secret: str
    code: str = Field(examples=["BCDF-GHJK"])
    path: str = Field(description="page of this site on which a signed-in person confirms the code")
    poll_seconds: int = Field(description="least time between two requests for the token")
    expires_at: datetime


class DeviceSecret(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"secret": "..."}]})
    secret: Annotated[str, Field(max_length=100)]


class DeviceTokenOut(BaseModel):
    """The state of a device's login, with the token once a person has confirmed it."""

    state: LoginState
    token: str | None = None


class NewRecoveryLink(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "asked in the lecture"}]}
    )
    reason: Annotated[Line, Field(min_length=1, description="for the audit log")]


class RecoveryLinkOut(BaseModel):
    """A link that signs a person in once. A repeated Idempotency-Key gets null for the path."""

    path: str | None = Field(description="page of this site; shown only once")
    expires_at: datetime


class SessionOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["ses_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    device: str = Field(examples=["Firefox on Linux"])
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


@router.post(
    "/sign-up",
    status_code=201,
    summary="Make an account",
    responses=problem_responses(403, 404, 409, 429),
)
def sign_up(body: SignUp, request: Request, app_state: AppState) -> NewAccount:
    """Needs no token. Creates a person with a password, their own team, and a token with all scopes
    but `admin`. With an invitation code there is no own team: joining the league gives one. The
    operator chooses who may sign up: everybody, people with a code, or nobody."""
    user, team = sign_in.sign_up(request, app_state, body)
    with transaction(app_state) as conn:
        _, text = tokens.mint_token(conn, user.id, "peck sign-up", device_logins.SCOPES)
    return NewAccount(
        user=UserOut.model_validate(user),
        team=team,
        token=text,
    )


@router.post(
    "/device-logins",
    status_code=201,
    summary="Start the login of a device",
    responses=problem_responses(429),
)
def start_device_login(
    body: NewDeviceLogin, request: Request, conn: Db, app_state: AppState
) -> DeviceLoginOut:
    """Needs no token. Show the code and the address to a person, then ask for the token."""
    app_state.attempts.count(request, Limits.DEVICE)
    login, secret = device_logins.start_login(conn, body.device)
    return DeviceLoginOut(
        secret=secret,
        code=login.code,
        path=f"/device?code={login.code}",
        poll_seconds=device_logins.POLL_SECONDS,
        expires_at=login.expires_at,
    )


@router.post(
    "/device-logins/token",
    summary="Ask for a device's token",
    responses=problem_responses(429),
)
def redeem_device_login(body: DeviceSecret, conn: Db) -> DeviceTokenOut:
    """Needs no token. The state is `waiting` until a person answers. The token is given once."""
    answer = device_logins.redeem_login(conn, body.secret)
    return DeviceTokenOut(state=answer.state, token=answer.text)


@router.delete(
    "/users/{user}/password",
    status_code=204,
    summary="Remove a lost password",
    responses=problem_responses(403, 404),
)
def remove_password(user: UserKey, conn: Db, who: FullAdmin) -> Response:
    """Administrators only. Ends the person's sessions; tokens stay. Then create a recovery link for
    the person. The token needs all scopes and must not expire. It acts on no other
    administrator."""
    found = users.get_user(conn, UserId(user))
    refuse_other_administrator(who, found)
    administration.remove_password_of(conn, who, found.id)
    return Response(status_code=204)


def refuse_other_administrator(who: Viewer, subject: User) -> None:
    """Raises Forbidden: by a token, nobody takes over another administrator's account."""
    if subject.is_admin and subject.id != who.user_id:
        raise Forbidden(
            f"Use the page /admin/users/{subject.id}: a token does not do this to an administrator."
        )


@router.post(
    "/users/{user}/recovery-link",
    status_code=201,
    summary="Create a recovery link",
    response_model=RecoveryLinkOut,
    responses=problem_responses(403, 404, 409),
)
def create_recovery_link(
    user: UserKey, body: NewRecoveryLink, conn: Db, who: FullAdmin, once: Idempotent
) -> Response:
    """Administrators only. The link signs the person in once, in the next 24 hours. The audit log
    keeps who made it and why. The token needs all scopes and must not expire. It makes no link for
    another administrator."""
    refuse_other_administrator(who, users.get_user(conn, UserId(user)))

    def create() -> RecoveryLinkOut:
        _, secret, expires_at = recovery.create_administrator_link(
            conn, UserId(user), by=who.user_id, reason=body.reason
        )
        return RecoveryLinkOut(path=f"/recover/{secret}", expires_at=expires_at)

    return once.run(create, keep=lambda made: made.model_copy(update={"path": None}))


@router.get(
    "/users/{user}/sessions", summary="List a person's sessions", responses=problem_responses(404)
)
def list_sessions(user: UserKey, conn: Db, who: Known) -> Page[SessionOut]:
    """The browsers in which you are signed in, the last used first. Administrators may read those
    of any user."""
    owner = own_or_any_user(conn, who, user)
    found = sessions.list_sessions(conn, owner.id)
    return Page(items=[SessionOut.model_validate(each) for each in found])


@router.delete(
    "/users/{user}/sessions/{session}",
    status_code=204,
    summary="End a session",
    responses=problem_responses(403, 404),
)
def revoke_session(user: UserKey, session: SessionKey, conn: Db, who: Known) -> Response:
    """Signs that browser out at once. Repeating it changes nothing. For an own session the token
    needs all scopes that a password gives. Administrators may end sessions of any user."""
    owner = own_or_any_user(conn, who, user)
    if owner.id == who.user_id:
        users.require_all_scopes(conn, who)
        sessions.revoke_session(conn, owner.id, SessionId(session))
    else:
        administration.end_session(conn, who, owner.id, SessionId(session))
    return Response(status_code=204)


@router.delete(
    "/users/{user}/sessions",
    status_code=204,
    summary="End all sessions of a person",
    responses=problem_responses(403, 404),
)
def revoke_all_sessions(user: UserKey, conn: Db, who: Known) -> Response:
    """Signs all browsers of a person out: your own, or for administrators anybody's."""
    owner = own_or_any_user(conn, who, user)
    if owner.id == who.user_id:
        users.require_all_scopes(conn, who)
        sessions.revoke_other_sessions(conn, owner.id, None)
    else:
        administration.end_all_sessions(conn, who, owner.id)
    return Response(status_code=204)
