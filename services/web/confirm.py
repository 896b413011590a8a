"""The page on which a signed-in person gives the credential again before a dangerous act."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response

from ladder.database.db import Connection
from ladder.ids import UserId
from ladder.people import confirmation, tokens
from ladder.people.confirmation import ConfirmationWays
from ladder.people.records import Viewer
from ladder.people.sessions import SignInMethod
from services.http import sign_in
from services.http.app_state import AppState, Db, State, app_state_of, transaction
from services.http.attempt_limits import Limits
from services.http.auth import Known
from services.web import form_texts
from services.web.account import redirect, safe_redirect_path
from services.web.page_rendering import PageRoute, render
from services.web.session import FullVisitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/confirm")
def show_confirmation(
    request: Request, conn: Db, viewer: Known, onward: Annotated[str, Query(alias="next")] = "/me"
) -> Response:
    """Shows the credentials with which this person can confirm."""
    return confirmation_page(request, conn, UserId(str(viewer.user_id)), onward)


def confirmation_page(
    request: Request, conn: Connection, user_id: UserId, onward: str, wrong: str | None = None
) -> Response:
    """The page; ``wrong`` says why the credential was refused."""
    ways = confirmation.confirmation_ways(conn, user_id)
    providers = [client.provider for client in app_state_of(request).providers.values()]
    return render(
        request,
        "confirm.html",
        status=422 if wrong else 200,
        ways=ways,
        providers=[provider for provider in providers if provider.issuer in ways.issuers],
        next=safe_redirect_path(onward),
        wrong=wrong,
    )


@router.post("/confirm")
def confirm(
    request: Request,
    app_state: AppState,
    viewer: FullVisitor,
    password: Annotated[str, Form(max_length=1000)] = "",
    token: Annotated[str, Form(max_length=200)] = "",
    onward: Annotated[str, Form(alias="next", max_length=500)] = "/me",
) -> Response:
    """Checks the password, or the token of a person who has nothing else."""
    user_id = UserId(str(viewer.user_id))
    with transaction(app_state) as conn:
        ways = confirmation.confirmation_ways(conn, user_id)
    method = proved_method(request, app_state, viewer, ways, password, token)
    with transaction(app_state) as conn:
        if method is None:
            wrong = form_texts.PRESENT_IS_WRONG if ways.password else form_texts.LOGIN_FAILED
            return confirmation_page(request, conn, user_id, onward, wrong)
        confirmation.confirm_session(conn, user_id, request.state.session_id, method)
    return redirect(safe_redirect_path(onward))


def proved_method(
    request: Request,
    app_state: State,
    viewer: Viewer,
    ways: ConfirmationWays,
    password: str,
    token: str,
) -> SignInMethod | None:
    """The credential that this form proves; None if it proves none."""
    if ways.password:
        user_id = sign_in.user_of_password(request, app_state, viewer.name, password)
        return SignInMethod.PASSWORD if user_id == viewer.user_id else None
    if not ways.token:
        return None
    app_state.attempts.check(request, Limits.SIGN_IN)
    with transaction(app_state) as conn:
        valid = tokens.valid_token(conn, token.strip())
    if valid is None or valid.user_id != viewer.user_id or not viewer.scopes <= set(valid.scopes):
        app_state.attempts.count(request, Limits.SIGN_IN)
        return None
    return SignInMethod.TOKEN
