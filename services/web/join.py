"""Pages to join a league: enter the code, read the terms, join."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import UserId
from ladder.leagues import invitations, staff, terms
from services.http.app_state import Db
from services.web import formatting, session
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Field = Annotated[str, Form(max_length=200)]


@router.get("/join")
def show_form(
    request: Request, conn: Db, who: Visitor, code: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """Shows what the code of a link means, or the form for a code. Anonymous visitors sign in."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/join", code=code))
    if code:
        return _terms_page(request, conn, who.user_id, code)
    return render(request, "join.html", wrong=None, league=None, code="")


@router.post("/join")
def read_code(
    request: Request, conn: Db, who: Visitor, code: Field = "", form_token: Field = ""
) -> Response:
    """Shows the league, role and terms of a code."""
    session.check_form(request, form_token)
    if who.user_id is None:
        return redirect("/sign-in?next=/join")
    return _terms_page(request, conn, who.user_id, code)


def _terms_page(request: Request, conn: Connection, user_id: UserId, code: str) -> Response:
    """Shows the league, role and terms of a code, or the form if the code is wrong."""
    try:
        invitation, league = invitations.read_code(conn, user_id, code)
    except LadderError as error:
        return render(request, "join.html", status=422, wrong=str(error), league=None, code="")
    told = (*terms.settings_of_league(league), staff.staff_names(conn, league.id))
    return render(
        request,
        "join.html",
        wrong=None,
        league=league,
        role=invitation.role,
        code=code.strip(),
        terms=terms.terms_text(*told),
        digest=terms.terms_digest(*told),
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
        return redirect("/sign-in?next=/join")
    try:
        _, league, _ = invitations.join_league(conn, who.user_id, code, digest)
    except LadderError as error:
        return render(request, "join.html", status=422, wrong=str(error), league=None, code="")
    return redirect(f"/leagues/{league.slug}?joined=true")
