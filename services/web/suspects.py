"""The page of suspects for hosts: near-equal entries, thrown games, and shared places."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import TeamId
from ladder.leagues import seasons
from ladder.leagues.records import League, Season
from ladder.moderation import shared_places, suspects
from ladder.moderation.request_models import SeparationRequest, SharedPlaceRequest
from ladder.people.records import Viewer
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.http.problems import ProblemError
from services.web import form_texts, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.leagues import SeasonNumber, pick_season, require_season
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/leagues/{league}/suspects"
SCOPES: Final = ("leagues:write",)
MEMBERS_SHOWN: Final = 150
"""Entries of one group; a form has a limited number of fields."""
REFUSED: Final = (ValidationError, ProblemError, LadderError)


@router.get(PATH)
def show_suspects(
    request: Request, league: LeagueKey, conn: Db, who: Visitor, season: SeasonNumber = None
) -> Response:
    """Shows the list to hosts."""
    found = permissions.hosted_league(conn, who, league)
    chosen = require_season(pick_season(conn, found, season))
    return render_page(request, conn, who, found, chosen)


@router.post(f"{PATH}/{{act}}")
def post_act(
    request: Request, league: LeagueKey, act: str, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Lets teams share a place, or separates them, as the API does."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    if act not in ACTS:
        raise ProblemError("not-found")
    season = permissions.visible_season(conn, who, forms.parse_key(given, "season"))
    if season.league_id != found.id:
        raise ProblemError("invalid", form_texts.FORM_OF_OTHER_LEAGUE)
    form = Form.of(given, {"reason": "", "place": ""}, ["teams"])
    try:
        ACTS[act](request, conn, who, season, form)
    except REFUSED as error:
        form.add_errors(error)
        return render_page(request, conn, who, found, season, form)
    return redirect(f"/leagues/{found.slug}/suspects?season={season.number}")


def share(request: Request, conn: Db, who: Viewer, season: Season, form: Form) -> None:
    body = SharedPlaceRequest.model_validate(
        {"teams": form.lists["teams"], "reason": form.values["reason"]}
    )
    teams = [TeamId(team) for team in body.teams]
    form.run_once(
        request,
        conn,
        who,
        lambda: shared_places.share_place(
            conn, season.id, teams, by=who.user_id, reason=body.reason
        ),
    )


def separate(request: Request, conn: Db, who: Viewer, season: Season, form: Form) -> None:
    body = SeparationRequest.model_validate({"reason": form.values["reason"]})
    place = forms.parse_key(form.values, "place")
    form.run_once(
        request,
        conn,
        who,
        lambda: shared_places.separate(conn, season.id, place, by=who.user_id, reason=body.reason),
    )


ACTS: Final = {"share": share, "separate": separate}


def render_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    league: League,
    season: Season,
    refused: Form | None = None,
) -> Response:
    """The page, with the errors of a refused form."""
    form = refused or Form({"reason": "", "place": ""}, {"teams": []})
    return render(
        request,
        "suspects.html",
        status=422 if form.wrong else 200,
        league=league,
        season=season,
        seasons=seasons.list_seasons(conn, league.id),
        found=suspects.list_suspects(conn, season.id),
        places=shared_places.list_shared_places(conn, season.id),
        form=form,
        most=MEMBERS_SHOWN,
        may="leagues:write" in who.scopes or who.is_admin,
    )
