"""The page that uploads an agent: choose a league, name the agent, choose a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response, Security
from fastapi.security import SecurityScopes
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from ladder.database.db import Connection
from ladder.entries import agents, entries, submit
from ladder.entries.agents import NewAgent
from ladder.entries.records import Agent
from ladder.entries.submit import MOST_NOTE_CHARACTERS, SeasonToEnter, Upload
from ladder.errors import Invalid, LadderError
from ladder.field_types import KEY, LINE
from ladder.leagues import records, seasons
from ladder.leagues.records import League, Season
from ladder.leagues.settings import MOST_BUNDLE_BYTES, USUAL_BUNDLE_BYTES
from ladder.people import users
from ladder.people.permissions import may_enter
from ladder.people.records import Team, Viewer
from ladder.runtime_profiles import NAMES
from ladder.sizes import size_text
from services.agents.uploads import plan_before_body
from services.http import permissions, problems, uploads
from services.http.app_state import Db, State, app_state_of, transaction
from services.http.auth import Credentials, Known
from services.http.body_limits import arrival_of
from services.http.problems import ProblemError
from services.http.uploads import ReceivedBody
from services.web import form_texts, forms, session
from services.web.account import redirect
from services.web.documents import (
    GAMES_FOLDER,
    address_of,
    first_agent,
    game_paths,
    read_document,
)
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
DEFAULTS: Final = {
    "season": "",
    "agent": "",
    "name": "",
    "team": "",
    "profile": "",
    "message": "",
}
FIELDS: Final = (*DEFAULTS, "form_token", "key")
NEW_AGENT: Final = ""


@dataclass(frozen=True, slots=True)
class UploadChoices:
    """What the visitor may choose in the form."""

    seasons: list[tuple[Season, League]]
    agents: list[Agent]
    teams: list[Team]

    @property
    def season_options(self) -> list[tuple[str, str]]:
        """Each season by its id."""
        return [
            (season.id, league.title + f", season {season.number}" * (season.number > 1))
            for season, league in self.seasons
        ]

    @property
    def limits(self) -> dict[str, int]:
        """Most bytes of a bundle by season."""
        return {season.id: season.max_bundle_bytes for season, _ in self.seasons}

    @property
    def agent_options(self) -> list[tuple[str, str]]:
        """A new agent first, then the visitor's agents."""
        own = [(agent.id, f"{agent.name} ({agent.team_name})") for agent in self.agents]
        return [(NEW_AGENT, form_texts.NEW_AGENT), *own]

    @property
    def team_options(self) -> list[tuple[str, str]]:
        """The visitor's teams."""
        return [(team.id, team.name) for team in self.teams]


@dataclass(frozen=True, slots=True)
class AgentTemplate:
    """A complete agent to begin with."""

    game: str
    title: str
    """Title of its game."""
    address: str
    """Page of the game's rules."""
    source: str
    seasons: list[str]
    """Seasons of the form in which it may play."""


