"""Pages of scrims: one scrim, the list, requests, batches, and the policy of an agent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.entries.records import Agent
from ladder.errors import LadderError, NotFound
from ladder.field_types import KEY
from ladder.ids import MatchId, ScrimRequestId, TeamId
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League, Season
from ladder.matches import history
from ladder.matches.match_titles import lineup_title
from ladder.people import users
from ladder.people.records import Team, Viewer
from ladder.scrims import batches, forks, policies, requests, scrims
from ladder.scrims.batches import Batch, BatchCell, BatchKind, BatchPlan
from ladder.scrims.policies import Opponent, ScrimPolicy
from ladder.scrims.request_models import Decline, NewBatchBody, NewScrimRequestBody, ScrimPolicyBody
from ladder.scrims.scrims import Scrim
from services.http import permissions, scrim_access
from services.http.app_state import Db
from services.http.auth import Known, Scrimmer, Writer
from services.http.batch_export import results_csv
from services.http.path_parameters import AgentKey, BatchKey, ScrimKey, ScrimRequestKey
from services.http.problems import ProblemError
from services.web import form_texts, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import HEADERS, PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MATCHES_SHOWN = 50


@router.get("/scrims/{scrim}")
def show_scrim(
    request: Request,
    scrim: ScrimKey,
    conn: Db,
    who: Visitor,
    before: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows progress, win rates with their intervals, and the games."""
    found = permissions.visible_scrim(conn, who, scrim)
    return render_scrim(request, "scrim.html", conn, who, found, before)


@router.post("/scrims/{scrim}/cancel")
def cancel_scrim(scrim: ScrimKey, conn: Db, who: Scrimmer, given: forms.Sent) -> Response:
    """Stops the unfinished games, as the API does."""
    found = permissions.own_scrim(conn, who, scrim)
    with conn.transaction():
        scrims.cancel_scrim(conn, found.id)
    return redirect(f"/scrims/{found.id}")


@router.get("/scrims/{scrim}/progress")
def show_progress(request: Request, scrim: ScrimKey, conn: Db, who: Visitor) -> Response:
    """The progress alone, for live updates. Asks the page to reload once the scrim is over."""
    found = permissions.visible_scrim(conn, who, scrim)
    if found.state != "running":
        return Response(status_code=205)
    return render_scrim(request, "parts/scrim.html", conn, who, found, None)


def render_scrim(
    request: Request,
    template: str,
    conn: Connection,
    who: Viewer,
    found: Scrim,
    before: str | None,
) -> Response:
    games = history.list_matches(
        conn,
        scrim_id=found.id,
        before=MatchId(before) if before else None,
        limit=MATCHES_SHOWN,
    )
    rows = [
        (score, agents.get_submission(conn, score.submission_id).version)
        for score in scrims.scrim_summary(conn, found.id)
    ]
    fork = forks.read_fork(conn, found.id)
    return render(
        request,
        template,
        scrim=found,
        fork=fork,
        origin=lineup_title(history.get_match(conn, fork.match_id)) if fork else "",
        outcomes=forks.seat_outcomes(conn, found, fork) if fork else [],
        is_asker=permissions.may_see_private(who, found.team_id),
        audience_words=form_texts.AUDIENCES,
        log_words=form_texts.LOG_AUDIENCES,
        league=leagues.get_league(conn, found.league_id),
        summary=rows,
        matches=games,
        older=games[-1].id if len(games) == MATCHES_SHOWN else None,
    )


SHOWN: Final = 20
SUBMISSIONS_SHOWN: Final = 20
"""Newest submissions of each agent in a choice."""
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
def show_scrims(request: Request, conn: Db, who: Known, after: KeyQuery = "") -> Response:
    """Shows the requests to and from the visitor's teams, batches and scrims."""
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
    who: Known,
    league: KeyQuery = "",
    team: KeyQuery = "",
    opponent: KeyQuery = "",
) -> Response:
    """Shows the form; it offers only agents whose policies allow it."""
    place = find_place(conn, who, league, team, opponent)
    form = Form({**form_defaults(place), "opponent": opponent})
    return new_scrim_page(request, conn, who, place, form)


