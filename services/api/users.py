"""Users and their tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.field_types import Line, Name
from ladder.ids import TokenId, UserId
from ladder.people import administration, tokens, users
from ladder.people.records import Team, User, Viewer
from ladder.people.request_models import NewToken
from services.http.app_state import Db
from services.http.auth import Admin, Credentials, FullToken, Known, require_full_token
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import TokenKey, UserKey
from services.http.problems import ProblemError, problem_responses

router = APIRouter(prefix="/v1", tags=["users"], route_class=LazyRoute)


class UserOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["usr_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    name: str = Field(examples=["Ada"])
    is_admin: bool
    created_at: datetime


class AccountOut(UserOut):
    """A person as administrators see them."""

    blocked_at: datetime | None
    blocked_reason: str | None
    seen_at: datetime | None = Field(description="last use of a browser that is signed in")


class NewUser(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Ada"}]})
    name: Name
    is_admin: bool = False


class TokenOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["tok_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    label: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class MeOut(BaseModel):
    """The user of the token, the token and its scopes."""

    user: UserOut
    teams: list[Team]
    scopes: list[str] = Field(examples=[["agents:write", "read"]])
    token: TokenOut


class MintedToken(TokenOut):
    """A new token with its text. The text is shown only once and not stored: a repeated
    Idempotency-Key gets null instead."""

    token: str | None = Field(examples=["peck_..."])


def own_or_any_user(conn: Db, who: Viewer, key: str) -> User:
    """The user with this key: the caller, or any user for an administrator."""
    user_id = UserId(str(who.user_id) if key == "me" else key)
    if user_id != who.user_id and not who.is_admin:
        raise ProblemError("not-found", "No such user, or not you.")
    return users.get_user(conn, user_id)


@router.get("/me", summary="Read your user and token")
def read_me(conn: Db, who: Known, credentials: Credentials) -> MeOut:
    assert who.user_id is not None
    assert credentials is not None
    token = tokens.valid_token(conn, credentials.credentials)
    return MeOut(
        token=TokenOut.model_validate(token),
        user=UserOut.model_validate(users.get_user(conn, who.user_id)),
        teams=users.teams_of(conn, who.user_id),
        scopes=sorted(who.scopes),
    )


@router.post(
    "/users",
    status_code=201,
    summary="Create a user",
    response_model=UserOut,
    responses=problem_responses(403, 409),
)
def create_user(
    body: NewUser, conn: Db, who: Admin, credentials: Credentials, once: Idempotent
) -> Response:
    """Administrators only. The user has no token yet: create one, and create or name a team. For a
    new administrator the token needs all scopes and must not expire."""
    if body.is_admin:
        require_full_token(conn, who, credentials)

    def create() -> UserOut:
        made = administration.create_account(conn, who, body.name, is_admin=body.is_admin)
        return UserOut.model_validate(made)

    return once.run(create)


@router.get("/users", summary="List users", responses=problem_responses(403))
def list_users(
    conn: Db,
    who: Admin,
    span: Paging,
    q: Annotated[Line, Query(description="a part of the name, or an id")] = "",
) -> Page[AccountOut]:
    """Administrators only. In order of creation."""
    after = UserId(span.after) if span.after else None
    rows = administration.search_accounts(conn, q, after, span.limit)
    return span.page(rows, lambda row: row.id, AccountOut.model_validate)


@router.get("/users/{user}", summary="Read a user", responses=problem_responses(404))
def read_user(user: UserKey, conn: Db, who: Known) -> UserOut:
    """Your own user; administrators may read any user."""
    return UserOut.model_validate(own_or_any_user(conn, who, user))


@router.get(
    "/users/{user}/teams", summary="List a person's teams", responses=problem_responses(404)
)
def list_teams_of_user(user: UserKey, conn: Db, who: Known) -> Page[Team]:
    """Your own teams; administrators may read those of any user."""
    owner = own_or_any_user(conn, who, user)
    return Page(items=users.teams_of(conn, owner.id))


@router.post(
    "/users/{user}/tokens",
    status_code=201,
    summary="Mint a token",
    response_model=MintedToken,
    responses=problem_responses(403, 404, 409, 429),
    tags=["tokens"],
)
def mint_token(
    user: UserKey, body: NewToken, conn: Db, who: FullToken, once: Idempotent
) -> Response:
    """The caller's token needs all scopes that a password gives and must not expire, because the
    new token outlives it. Administrators may mint tokens for any user."""
    owner = own_or_any_user(conn, who, user)

    def mint() -> MintedToken:
        token, text = tokens.mint_requested_token(conn, who, owner, body)
        shown = TokenOut.model_validate(token)
        return MintedToken(**shown.model_dump(), token=text)

    return once.run(mint, keep=lambda minted: minted.model_copy(update={"token": None}))


@router.get(
    "/users/{user}/tokens", summary="List tokens", responses=problem_responses(404), tags=["tokens"]
)
def list_tokens(user: UserKey, conn: Db, who: Known) -> Page[TokenOut]:
    """Labels and scopes of the tokens, never their text."""
    owner = own_or_any_user(conn, who, user)
    found = tokens.list_tokens(conn, owner.id)
    return Page(items=[TokenOut.model_validate(token) for token in found])


@router.delete(
    "/users/{user}/tokens/{token}",
    summary="Revoke a token",
    responses=problem_responses(403, 404),
    tags=["tokens"],
)
def revoke_token(user: UserKey, token: TokenKey, conn: Db, who: Known) -> TokenOut:
    """Takes effect at once and for good. Repeating it changes nothing. The caller's token needs all
    scopes of the revoked one."""
    owner = own_or_any_user(conn, who, user)
    found = tokens.get_token(conn, owner.id, TokenId(token))
    wider = sorted(set(found.scopes) - who.scopes)
    if wider and not who.is_admin:
        raise ProblemError(
            "forbidden",
            f"Use a token with the scope {wider[0]!r}: "
            "a token can revoke only tokens of its own scopes.",
        )
    if owner.id != who.user_id:
        administration.revoke_token_of(conn, who, owner.id, found.id)
    return TokenOut.model_validate(tokens.revoke_token(conn, owner.id, found.id))
