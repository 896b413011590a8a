"""Pages to join a league: enter the code, read the terms, join."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import UserId
from ladder.leagues import invitations, terms
from ladder.people.records import Viewer
from services.http import auth
from services.http.app_state import Db
from services.web import formatting, session
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Field = Annotated[str, Form(max_length=200)]
SIGN_IN: Final = "/sign-in?next=/join"


@router.get("/join")
def show_form(
    request: Request, conn: Db, who: Visitor, code: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """Shows what the code of a link means, or the form for a code.

    Anonymous visitors with a code read who invites them and sign up; others sign in.
    """
    if who.user_id is None:
        return _welcome_page(request, conn, code) if code else redirect(SIGN_IN)
    if code:
        return _terms_page(request, conn, who, code)
    return render(request, "join.html", wrong=None, league=None, code="")


@router.post("/join")
def read_code(
    request: Request, conn: Db, who: Visitor, code: Field = "", form_token: Field = ""
) -> Response:
    """Shows the league, role and terms of a code."""
    session.check_form(request, form_token)
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/join", code=code))
    return _terms_page(request, conn, who, code)


def _welcome_page(request: Request, conn: Connection, code: str) -> Response:
    """Says who invites an anonymous visitor to which league, and leads to an account."""
    onward = f"/join?{urlencode({'code': code.strip()})}"
    wrong = league = inviter = None
    try:
        invitation, league = invitations.read_code(conn, UserId(""), code)
        inviter = invitations.inviter_name(conn, invitation.id)
    except LadderError as error:
        wrong = error.message
    status = 422 if wrong else 200
    return render(
        request, "invited.html", status=status, wrong=wrong, league=league, inviter=inviter,
        next=onward,
    )  # fmt: skip


def _terms_page(request: Request, conn: Connection, who: Viewer, code: str) -> Response:
    """Shows the league, role and terms of a code, or the form if the code is wrong."""
    try:
        invitation, league = invitations.read_code(conn, UserId(who.user_id or ""), code)
    except LadderError as error:
        return _refused(request, error, code)
    had = who.roles.get(league.id)
    settings = terms.settings_of_league(league)
    return render(
        request,
        "join.html",
        wrong=None,
        league=league,
        role=invitation.role,
        had=had,
        gives_more=had is None or invitations.is_wider_role(invitation.role, had),
        code=code.strip(),
        terms=terms.terms_text(settings),
        digest=terms.terms_digest(settings),
    )


@router.post("/join/agree")
def join_league(
    request: Request,
    conn: Db,
    who: Visitor,
    code: Field = "",
    digest: Field = "",
    form_token: Field = "",
) -> Response:
    """Makes the visitor a member and redirects to the league."""
    session.check_form(request, form_token)
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/join", code=code))
    auth.check_scopes(who, ["agents:write"])
    try:
        _, league, _ = invitations.join_league(conn, who.user_id, code, digest)
    except LadderError as error:
        return _refused(request, error, code)
    return redirect(f"/leagues/{league.slug}?joined=true")


def _refused(request: Request, error: LadderError, code: str) -> Response:
    """The form with the code that was refused, and why."""
    wrong = error.message.removeprefix("terms: ")
    return render(request, "join.html", status=422, wrong=wrong, league=None, code=code.strip())
