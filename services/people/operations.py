"""What people do with their account, and administrators with all: sign up, tokens, sessions,
blocks, settings of the instance, export and deletion."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request, Response

from ladder.database.db import Connection
from ladder.entries import blocked_accounts
from ladder.entries.blocked_accounts import AccountBlock
from ladder.errors import Forbidden, Invalid
from ladder.field_types import Line
from ladder.ids import SessionId, TokenId, UserId
from ladder.people import administration, audit_log, quotas, recovery, sessions, tokens, users
from ladder.people.administration import AccountRow, NewUser
from ladder.people.audit_log import AuditEntry
from ladder.people.quotas import QUOTA, SIGN_UP
from ladder.people.records import Team, User
from ladder.people.request_models import NewToken, SignUp
from ladder.people.sessions import Session
from ladder.people.tokens import MintedToken, Token
from ladder.privacy import erasing
from ladder.privacy.erasing import AccountFate
from services.http import privacy, sign_in
from services.http.app_state import AppState, Db, State, transaction
from services.http.attempt_limits import Limits
from services.http.auth import (
    Admin,
    Credentials,
    FullAdmin,
    FullToken,
    Known,
    is_page,
    require_full_token,
)
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import SessionKey, TokenKey, UserKey
from services.http.problems import ProblemError, problem_responses
from services.people.pages import SettingsForm, person_page, settings_page
from services.people.records import (
    DeletedAccount,
    Deletion,
    DeviceSecret,
    DeviceToken,
    InstanceSettings,
    InstanceSettingsChange,
    Me,
    NewAccount,
    NewDeviceLogin,
    NewRecoveryLink,
    RecoveryLink,
    StartedDeviceLogin,
)


def own_or_any_user(user: UserKey, conn: Db, viewer: Known) -> User:
    user_id = UserId(str(viewer.user_id) if user == "me" else user)
    if user_id != viewer.user_id and not viewer.is_admin:
        raise ProblemError("not-found", "No such user, or not you.")
    return users.get_user(conn, user_id)


def no_other_administrator(request: Request, user: UserKey, conn: Db, viewer: FullAdmin) -> User:
    """By a token, nobody takes over another administrator's account."""
    person = users.get_user(conn, UserId(user))
    if person.is_admin and person.id != viewer.user_id and not is_page(request):
        raise Forbidden(
            f"Use the page /admin/users/{person.id}: a token does not do this to an administrator."
        )
    return person


OwnOrAnyUser = Annotated[User, Depends(own_or_any_user)]
"""The viewer, or any person for an administrator."""
NoOtherAdministrator = Annotated[User, Depends(no_other_administrator)]
"""Any person but another administrator, for an administrator with a full token. On pages, where
administrators confirm who they are, any person."""


operations = Operations("users")


def by_administrators(act: str, then: str = "/admin/users/{account.id}", prefix: str = "") -> Form:
    """A form on an administrator's page of a person."""
    address = f"/admin/users/{{user}}/{act}"
    return Form(
        page=person_page, address=address, then=then, prefix=prefix, repeats=True, confirms=True
    )


@operations(
    "POST",
    "/sign-up",
    "Make an account",
    status=201,
    tag="accounts",
    takes_key=False,
    problems=(403, 404, 409, 429),
)
def sign_up(request: Request, app_state: AppState, person: SignUp) -> NewAccount:
    """Needs no token. Creates a person with a password, their own team, and a token with all scopes
    but `admin`. With an invitation code there is no own team: joining the league gives one. The
    operator chooses who may sign up: everybody, people with a code, or nobody."""
    user, team = sign_in.sign_up(request, app_state, person)
    with transaction(app_state) as conn:
        _, text = tokens.mint_token(conn, user.id, "peck sign-up", tokens.DEVICE_SCOPES)
    return NewAccount(user, team, text)


@operations(
    "POST",
    "/device-logins",
    "Start the login of a device",
    status=201,
    tag="accounts",
    takes_key=False,
    problems=(429,),
)
def start_device_login(
    request: Request, conn: Db, app_state: AppState, login: NewDeviceLogin
) -> StartedDeviceLogin:
    """Needs no token. Show the code and the address to a person, then ask for the token."""
    app_state.attempts.count(request, Limits.DEVICE)
    started, secret = tokens.start_login(conn, login.device)
    path = f"/device?code={started.code}"
    return StartedDeviceLogin(secret, started.code, path, tokens.POLL_SECONDS, started.expires_at)