@router.get("/upload")
def show_upload(
    request: Request,
    conn: Db,
    viewer: Known,
    league: Annotated[str | None, Query(pattern=KEY)] = None,
    agent: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the form, with this league and agent chosen."""
    choices = upload_choices(conn, viewer)
    its_seasons = [
        season.id for season, entered in choices.seasons if league in (entered.slug, entered.id)
    ]
    own = [choice.id for choice in choices.agents if choice.id == agent]
    chosen = {"season": "".join(its_seasons[:1]), "agent": "".join(own[:1])}
    form = Form({**DEFAULTS, **chosen})
    return upload_page(request, choices, form)


async def plan_upload(
    request: Request, scopes: SecurityScopes, credentials: Credentials
) -> tuple[Viewer, int]:
    """The visitor, and the most bytes that a season may take from the visitor.

    The season of the upload may have closed since the request began, so it counts as a usual one.
    """

    def plan(conn: Connection, viewer: Viewer) -> tuple[Viewer, int]:
        session.refuse_other_sites(request)
        seasons_of_visitor = upload_choices(conn, viewer).seasons
        limits = [season.max_bundle_bytes for season, _ in seasons_of_visitor]
        return viewer, max([USUAL_BUNDLE_BYTES, *limits])

    return await plan_before_body(request, scopes, credentials, plan)


@router.post("/upload")
async def upload(
    request: Request,
    planned: Annotated[tuple[Viewer, int], Security(plan_upload, scopes=["agents:write"])],
) -> Response:
    """Receives the file, submits it and redirects to the agent, whose page shows the validation."""
    viewer, limit_bytes = planned
    app_state = app_state_of(request)
    assert viewer.user_id is not None
    async with app_state.intake.hold_upload_slot(viewer.user_id, request):
        try:
            body = await uploads.receive_bundle(request, limit_bytes, None, fields=FIELDS)
        except ProblemError as error:
            async with app_state.intake.turn:
                return await run_in_threadpool(show_refusal, request, app_state, viewer, error)
        async with app_state.intake.turn:
            return await run_in_threadpool(record, request, app_state, viewer, body)


def show_refusal(
    request: Request, app_state: State, viewer: Viewer, error: ProblemError
) -> Response:
    """The form again, for a file that could not be received."""
    with transaction(app_state) as conn:
        form = Form(dict(DEFAULTS))
        form.wrong["file"] = error.detail
        return upload_page(request, upload_choices(conn, viewer), form)


def record(request: Request, app_state: State, viewer: Viewer, body: ReceivedBody) -> Response:
    """Submits the received file. Shows the form again with its errors."""
    with body.file:
        session.check_form(request, body.fields.get("form_token", ""))
        form = form_of(body.fields)
        form.values["file"] = body.digest  # the same page with another file is another request
        try:
            agent_id = submit_file(request, app_state, viewer, form, body)
        except (ValidationError, LadderError, ProblemError) as error:
            form.add_errors(error)
            with transaction(app_state) as conn:
                return upload_page(request, upload_choices(conn, viewer), form)
    return redirect(f"/agents/{agent_id}#submissions")


def submit_file(
    request: Request, app_state: State, viewer: Viewer, form: Form, body: ReceivedBody
) -> str:
    """Creates the agent if it is new, the submission and its entry; returns the agent's id."""
    values = form.values
    if values["profile"] not in ("", *NAMES):
        raise Invalid("profile", "choose one of the list")
    if re.fullmatch(LINE, values["message"]) is None:
        raise Invalid("message", problems.BY_PATTERN[LINE])
    if len(values["message"]) > MOST_NOTE_CHARACTERS:
        raise Invalid("message", f"use at most {MOST_NOTE_CHARACTERS} characters")
    name = body.filename or "main.py"
    uploads.refuse_other_files(body, name)
    with (
        app_state.blobs.receive(body.chunks(), limit_bytes=MOST_BUNDLE_BYTES) as incoming,
        transaction(app_state) as conn,
    ):
        agent = chosen_agent(conn, viewer, values)
        key = forms.parse_key(values, "season")
        if not key:
            raise Invalid("season", form_texts.CHOOSE_SEASON)
        season = permissions.season_to_enter(conn, viewer, key, agent.team_id)
        if body.size_bytes > season.max_bundle_bytes:
            raise Invalid(
                "file", f"send at most {size_text(season.max_bundle_bytes)} to this season"
            )
        stored = incoming.stored
        sent = Upload(stored.digest, stored.size, name, values["message"])
        into = SeasonToEnter(season, values["profile"] or None, arrival_of(request))

        def act() -> None:
            submit.submit(conn, agent.id, sent, viewer.user_id, into)
            incoming.keep()  # last, so that a refused upload leaves no file

        form.run_once(request, conn, viewer, act)
        return agent.id


def chosen_agent(conn: Connection, viewer: Viewer, values: Mapping[str, str]) -> Agent:
    """The visitor's agent, or a new one of this name in one of the visitor's teams."""
    if values["agent"]:
        return permissions.own_agent(conn, viewer, forms.parse_key(values, "agent"))
    if not values["name"]:
        raise Invalid("name", "name the new agent")
    body = NewAgent.model_validate({"name": values["name"], "team": values["team"] or None})
    team = permissions.team_to_act_for(conn, viewer, body.team)
    own = agents.list_agents(conn, viewer=viewer, team_id=team.id, limit=1000)
    for agent in own:  # a form that is sent twice makes one agent
        if agent.name == body.name:
            return agent
    try:
        return agents.create_named_agent(conn, team.id, body.name, None)
    except Invalid:  # no letter of the name fits into a slug
        return agents.create_named_agent(conn, team.id, body.name, f"agent-{token_hex(4)}")


def upload_choices(conn: Connection, viewer: Viewer) -> UploadChoices:
    """The seasons that take uploads of the visitor's teams, and the visitor's agents and teams.

    The season with the most competing teams comes first, because the form offers it.
    """
    assert viewer.user_id is not None
    teams = users.teams_of(conn, viewer.user_id)
    open_seasons = [
        (season, league)
        for season, league in seasons.seasons_open_to_uploads(conn)
        if any(may_enter(viewer, records.league_resource(league), team.id) for team in teams)
    ]
    teams_in = entries.count_teams(conn, [season.id for season, _ in open_seasons])
    open_seasons.sort(
        key=lambda pair: (teams_in.get(pair[0].id, 0), pair[0].accepted_no), reverse=True
    )
    own = [
        agent
        for team in teams
        for agent in agents.list_agents(conn, viewer=viewer, team_id=team.id, limit=200)
    ]
    return UploadChoices(open_seasons, own, teams)


def form_of(sent: Mapping[str, str]) -> Form:
    """The form as it was sent."""
    form = Form({name: sent.get(name, default).strip() for name, default in DEFAULTS.items()})
    form.key = sent.get("key", "")[:40] or form.key
    return form


def agent_templates(choices: UploadChoices) -> list[AgentTemplate]:
    """A complete agent for each game of the seasons that the visitor may choose."""
    seasons_of: dict[str, list[str]] = {}
    for season, league in choices.seasons:
        seasons_of.setdefault(league.game, []).append(season.id)
    samples = []
    for game, chosen in seasons_of.items():
        path = f"{GAMES_FOLDER}{game}.md"
        if path in game_paths():
            title = read_document(path).title
            samples.append(AgentTemplate(game, title, address_of(path), first_agent(path), chosen))
    return samples


def upload_page(request: Request, choices: UploadChoices, form: Form) -> Response:
    """The page of the form."""
    if len(choices.seasons) == 1:
        form.values["season"] = form.values["season"] or choices.seasons[0][0].id
    return render(
        request,
        "agents/upload.html",
        status=422 if form.wrong else 200,
        form=form,
        choices=choices,
        profiles=[("", "as before, else numpy"), *((name, name) for name in NAMES)],
        samples=agent_templates(choices),
    )
