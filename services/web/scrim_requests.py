"""Pages of requests for scrims: the list, the form, one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.errors import LadderError, NotFound
from ladder.field_types import KEY
from ladder.ids import ScrimRequestId, TeamId
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League, Season
from ladder.people import users
from ladder.people.records import Team, Viewer
from ladder.scrims import batches, policies, requests, scrims
from ladder.scrims.policies import Opponent
from ladder.scrims.request_models import Decline, NewScrimRequestBody
from services.http import auth, permissions, scrim_access
from services.http.app_state import Db
from services.http.path_parameters import ScrimRequestKey
from services.http.problems import ProblemError
from services.web import form_texts, formatting, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SHOWN: Final = 20
SUBMISSIONS_SHOWN: Final = 20
"""Newest submissions of each agent in a choice."""
SCOPES: Final = ["scrims:write"]
NEW: Final = {
    "agent": "",
    "opponent": "",
    "games": "10",
    "words": "",
    "privacy.results": "sides",
    "privacy.replays": "sides",
    "privacy.logs": "own",
    "expires_hours": "48",
}
KeyQuery = Annotated[str, Query(max_length=64, pattern=rf"{KEY}|^$")]


@dataclass(frozen=True, slots=True)
class ScrimPlace:
    """A season in which the visitor scrims, the team, and the season's agents."""

    league: League
    season: Season
    team: Team
    own: list[Opponent]
    """The team's agents that can play."""
    others: list[Opponent]

    @property
    def open(self) -> list[Opponent]:
        """Agents of other teams that may be played or asked."""
        return [one for one in self.others if one.answer().is_allowed]