@operations(
    "POST",
    "/device-logins/token",
    "Ask for a device's token",
    tag="accounts",
    problems=(429,),
)
def redeem_device_login(conn: Db, secret: DeviceSecret) -> DeviceToken:
    """Needs no token. The state is `waiting` until a person answers. The token is given once."""
    answer = tokens.redeem_login(conn, secret.secret)
    return DeviceToken(answer.state, answer.text)


@operations("GET", "/me", "Read your user and token", problems=())
def read_me(conn: Db, viewer: Known, credentials: Credentials) -> Me:
    assert viewer.user_id is not None
    assert credentials is not None
    token = tokens.valid_token(conn, credentials.credentials)
    assert token is not None
    user, teams = users.get_user(conn, viewer.user_id), users.teams_of(conn, viewer.user_id)
    return Me(user, teams, sorted(viewer.scopes), token)


@operations("POST", "/users", "Create a user", status=201, problems=(403, 409))
def create_user(
    request: Request, conn: Db, viewer: Admin, credentials: Credentials, user: NewUser
) -> User:
    """Administrators only. The user has no token yet: create one, and create or name a team. For a
    new administrator the token needs all scopes and must not expire."""
    if user.is_admin:
        require_full_token(request, conn, viewer, credentials)
    return administration.create_account(conn, viewer, user.name, is_admin=user.is_admin)