@router.post("/new-scrim")
def ask_for_scrim(request: Request, conn: Db, who: Scrimmer, given: forms.Sent) -> Response:
    """Asks as the API does, and shows the request."""
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
    who: Scrimmer,
    given: forms.Sent,
) -> Response:
    """Accepts, declines or withdraws a request, as the API does."""
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
    """The own agent, then the chosen opponents in turn, as in `peck scrim`."""
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


NEW_BATCH: Final = {
    "kind": BatchKind.GAUNTLET,
    "agent": "",
    "games": "10",
    "privacy.results": "asker",
    "privacy.replays": "asker",
}


@router.get("/new-scrim-batch")
def show_new_batch(
    request: Request,
    conn: Db,
    who: Known,
    league: KeyQuery = "",
    team: KeyQuery = "",
    kind: KeyQuery = "",
) -> Response:
    """Shows the form of a gauntlet, or of own versions against each other.

    A gauntlet offers only agents that accept automatically.
    """
    place = find_place(conn, who, league, team)
    form = Form({**NEW_BATCH, "kind": kind_of(kind)}, {"agents": []})
    return new_batch_page(request, conn, who, place, form, None)


@router.post("/new-scrim-batch")
def start_batch(request: Request, conn: Db, who: Scrimmer, given: forms.Sent) -> Response:
    """Shows what the batch takes, then starts it, as the API does."""
    names = [forms.parse_key(given, name) for name in ("league", "team")]
    place = find_place(conn, who, *names)
    form = Form.of(given, NEW_BATCH, ["agents"])
    form.values["kind"] = kind_of(form.values["kind"])
    first = [form.values["agent"]] if form.values["kind"] == BatchKind.GAUNTLET else []
    plan = None
    if place is None:
        return new_batch_page(request, conn, who, place, form, plan)
    try:
        values = {name: value for name, value in form.values.items() if name != "agent"}
        body = NewBatchBody.model_validate(
            {
                **forms.nest_names(values),
                "season": place.season.id,
                "team": place.team.id,
                "agents": [*first, *form.lists["agents"]],
            }
        )
        asked = scrim_access.new_batch(conn, who, body)
        plan = batches.plan_batch(conn, asked)
        if given.get("act") == "start":
            made = form.run_once(request, conn, who, lambda: batches.start_batch(conn, asked).id)
            return redirect(f"/scrim-batches/{made}")
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
        if len(form.lists["agents"]) < (least := 2 - len(first)):
            form.wrong["agents"] = f"Choose at least {least}."
    return new_batch_page(request, conn, who, place, form, plan)


@router.get("/scrim-batches/{batch}")
def show_batch(request: Request, batch: BatchKey, conn: Db, who: Visitor) -> Response:
    """Shows the matrix of a batch, with intervals."""
    found = permissions.visible_batch(conn, who, batch)
    return render_batch(request, "scrim_batch.html", conn, who, found)


@router.get("/scrim-batches/{batch}/progress")
def show_batch_progress(request: Request, batch: BatchKey, conn: Db, who: Visitor) -> Response:
    """The matrix alone, for live updates. Asks the page to reload once the batch is over."""
    found = permissions.visible_batch(conn, who, batch)
    if found.ended_at is not None:
        return Response(status_code=205)
    return render_batch(request, "parts/scrim_batch.html", conn, who, found)


@router.get("/scrim-batches/{batch}/results.csv")
def send_csv(batch: BatchKey, conn: Db, who: Visitor) -> Response:
    """One row for each pairing."""
    found = permissions.visible_batch(conn, who, batch)
    text = results_csv(batches.read_results(conn, found.id))
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{found.id}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/scrim-batches/{batch}/cancel")
def cancel_batch(batch: BatchKey, conn: Db, who: Scrimmer, given: forms.Sent) -> Response:
    """Stops the unfinished games of a batch."""
    found = permissions.own_batch(conn, who, batch)
    with conn.transaction():
        batches.cancel_batch(conn, found.id)
    return redirect(f"/scrim-batches/{found.id}")


def render_batch(
    request: Request, template: str, conn: Connection, who: Viewer, found: Batch
) -> Response:
    results = batches.read_results(conn, found.id)
    return render(
        request,
        template,
        batch=found,
        league=leagues.get_league(conn, found.league_id),
        results=results,
        table=cross_table(results.cells) if found.kind == BatchKind.VERSIONS else None,
        totals=results.totals(),
        may_cancel=found.ended_at is None and permissions.may_see_private(who, found.team_id),
    )