@router.get("/scrims")
def show_scrims(request: Request, conn: Db, who: Visitor, after: KeyQuery = "") -> Response:
    """Shows the requests to and from the visitor's teams, batches and scrims."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/scrims"))
    teams = sorted(who.team_ids)
    before = ScrimRequestId(after) if after else None
    rows = requests.list_requests(conn, to_teams=teams, from_teams=teams, after=before, limit=SHOWN)
    return render(
        request,
        "scrims.html",
        rows=rows,
        mine=set(teams),
        older=rows[-1].id if len(rows) == SHOWN else None,
        batches=batches.list_batches(conn, teams, None, SHOWN),
        scrims=scrims.list_scrims(conn, who, teams, None, SHOWN),
        is_first=before is None,
    )


@router.get("/new-scrim")
def show_new_scrim(
    request: Request,
    conn: Db,
    who: Visitor,
    league: KeyQuery = "",
    team: KeyQuery = "",
    opponent: KeyQuery = "",
) -> Response:
    """Shows the form; it offers only agents whose policies allow it."""
    if who.user_id is None:
        path = "/new-scrim"
        return redirect(formatting.sign_in_address(path, league=league, opponent=opponent))
    place = find_place(conn, who, league, team, opponent)
    form = Form({**form_defaults(place), "opponent": opponent})
    return new_scrim_page(request, conn, who, place, form)


@router.post("/new-scrim")
def ask_for_scrim(request: Request, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Asks as the API does, and shows the request."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/new-scrim"))
    auth.check_scopes(who, SCOPES)
    names = [forms.parse_key(given, name) for name in ("league", "team")]
    place = find_place(conn, who, *names)
    form = Form.of(given, form_defaults(place))
    if place is None:
        return new_scrim_page(request, conn, who, place, form)
    made = ""
    try:
        form.lists["lineup"] = lineup_of(form, place.season.seats)
        values = {
            name: value
            for name, value in form.values.items()
            if not name.startswith(("agent", "opponent"))
        }
        body = NewScrimRequestBody.model_validate(
            {
                **forms.nest_names(values),
                "season": place.season.id,
                "team": place.team.id,
                "lineup": form.lists["lineup"],
            }
        )
        asked = scrim_access.new_request(conn, who, body)
        made = form.run_once(request, conn, who, lambda: requests.ask_for_scrim(conn, asked).id)
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
        if message := form.wrong.pop("lineup", ""):
            form.wrong.setdefault("opponent", message)
    if form.wrong:
        return new_scrim_page(request, conn, who, place, form)
    return redirect(f"/scrim-requests/{made}")


@router.get("/scrim-requests/{request_key}")
def show_request(
    request: Request, request_key: ScrimRequestKey, conn: Db, who: Visitor
) -> Response:
    """Shows a request to both teams."""
    return request_page(request, conn, who, request_key, Form({"words": ""}))


@router.post("/scrim-requests/{request_key}/{act}")
def act_on_request(
    request: Request,
    request_key: ScrimRequestKey,
    act: str,
    conn: Db,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Accepts, declines or withdraws a request, as the API does."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/scrim-requests/{request_key}"))
    auth.check_scopes(who, SCOPES)
    form = Form.of(given, {"words": ""})
    try:
        with conn.transaction():
            act_once(conn, who, request_key, act, form)
    except (ValidationError, LadderError) as error:
        if isinstance(error, NotFound) and error.what == "request":
            raise
        form.add_errors(error)
        return request_page(request, conn, who, request_key, form)
    return redirect(f"/scrim-requests/{request_key}")


def act_once(conn: Connection, who: Viewer, key: str, act: str, form: Form) -> None:
    """One act of the page. Raises NotFound for an unknown one."""
    if act == "withdraw":
        found = permissions.own_scrim_request(conn, who, key)
        requests.withdraw_request(conn, found.id, who.user_id)
        return
    found = scrim_access.asked_request(conn, who, key)
    if act == "accept":
        requests.accept_request(conn, found.id, who.user_id)
    elif act == "decline":
        words = Decline.model_validate(form.values).words
        requests.decline_request(conn, found.id, who.user_id, words)
    else:
        raise NotFound.of("request")


def request_page(request: Request, conn: Connection, who: Viewer, key: str, form: Form) -> Response:
    """The request, with buttons for those who may act."""
    found = permissions.visible_scrim_request(conn, who, key)
    scrim = scrims.get_scrim(conn, found.scrim_id) if found.scrim_id else None
    return render(
        request,
        "scrim_request.html",
        status=409 if form.wrong else 200,
        found=found,
        form=form,
        scrim=scrim,
        sees_scrim=scrim is not None and may_see_scrim(conn, who, scrim.id),
        audience_words=form_texts.AUDIENCES,
        log_words=form_texts.LOG_AUDIENCES,
        may_answer=permissions.may_see_private(who, found.asked_team_id),
        may_withdraw=permissions.may_see_private(who, found.team_id),
    )


def may_see_scrim(conn: Connection, who: Viewer, key: str) -> bool:
    try:
        permissions.visible_scrim(conn, who, key)
    except NotFound:
        return False
    return True


def new_scrim_page(
    request: Request, conn: Connection, who: Viewer, place: ScrimPlace | None, form: Form
) -> Response:
    """The form, with the errors of a refused one."""
    chosen = form.values["opponent"]
    refused = [] if place is None else [one for one in place.others if not one.answer().is_allowed]
    return render(
        request,
        "new_scrim.html",
        status=422 if form.wrong else 200,
        form=form,
        place=place,
        refused=refused,
        choices=scrim_leagues(conn, who),
        own_options=agent_options(place.own) if place else [],
        open_options=agent_options(place.open, says_how=True) if place else [],
        audiences=options(form_texts.AUDIENCES),
        log_audiences=options(form_texts.LOG_AUDIENCES),
        why=next((one for one in refused if one.agent_id == chosen), None),
        today=place and policies.games_today(conn, place.season, place.team.id),
        may="scrims:write" in who.scopes or who.is_admin,
    )


def form_defaults(place: ScrimPlace | None) -> dict[str, str]:
    """The fields of the form, with one for each further opponent: ``opponent.2``."""
    seats = place.season.seats if place else 2
    return {**NEW, **{f"opponent.{number}": "" for number in range(2, seats)}}


def lineup_of(form: Form, seats: int) -> list[str]:
    """The own agent, then the chosen opponents in turn, as in `peck scrims ask`."""
    chosen = [one for name, one in form.values.items() if name.startswith("opponent") and one]
    return [form.values["agent"], *islice(cycle(chosen), seats - 1)]


def options(words: Mapping[str, str]) -> list[tuple[str, str]]:
    """Values and labels of a choice."""
    return [(value, word[:1].upper() + word[1:]) for value, word in words.items()]


def agent_options(rows: list[Opponent], *, says_how: bool = False) -> list[tuple[str, str]]:
    """Agents as a choice, with their teams if they are of others."""
    found = []
    for one in rows:
        word = f"{one.agent_name}, version {one.version}"
        if says_how:
            how = "starts at once" if one.answer().is_automatic else "its team answers"
            word = f"{one.agent_name}: {how} ({one.team_name})"
        found.append((str(one.agent_id), word))
    return found


def version_options(conn: Connection, who: Viewer, teams: Iterable[str]) -> list[tuple[str, str]]:
    """Newest submissions of the agents of these teams as a choice, without rejected ones."""
    return [
        (one.id, f"{agent.name}, version {one.version}")
        for team in teams
        for agent in agents.list_agents(conn, viewer=who, team_id=TeamId(team))
        for one in agents.list_submissions(
            conn, agent.id, limit=SUBMISSIONS_SHOWN, with_rejected=False
        )
    ]


def scrim_leagues(conn: Connection, who: Viewer) -> list[League]:
    """Leagues that the visitor's teams have entered, newest first."""
    found = {each for team in sorted(who.team_ids) for each in agents.leagues_of_team(conn, team)}
    return [leagues.get_league(conn, each) for each in sorted(found, reverse=True)]


def find_place(
    conn: Connection, who: Viewer, league: str, team: str, opponent: str = ""
) -> ScrimPlace | None:
    """The season and team of a form. None: the visitor has none.

    By default it is the newest league in which an agent of the visitor plays, and the opponent.
    """
    choices = scrim_leagues(conn, who)
    if league:
        choices = [permissions.visible_league(conn, who, league)]
    assert who.user_id is not None
    teams = users.teams_of(conn, who.user_id)
    if team:
        teams = [one for one in teams if team in (one.id, one.slug)]
    found = None
    for one in choices:
        season = seasons.current_season(conn, one.id)
        if season is None or season.seats < 2 or not teams:
            continue
        place = _place(conn, one, season, teams)
        plays = not opponent or opponent in {each.agent_id for each in place.others}
        if place.own and plays:
            return place
        found = found or place
    return found


def _place(conn: Connection, league: League, season: Season, teams: list[Team]) -> ScrimPlace:
    """The place of the first of these teams that can play in the season, or of the first."""
    found = None
    for team in teams:
        rows = policies.read_opponents(conn, season, TeamId(team.id))
        own = [one for one in rows if one.facts.is_own and one.answer().is_allowed]
        others = [one for one in rows if not one.facts.is_own]
        made = ScrimPlace(league, season, team, own, others)
        if own:
            return made
        found = found or made
    assert found is not None
    return found