@operations("GET", "/users", "List users", problems=(403,))
def list_users(
    conn: Db,
    viewer: Admin,
    span: Paging,
    q: Annotated[Line, Query(description="a part of the name, or an id")] = "",
) -> Page[AccountRow]:
    """Administrators only. In order of creation."""
    after = UserId(span.after) if span.after else None
    rows = administration.search_accounts(conn, q, after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations("GET", "/users/{user}", "Read a user", problems=(404,))
def read_user(viewer: Known, user: OwnOrAnyUser) -> User:
    """Your own user; administrators may read any user."""
    return user


@operations("GET", "/users/{user}/teams", "List a person's teams", problems=(404,))
def list_teams_of_user(conn: Db, viewer: Known, user: OwnOrAnyUser) -> Page[Team]:
    """Your own teams; administrators may read those of any user."""
    return Page(items=users.teams_of(conn, user.id))


@operations(
    "POST",
    "/users/{user}/tokens",
    "Mint a token",
    status=201,
    tag="tokens",
    problems=(403, 404, 409, 429),
)
def mint_token(conn: Db, viewer: FullToken, user: OwnOrAnyUser, token: NewToken) -> MintedToken:
    """The caller's token needs all scopes that a password gives and must not expire, because the
    new token outlives it. Administrators may mint tokens for any user."""
    return tokens.mint_requested_token(conn, viewer, user, token)


@operations("GET", "/users/{user}/tokens", "List tokens", tag="tokens", problems=(404,))
def list_tokens(conn: Db, viewer: Known, user: OwnOrAnyUser) -> Page[Token]:
    """Labels and scopes of the tokens, never their text."""
    return Page(items=tokens.list_tokens(conn, user.id))


@operations(
    "DELETE",
    "/users/{user}/tokens/{token}",
    "Revoke a token",
    tag="tokens",
    problems=(403, 404),
    forms=by_administrators("revoke-token"),
)
def revoke_token(conn: Db, viewer: Known, user: OwnOrAnyUser, token: TokenKey) -> Token:
    """Takes effect at once and for good. Repeating it changes nothing. The caller's token needs all
    scopes of the revoked one."""
    revoked = tokens.get_token(conn, user.id, TokenId(token))
    wider = sorted(set(revoked.scopes) - viewer.scopes)
    if wider and not viewer.is_admin:
        raise ProblemError(
            "forbidden",
            f"Use a token with the scope {wider[0]!r}: "
            "a token can revoke only tokens of its own scopes.",
        )
    if user.id != viewer.user_id:
        administration.revoke_token_of(conn, viewer, user.id, revoked.id)
    return tokens.revoke_token(conn, user.id, revoked.id)


@operations(
    "GET", "/users/{user}/sessions", "List a person's sessions", tag="accounts", problems=(404,)
)
def list_sessions(conn: Db, viewer: Known, user: OwnOrAnyUser) -> Page[Session]:
    """The browsers in which you are signed in, the last used first. Administrators may read those
    of any user."""
    return Page(items=sessions.list_sessions(conn, user.id))


@operations(
    "DELETE",
    "/users/{user}/sessions/{session}",
    "End a session",
    tag="accounts",
    problems=(403, 404),
    forms=by_administrators("end-session"),
)
def revoke_session(conn: Db, viewer: Known, user: OwnOrAnyUser, session: SessionKey) -> None:
    """Signs that browser out at once. Repeating it changes nothing. For an own session the token
    needs all scopes that a password gives. Administrators may end sessions of any user."""
    if user.id == viewer.user_id:
        users.require_all_scopes(conn, viewer)
        sessions.revoke_session(conn, user.id, SessionId(session))
    else:
        administration.end_session(conn, viewer, user.id, SessionId(session))


@operations(
    "DELETE",
    "/users/{user}/sessions",
    "End all sessions of a person",
    tag="accounts",
    problems=(403, 404),
    forms=by_administrators("end-sessions"),
)
def revoke_all_sessions(conn: Db, viewer: Known, user: OwnOrAnyUser) -> None:
    """Signs all browsers of a person out: your own, or for administrators anybody's."""
    if user.id == viewer.user_id:
        users.require_all_scopes(conn, viewer)
        sessions.revoke_other_sessions(conn, user.id, None)
    else:
        administration.end_all_sessions(conn, viewer, user.id)


@operations(
    "DELETE",
    "/users/{user}/password",
    "Remove a lost password",
    tag="accounts",
    problems=(403, 404),
)
def remove_password(conn: Db, viewer: FullAdmin, user: NoOtherAdministrator) -> None:
    """Administrators only. Ends the person's sessions; tokens stay. Then create a recovery link for
    the person. The token needs all scopes and must not expire. It acts on no other
    administrator."""
    administration.remove_password_of(conn, viewer, user.id)


@operations(
    "POST",
    "/users/{user}/recovery-link",
    "Create a recovery link",
    status=201,
    tag="accounts",
    forms=by_administrators("recovery-link", then="", prefix="link."),
)
def create_recovery_link(
    conn: Db, viewer: FullAdmin, user: NoOtherAdministrator, link: NewRecoveryLink
) -> RecoveryLink:
    """Administrators only. The link signs the person in once, in the next 24 hours. The audit log
    keeps who made it and why. The token needs all scopes and must not expire. It makes no link for
    another administrator."""
    _, secret, expires_at = recovery.create_administrator_link(
        conn, user.id, by=viewer.user_id, reason=link.reason
    )
    return RecoveryLink(f"/recover/{secret}", expires_at)


@operations(
    "PUT",
    "/users/{user}/block",
    "Block an account",
    tag="administration",
    forms=by_administrators("block"),
)
def block_account(conn: Db, viewer: Admin, user: UserKey, block: AccountBlock) -> None:
    """Administrators only. Ends the person's sessions and tokens, and pauses the agents of teams
    whose people are all blocked. The person cannot sign in, and reads the reason."""
    blocked_accounts.block_account(conn, viewer, UserId(user), block.reason)


@operations(
    "DELETE",
    "/users/{user}/block",
    "Unblock an account",
    tag="administration",
    problems=(403, 404),
    forms=by_administrators("unblock"),
)
def unblock_account(conn: Db, viewer: Admin, user: UserKey) -> None:
    """Administrators only. Paused agents play again. The person signs in anew; old tokens stay
    revoked. Repeating it changes nothing."""
    blocked_accounts.unblock_account(conn, viewer, UserId(user), "unblocked")


@operations(
    "GET",
    "/admin/settings",
    "Read the instance's settings",
    tag="administration",
    problems=(403,),
)
def read_instance_settings(conn: Db, viewer: Admin, app_state: AppState) -> InstanceSettings:
    """Administrators only: who may sign up, and the quotas."""
    return settings_of_instance(conn, app_state)


@operations(
    "PATCH",
    "/admin/settings",
    "Change the instance's settings",
    tag="administration",
    problems=(403,),
    forms=Form(
        page=settings_page,
        address="/admin/settings",
        asks=SettingsForm,
        repeats=True,
        confirms=True,
        then="/admin/settings",
    ),
)
def change_instance_settings(
    conn: Db, viewer: Admin, app_state: AppState, change: InstanceSettingsChange
) -> InstanceSettings:
    """Administrators only. Changes what the request names, at once and for all processes; null goes
    back to the default. Each change has an audit entry."""
    unknown = sorted(change.quotas.keys() - quotas.default_quotas().keys())
    if unknown:
        names = ", ".join(quotas.default_quotas())
        raise Invalid("quotas", f"choose from {names}; {unknown[0]!r} is not one")
    if "sign_up" in change.model_fields_set:
        quotas.change_setting(conn, viewer, SIGN_UP, change.sign_up)
    for name, allowed in change.quotas.items():
        quotas.change_setting(conn, viewer, f"{QUOTA}{name}", allowed)
    return settings_of_instance(conn, app_state)


def settings_of_instance(conn: Connection, app_state: State) -> InstanceSettings:
    chosen = quotas.read_settings(conn)
    allowed = {
        name: chosen.get(f"{QUOTA}{name}", default)
        for name, default in quotas.default_quotas().items()
    }
    sign_up_mode = chosen.get(SIGN_UP) or app_state.settings.sign_up
    return InstanceSettings(sign_up_mode, allowed, sorted(chosen))


@operations(
    "GET",
    "/admin/audits",
    "List audited acts of the instance",
    tag="administration",
    problems=(403,),
)
def list_system_audits(conn: Db, viewer: Admin, span: Paging) -> Page[AuditEntry]:
    """Administrators only: acts on accounts, on settings and in all leagues. Newest first."""
    rows = administration.list_all_audits(conn, after=span.after, limit=span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations.router.get(
    "/users/me/export",
    summary="Export everything that is yours",
    tags=["privacy"],
    response_class=Response,
    responses={
        200: {
            "description": "A zip file",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        },
        **problem_responses(403, 429),
    },
)
def export_account(app_state: AppState, viewer: FullToken) -> Response:
    """A zip file: a JSON file for each kind of row, your bundles and logs, and replays that you may
    see. It is read while it is sent. The token needs all scopes that a password gives, and must not
    expire."""
    return privacy.export_response(app_state, viewer)


@operations(
    "GET",
    "/users/me/deletion",
    "Read what deleting your account would end",
    tag="privacy",
    problems=(),
)
def preview_deletion(conn: Db, viewer: Known) -> AccountFate:
    """Deletes nothing."""
    assert viewer.user_id is not None
    return erasing.preview_erasure(conn, viewer.user_id)


@operations(
    "POST",
    "/users/me/deletion",
    "Delete your account",
    status=202,
    tag="privacy",
    problems=(403, 409, 429),
    confirms="Nobody can restore the account, its logs and its bundles.",
)
def delete_account(
    request: Request, app_state: AppState, viewer: FullToken, deletion: Deletion
) -> DeletedAccount:
    """Deletes your account for good. Results stay under a pseudonym. Reasons, logs and bundles go
    within a minute. The token needs all scopes that a password gives, and must not expire. People
    who sign in with a passkey or an identity use the page /me/data instead."""
    privacy.check_password(request, app_state, viewer, deletion.password)
    return DeletedAccount(privacy.delete_account(app_state, viewer, deletion.name))


@operations(
    "DELETE",
    "/users/{user}",
    "Delete a person's account",
    status=202,
    tag="privacy",
    confirms="Nobody can restore the account, its logs and its bundles.",
)
def delete_user(conn: Db, viewer: FullAdmin, user: UserKey) -> DeletedAccount:
    """Administrators only, for a person who asks for it elsewhere. Works like the deletion of one's
    own account. The token needs all scopes and must not expire."""
    pseudonym = erasing.erase_person(conn, UserId(user))
    audit_log.record_audit(
        conn, None, by=viewer.user_id, act="delete-account", subject=user, reason="by the API"
    )
    return DeletedAccount(pseudonym)
