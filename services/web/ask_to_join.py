"""The page on which a person asks to join a league, and sees the answer."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.field_types import Line
from ladder.ids import JoinRequestId
from ladder.leagues import join_requests, terms
from ladder.leagues.join_requests import RequestState
from ladder.leagues.records import League
from ladder.people.records import Viewer
from services.http import auth
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.web import formatting, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/leagues/{league}/request"
FIELDS: Final = {"words": "", "terms": ""}


class RequestForm(BaseModel):
    model_config = ConfigDict(extra="forbid")
    words: Line
    terms: str


@router.get(PATH)
def show_request(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Shows the terms and the form, or the visitor's request. An anonymous visitor signs in."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/leagues/{league}/request"))
    found = join_requests.league_to_ask(conn, who, league)
    return request_page(request, conn, who, found, Form(dict(FIELDS)))


@router.post(PATH)
def ask_to_join(
    request: Request, league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Asks to join, as the API does."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/leagues/{league}/request"))
    user_id = who.user_id
    auth.check_scopes(who, ["agents:write"])
    found = join_requests.league_to_ask(conn, who, league)
    form = Form.of(given, FIELDS)
    try:
        asked = RequestForm.model_validate(form.values)
        with conn.transaction():
            join_requests.request_to_join(conn, found.id, user_id, asked.terms, asked.words)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return request_page(request, conn, who, found, form)
    return redirect(f"/leagues/{found.slug}/request")


@router.post(f"{PATH}/withdraw")
def withdraw(league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Withdraws the visitor's request."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/leagues/{league}/request"))
    auth.check_scopes(who, ["agents:write"])
    found = join_requests.league_to_ask(conn, who, league)
    request_id = JoinRequestId(forms.parse_key(given, "request"))
    join_requests.withdraw_request(conn, who.user_id, request_id)
    return redirect(f"/leagues/{found.slug}/request")


def request_page(
    request: Request, conn: Connection, who: Viewer, league: League, form: Form
) -> Response:
    """The page, with the errors of a refused form."""
    assert who.user_id is not None
    settings = terms.settings_of_league(league)
    newest = join_requests.requests_of_person(conn, who.user_id, league.id, 1)
    return render(
        request,
        "ask_to_join.html",
        status=422 if form.wrong else 200,
        league=league,
        role=who.roles.get(league.id),
        newest=newest[0] if newest else None,
        waits=bool(newest) and newest[0].state is RequestState.WAITING,
        lines=terms.terms_text(settings).splitlines(),
        digest=terms.terms_digest(settings),
        form=form,
    )