def kind_of(given: str) -> BatchKind:
    return BatchKind.VERSIONS if given == BatchKind.VERSIONS else BatchKind.GAUNTLET


def cross_table(cells: tuple[BatchCell, ...]) -> dict[tuple[str, str], tuple[BatchCell, bool]]:
    """The cell of each two submissions, and whether it must be read from the other side."""
    found: dict[tuple[str, str], tuple[BatchCell, bool]] = {}
    for cell in cells:
        pair = (cell.first_submission_id, cell.second_submission_id)
        found[pair], found[pair[::-1]] = (cell, False), (cell, True)
    return found


def new_batch_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    place: ScrimPlace | None,
    form: Form,
    plan: BatchPlan | None,
) -> Response:
    """The form, with the errors of a refused one or the plan."""
    versions = version_options(conn, who, [place.team.id]) if place else []
    return render(
        request,
        "new_scrim_batch.html",
        status=422 if form.wrong else 200,
        form=form,
        place=place,
        plan=plan,
        own_options=[*(agent_options(place.own) if place else []), *versions],
        versions=versions,
        most_versions=batches.MOST_VERSIONS,
        audiences=options(form_texts.AUDIENCES),
        offered=[one for one in place.others if one.answer().is_automatic] if place else [],
        choices=scrim_leagues(conn, who),
        today=place and policies.games_today(conn, place.season, place.team.id),
        may="scrims:write" in who.scopes or who.is_admin,
    )


POLICY_PATH: Final = "/agents/{agent}/scrim-policy"


@router.get(POLICY_PATH)
def show_policy(request: Request, agent: AgentKey, conn: Db, viewer: Known) -> Response:
    """Shows the policy to the agent's team."""
    own_agent = permissions.own_agent(conn, viewer, agent)
    policy = policies.get_policy(conn, own_agent.id)
    return policy_page(request, conn, viewer, own_agent, Form(policy_values(conn, policy)))


@router.post(POLICY_PATH)
def set_policy(
    request: Request, agent: AgentKey, conn: Db, viewer: Writer, given: forms.Sent
) -> Response:
    """Replaces the policy, as the API does, if nobody changed it after the page showed it."""
    own_agent = permissions.own_agent(conn, viewer, agent)
    form = Form.of(given, policy_values(conn, ScrimPolicy()))
    try:
        with conn.transaction():
            present = policies.lock_policy(conn, own_agent.id)
            form.refuse_changed(given, policy_values(conn, present))
            if not form.wrong:
                body = ScrimPolicyBody.model_validate(policy_body_of_form(form))
                policy = scrim_access.policy_of_body(conn, viewer, body)
                policies.set_policy(conn, own_agent, policy)
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
    if form.wrong:
        return policy_page(request, conn, viewer, own_agent, form)
    return redirect(f"/agents/{own_agent.id}")


def policy_values(conn: Connection, policy: ScrimPolicy) -> dict[str, str]:
    """The fields of the form."""
    return {
        "whom": policy.whom.value,
        "teams": slugs_of(conn, policy.team_ids),
        "blocked_teams": slugs_of(conn, policy.blocked_team_ids),
        "games_daily": "" if policy.games_daily is None else str(policy.games_daily),
        "accepts_automatically": "true" if policy.accepts_automatically else "",
    }


def slugs_of(conn: Connection, team_ids: frozenset[TeamId]) -> str:
    return " ".join(sorted(users.get_team(conn, team_id).slug for team_id in team_ids))


def policy_body_of_form(form: Form) -> dict[str, Any]:
    """The request of the API. Leaves wrong texts as they are, for the message of their field."""
    values: dict[str, Any] = {name: value or None for name, value in form.values.items()}
    for name in ("teams", "blocked_teams"):
        values[name] = re.split(r"[\s,]+", values[name]) if values[name] else []
    values["accepts_automatically"] = bool(values["accepts_automatically"])
    return values


def policy_page(
    request: Request, conn: Connection, viewer: Viewer, agent: Agent, form: Form
) -> Response:
    """The form, with the errors of a refused one."""
    return render(
        request,
        "scrim_policy.html",
        status=422 if form.wrong else 200,
        agent=agent,
        form=form,
        shown=forms.shown_values(policy_values(conn, policies.get_policy(conn, agent.id))),
        may="agents:write" in viewer.scopes or viewer.is_admin,
    )
