"""The page on which a signed-in person gives the credential again before a dangerous act."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request, Response

from ladder.database.db import Connection
from ladder.ids import UserId
from ladder.people import confirmation, sessions, tokens
from ladder.people.confirmation import ConfirmationWays
from ladder.people.records import Viewer
from ladder.people.sessions import SignInMethod
from services.http import sign_in
from services.http.app_state import AppState, Db, State, app_state_of, transaction
from services.http.attempt_limits import Limits
from services.web import form_texts, session
from services.web.account import redirect, safe_redirect_path
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
TO_SIGN_IN: Final = "/sign-in?next=/me/account"


@router.get("/confirm")
def show_confirmation(
    request: Request, conn: Db, who: Visitor, onward: Annotated[str, Query(alias="next")] = "/me"
) -> Response:
    """Shows the credentials with which this person can confirm."""
    if who.user_id is None:
        return redirect(TO_SIGN_IN)
    return confirmation_page(request, conn, who.user_id, onward)


def confirmation_page(
    request: Request, conn: Connection, user_id: UserId, onward: str, wrong: str | None = None
) -> Response:
    """The page; ``wrong`` says why the credential was refused."""
    ways = confirmation.confirmation_ways(conn, user_id)
    known = [one.provider for one in app_state_of(request).providers.values()]
    return render(
        request,
        "confirm.html",
        status=422 if wrong else 200,
        ways=ways,
        providers=[one for one in known if one.issuer in ways.issuers],
        next=safe_redirect_path(onward),
        wrong=wrong,
    )


@router.post("/confirm")
def confirm(
    request: Request,
    app_state: AppState,
    password: Annotated[str, Form(max_length=1000)] = "",
    token: Annotated[str, Form(max_length=200)] = "",
    form_token: Annotated[str, Form(max_length=200)] = "",
    onward: Annotated[str, Form(alias="next", max_length=500)] = "/me",
) -> Response:
    """Checks the password, or the token of a person who has nothing else."""
    session.check_form(request, form_token)
    with transaction(app_state) as conn:
        who = session.visitor_of_request(request, conn)
        if who.user_id is None:
            return redirect(TO_SIGN_IN)
        sessions.require_full_session(conn, who, request.state.session_id)
        ways = confirmation.confirmation_ways(conn, who.user_id)
    method = given_credential(request, app_state, who, ways, password, token)
    with transaction(app_state) as conn:
        if method is None:
            wrong = form_texts.PRESENT_IS_WRONG if ways.password else form_texts.LOGIN_FAILED
            return confirmation_page(request, conn, who.user_id, onward, wrong)
        confirmation.confirm_session(conn, who.user_id, request.state.session_id, method)
    return redirect(safe_redirect_path(onward))


def given_credential(
    request: Request,
    app_state: State,
    who: Viewer,
    ways: ConfirmationWays,
    password: str,
    token: str,
) -> SignInMethod | None:
    """The credential that this form proves; None if it proves none."""
    if ways.password:
        is_right = sign_in.user_of_password(request, app_state, who.name, password) == who.user_id
        return SignInMethod.PASSWORD if is_right else None
    if not ways.token:
        return None
    app_state.attempts.check(request, Limits.SIGN_IN)
    with transaction(app_state) as conn:
        found = tokens.valid_token(conn, token.strip())
    if found is None or found.user_id != who.user_id or not who.scopes <= set(found.scopes):
        app_state.attempts.count(request, Limits.SIGN_IN)
        return None
    return SignInMethod.TOKEN
