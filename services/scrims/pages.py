"""Pages of scrims: one scrim, the list, requests, batches, forks, and the policy of an agent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.enums import LogAudience, ScrimAudience
from ladder.errors import Invalid, NotFound
from ladder.field_types import KEY, Key, Line, RequestModel, Text
from ladder.ids import MatchId, ScrimRequestId, TeamId
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League, Season
from ladder.matches import history
from ladder.matches.match_titles import lineup_title
from ladder.people import users
from ladder.people.records import Team, Viewer
from ladder.scrims import batches, forks, policies, requests, scrims
from ladder.scrims.batches import Batch, BatchCell, BatchKind, BatchPlan, BatchResults, NewBatch
from ladder.scrims.forks import NewFork
from ladder.scrims.policies import MOST_GAMES_DAILY, Opponent, ScrimPolicy, Whom
from ladder.scrims.requests import NewScrimRequest
from ladder.scrims.scrims import MOST_GAMES, Draws, NewPrivacy, Scrim
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone, Known
from services.http.spreadsheets import csv_text
from services.scrims.things import (
    ForkableMatch,
    OwnAgent,
    VisibleBatch,
    VisibleRequest,
    VisibleScrim,
)
from services.web import form_texts
from services.web.forms import shown_values
from services.web.operation_forms import NoForms
from services.web.page_rendering import HEADERS, PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MATCHES_SHOWN: Final = 50
SHOWN: Final = 20
SUBMISSIONS_SHOWN: Final = 20
"""Newest submissions of each agent in a choice."""
KeyQuery = Annotated[str, Query(max_length=64, pattern=rf"{KEY}|^$")]
COLUMNS: Final = (
    *("first", "first_version", "second", "second_version", "state", "games", "finished_games"),
    *("void_games", "score", "low", "high", "first_faults", "second_faults"),
)


class ScrimForm(RequestModel):
    """Asks for the own agent and its opponents, who fill the other seats in turn."""

    league: Key
    team: Key
    agent: Key
    lineup: list[str] = Field(default_factory=list)
    """Opponents. Empty choices are left out."""
    games: Annotated[int, Field(ge=1, le=MOST_GAMES)] = 10
    results: ScrimAudience = ScrimAudience.SIDES
    replays: ScrimAudience = ScrimAudience.SIDES
    logs: LogAudience = LogAudience.OWN
    words: Line = ""
    expires_hours: Annotated[int, Field(ge=1, le=requests.MOST_HOURS)] = requests.LIFE_HOURS

    def request(self, values: Mapping[str, Any]) -> NewScrimRequest:
        season = permissions.visible_season(values["conn"], values["viewer"], self.league)
        opponents = islice(cycle(filter(None, self.lineup)), season.seats - 1)
        return NewScrimRequest(
            season=season.id,
            team=self.team,
            lineup=[self.agent, *opponents],
            games=self.games,
            privacy=NewPrivacy(results=self.results, replays=self.replays, logs=self.logs),
            words=self.words,
            expires_hours=self.expires_hours,
        )


class BatchForm(RequestModel):
    """Asks for the own agent of a gauntlet apart from its opponents."""

    league: Key
    team: Key
    kind: BatchKind = BatchKind.GAUNTLET
    agent: Key | None = None
    agents: list[Key] = Field(default_factory=list)
    games: Annotated[int, Field(ge=1, le=batches.MOST_GAMES)] = 10
    results: ScrimAudience = ScrimAudience.ASKER
    replays: ScrimAudience = ScrimAudience.ASKER

    def request(self, values: Mapping[str, Any]) -> NewBatch:
        first = [self.agent] if self.agent and self.kind is BatchKind.GAUNTLET else []
        if len(self.agents) < (least := 2 - len(first)):
            raise Invalid("agents", f"choose at least {least}.")
        return NewBatch(
            season=permissions.visible_season(values["conn"], values["viewer"], self.league).id,
            team=self.team,
            kind=self.kind,
            agents=[*first, *self.agents],
            games=self.games,
            privacy=NewPrivacy(results=self.results, replays=self.replays),
        )


class PolicyForm(RequestModel):
    """Asks for teams in one line each."""

    whom: Whom
    teams: Text = ""
    blocked_teams: Text = ""
    games_daily: Annotated[int, Field(ge=0, le=MOST_GAMES_DAILY)] | None = None
    accepts_automatically: bool = False

    def request(self, _: Mapping[str, Any]) -> ScrimPolicy:
        lists = {"teams": self.teams, "blocked_teams": self.blocked_teams}
        keys = {name: re.findall(r"[^\s,]+", text) for name, text in lists.items()}
        return ScrimPolicy.model_validate({**self.model_dump(), **keys})


class ForkForm(RequestModel):
    """Asks for agent and moves of each seat, in the order of the seats."""

    step: int
    episode: int = 0
    seats: list[str] = Field(default_factory=list)
    moves: list[str] = Field(default_factory=list)
    draws: Draws = Draws.RECORD
    games: int = 5
    team: Key | None = None

    def request(self, _: Mapping[str, Any]) -> NewFork:
        return NewFork.model_validate(
            {
                **self.model_dump(exclude={"seats", "moves"}),
                "seats": [agent or None for agent in self.seats],
                "moves": {
                    str(seat): [parse_move(move) for move in line.split(";") if move.strip()]
                    for seat, line in enumerate(self.moves)
                    if line.strip()
                },
            }
        )


def parse_move(text: str) -> object:
    """A move as typed: JSON, or else a text."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text.strip()


@router.get("/scrims/{scrim}")
def show_scrim(
    request: Request,
    conn: Db,
    viewer: Anyone,
    scrim: VisibleScrim,
    before: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows progress, win rates with their intervals, and the games."""
    return render_scrim(request, "scrims/scrim.html", conn, viewer, scrim, before)


@router.get("/scrims/{scrim}/progress")
def show_progress(request: Request, conn: Db, viewer: Anyone, scrim: VisibleScrim) -> Response:
    """The progress alone, for live updates. Asks the page to reload once the scrim is over."""
    if scrim.state != "running":
        return Response(status_code=205)
    return render_scrim(request, "scrims/scrim_part.html", conn, viewer, scrim, None)


def render_scrim(
    request: Request,
    template: str,
    conn: Connection,
    viewer: Viewer,
    scrim: Scrim,
    before: str | None,
) -> Response:
    games = history.list_matches(
        conn, scrim_id=scrim.id, before=MatchId(before) if before else None, limit=MATCHES_SHOWN
    )
    fork = scrim.fork
    return render(
        request,
        template,
        scrim=forks.read_detail(conn, scrim),
        fork=fork,
        origin=lineup_title(history.get_match(conn, fork.match_id)) if fork else "",
        is_asker=permissions.may_see_private(viewer, scrim.team_id),
        audience_words=form_texts.AUDIENCES,
        log_words=form_texts.LOG_AUDIENCES,
        league=leagues.get_league(conn, scrim.league_id),
        matches=games,
        older=games[-1].id if len(games) == MATCHES_SHOWN else None,
    )


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
        return [opponent for opponent in self.others if opponent.answer.is_allowed]


@router.get("/scrims")
def show_scrims(request: Request, conn: Db, viewer: Known, after: KeyQuery = "") -> Response:
    """Shows the requests to and from the visitor's teams, batches and scrims."""
    teams = sorted(viewer.team_ids)
    before = ScrimRequestId(after) if after else None
    rows = requests.list_requests(conn, to_teams=teams, from_teams=teams, after=before, limit=SHOWN)
    return render(
        request,
        "scrims/scrims.html",
        rows=rows,
        mine=set(teams),
        older=rows[-1].id if len(rows) == SHOWN else None,
        batches=batches.list_batches(conn, teams, None, SHOWN),
        scrims=scrims.list_scrims(conn, viewer, teams, None, SHOWN),
        is_first=before is None,
    )


@router.get("/new-scrim")
def new_scrim_page(
    request: Request,
    conn: Db,
    viewer: Known,
    forms: NoForms,
    league: KeyQuery = "",
    team: KeyQuery = "",
    opponent: KeyQuery = "",
) -> Response:
    """The form; it offers only agents whose policies allow it."""
    form = forms["ask_for_scrim"]
    league, team = form.values["league"] or league, form.values["team"] or team
    place = find_place(conn, viewer, league, team, opponent)
    chosen = form.lists["lineup"] or [opponent]
    refused = [other for other in place.others if not other.answer.is_allowed] if place else []
    return render(
        request,
        "scrims/new_scrim.html",
        status=forms.status,
        form=form,
        chosen=chosen,
        place=place,
        refused=refused,
        choices=scrim_leagues(conn, viewer),
        own_options=agent_options(place.own) if place else [],
        open_options=agent_options(place.open, says_how=True) if place else [],
        audiences=options(form_texts.AUDIENCES),
        log_audiences=options(form_texts.LOG_AUDIENCES),
        why=next((other for other in refused if other.agent_id == chosen[0]), None),
        today=place and policies.games_today(conn, place.season, place.team.id),
        may="scrims:write" in viewer.scopes or viewer.is_admin,
    )


@router.get("/scrim-requests/{request}")
def request_page(
    request: Request, conn: Db, viewer: Anyone, scrim_request: VisibleRequest, forms: NoForms
) -> Response:
    """The request for both teams, with buttons for those who may act."""
    scrim = scrims.get_scrim(conn, scrim_request.scrim_id) if scrim_request.scrim_id else None
    return render(
        request,
        "scrims/scrim_request.html",
        status=forms.status,
        scrim_request=scrim_request,
        forms=forms,
        scrim=scrim,
        sees_scrim=scrim is not None and may_see_scrim(conn, viewer, scrim.id),
        audience_words=form_texts.AUDIENCES,
        log_words=form_texts.LOG_AUDIENCES,
        may_answer=permissions.may_see_private(viewer, scrim_request.asked_team_id),
        may_withdraw=permissions.may_see_private(viewer, scrim_request.team_id),
    )


def may_see_scrim(conn: Connection, viewer: Viewer, key: str) -> bool:
    try:
        permissions.visible_scrim(conn, viewer, key)
    except NotFound:
        return False
    return True


def options(words: Mapping[str, str]) -> list[tuple[str, str]]:
    """Values and labels of a choice."""
    return [(value, word[:1].upper() + word[1:]) for value, word in words.items()]


def agent_options(opponents: list[Opponent], *, says_how: bool = False) -> list[tuple[str, str]]:
    """Agents as a choice, with their teams if they are of others."""
    choices = []
    for opponent in opponents:
        word = f"{opponent.agent_name}, version {opponent.version}"
        if says_how:
            start = "starts at once" if opponent.answer.is_automatic else "its team answers"
            word = f"{opponent.agent_name}: {start} ({opponent.team_name})"
        choices.append((str(opponent.agent_id), word))
    return choices


def version_options(
    conn: Connection, viewer: Viewer, teams: Iterable[str]
) -> list[tuple[str, str]]:
    """Newest submissions of the agents of these teams as a choice, without rejected ones."""
    return [
        (submission.id, f"{agent.name}, version {submission.version}")
        for team in teams
        for agent in agents.list_agents(conn, viewer=viewer, team_id=TeamId(team))
        for submission in agents.list_submissions(
            conn, agent.id, limit=SUBMISSIONS_SHOWN, with_rejected=False
        )
    ]


def scrim_leagues(conn: Connection, viewer: Viewer) -> list[League]:
    """Leagues that the visitor's teams have entered, newest first."""
    entered = {league for team in viewer.team_ids for league in agents.leagues_of_team(conn, team)}
    return [leagues.get_league(conn, league) for league in sorted(entered, reverse=True)]


def find_place(
    conn: Connection, viewer: Viewer, league: str, team: str, opponent: str = ""
) -> ScrimPlace | None:
    """The season and team of a form. None: the visitor has none.

    By default it is the newest league in which an agent of the visitor plays, and the opponent.
    """
    choices = scrim_leagues(conn, viewer)
    if league:
        choices = [permissions.visible_league(conn, viewer, league)]
    assert viewer.user_id is not None
    teams = users.teams_of(conn, viewer.user_id)
    if team:
        teams = [choice for choice in teams if team in (choice.id, choice.slug)]
    places = (
        place_in(conn, choice, season, TeamId(member.id), member)
        for choice in choices
        if (season := seasons.current_season(conn, choice.id)) and season.seats > 1
        for member in teams
    )
    first = None
    for place in places:
        plays = not opponent or opponent in {other.agent_id for other in place.others}
        if place.own and plays:
            return place
        if first is None or (place.own and not first.own and place.season == first.season):
            first = place
    return first


def place_in(
    conn: Connection, league: League, season: Season, team_id: TeamId, team: Team
) -> ScrimPlace:
    agents_of_season = policies.read_opponents(conn, season, team_id)
    own = [row for row in agents_of_season if row.facts.is_own and row.answer.is_allowed]
    others = [row for row in agents_of_season if not row.facts.is_own]
    return ScrimPlace(league, season, team, own, others)


@router.get("/new-scrim-batch")
def new_batch_page(
    request: Request,
    conn: Db,
    viewer: Known,
    forms: NoForms,
    league: KeyQuery = "",
    team: KeyQuery = "",
    kind: KeyQuery = "",
) -> Response:
    """The form of a gauntlet, or of own versions against each other, and what a planned one takes.

    A gauntlet offers only agents that accept automatically.
    """
    form = next(iter(forms.values()), None) or forms["start_batch"]
    league, team = form.values["league"] or league, form.values["team"] or team
    place = find_place(conn, viewer, league, team)
    if kind in list(BatchKind):
        form.values["kind"] = kind
    versions = version_options(conn, viewer, [place.team.id]) if place else []
    return render(
        request,
        "scrims/new_scrim_batch.html",
        status=forms.status,
        form=form,
        place=place,
        plan=forms.answer if isinstance(forms.answer, BatchPlan) else None,
        own_options=[*(agent_options(place.own) if place else []), *versions],
        versions=versions,
        most_versions=batches.MOST_VERSIONS,
        audiences=options(form_texts.AUDIENCES),
        offered=[row for row in place.others if row.answer.is_automatic] if place else [],
        choices=scrim_leagues(conn, viewer),
        today=place and policies.games_today(conn, place.season, place.team.id),
        may="scrims:write" in viewer.scopes or viewer.is_admin,
    )


@router.get("/scrim-batches/{batch}")
def show_batch(request: Request, conn: Db, viewer: Anyone, batch: VisibleBatch) -> Response:
    """Shows the matrix of a batch, with intervals."""
    return render_batch(request, "scrims/scrim_batch.html", conn, viewer, batch)


@router.get("/scrim-batches/{batch}/progress")
def show_batch_progress(
    request: Request, conn: Db, viewer: Anyone, batch: VisibleBatch
) -> Response:
    """The matrix alone, for live updates. Asks the page to reload once the batch is over."""
    if batch.ended_at is not None:
        return Response(status_code=205)
    return render_batch(request, "scrims/scrim_batch_part.html", conn, viewer, batch)


@router.get("/scrim-batches/{batch}/results.csv")
def send_csv(conn: Db, batch: VisibleBatch) -> Response:
    """One row for each pairing."""
    text = results_csv(batches.read_results(conn, batch))
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{batch.id}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def results_csv(results: BatchResults) -> str:
    """One row for each pairing, with a header. Names cannot be formulas."""
    return csv_text(
        COLUMNS,
        [
            (
                *(cell.first_name, cell.first_number, cell.second_name, cell.second_number),
                *(cell.state, cell.games, cell.finished_games, cell.void_games),
                *("" if cell.score is None else round(cell.score, 4),),
                *(round(end, 4) for end in cell.interval),
                *(cell.first_faults, cell.second_faults),
            )
            for cell in results.cells
        ],
    )


def render_batch(
    request: Request, template: str, conn: Connection, viewer: Viewer, batch: Batch
) -> Response:
    results = batches.read_results(conn, batch)
    is_own = permissions.may_see_private(viewer, batch.team_id)
    return render(
        request,
        template,
        batch=results,
        league=leagues.get_league(conn, batch.league_id),
        table=cross_table(results.cells) if batch.kind == BatchKind.VERSIONS else None,
        may_cancel=batch.ended_at is None and is_own,
    )


def cross_table(cells: tuple[BatchCell, ...]) -> dict[tuple[str, str], tuple[BatchCell, bool]]:
    """The cell of each two submissions, and whether it must be read from the other side."""
    table: dict[tuple[str, str], tuple[BatchCell, bool]] = {}
    for cell in cells:
        pair = (cell.first_submission_id, cell.second_submission_id)
        table[pair], table[pair[::-1]] = (cell, False), (cell, True)
    return table


@router.get("/agents/{agent}/scrim-policy")
def policy_page(
    request: Request, conn: Db, viewer: Known, agent: OwnAgent, forms: NoForms
) -> Response:
    """The policy, for the agent's team."""
    form = forms["set_scrim_policy"]
    stored = policy_values(conn, policies.get_policy(conn, agent.id))
    if forms.refused is None:
        form.values |= stored
    return render(
        request,
        "scrims/scrim_policy.html",
        status=forms.status,
        agent=agent,
        form=form,
        shown=shown_values(stored),
        may="agents:write" in viewer.scopes or viewer.is_admin,
    )


def present_policy(values: Mapping[str, Any]) -> dict[str, str]:
    """The stored policy as fields of the form. It stays as it is for the transaction."""
    conn: Connection = values["conn"]
    return policy_values(conn, policies.lock_policy(conn, values["agent"].id))


def policy_values(conn: Connection, policy: ScrimPolicy) -> dict[str, str]:
    """The fields of the form."""
    return {
        "whom": policy.whom.value,
        "teams": slugs_of(conn, policy.teams),
        "blocked_teams": slugs_of(conn, policy.blocked_teams),
        "games_daily": "" if policy.games_daily is None else str(policy.games_daily),
        "accepts_automatically": "true" if policy.accepts_automatically else "",
    }


def slugs_of(conn: Connection, team_ids: Iterable[str]) -> str:
    return " ".join(sorted(users.get_team(conn, team_id).slug for team_id in team_ids))


@router.get("/matches/{match}/fork")
def fork_page(
    request: Request,
    conn: Db,
    viewer: Known,
    match: ForkableMatch,
    forms: NoForms,
    episode: Annotated[int, Query(ge=0, le=1000)] = 0,
    step: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """The form that forks a match at one of its steps."""
    assert viewer.user_id is not None
    form = forms["create_fork"]
    if forms.refused is None:
        form.values |= {"episode": str(episode), "step": str(step)}
    position = form.values["episode"]
    is_second = position.isdecimal() and int(position[:6]) % 2 == 1
    teams = users.teams_of(conn, viewer.user_id)
    chosen = [team for team in teams if team.slug == form.values["team"]] or teams
    season = seasons.get_season(conn, match.season_id)
    choices = forks.agents_for_forks(conn, season, [team.id for team in chosen])
    empty = [""] * len(match.seats)
    return render(
        request,
        "scrims/fork.html",
        status=forms.status,
        form=form,
        match=match,
        title=lineup_title(match),
        league=leagues.get_league(conn, match.league_id),
        seated=sorted(match.seats, key=lambda seat: seat.seat, reverse=is_second),
        by_seat=list(zip(form.lists["seats"] + empty, form.lists["moves"] + empty, strict=False)),
        choices=choices,
        usable={choice.agent_id for choice in choices},
        teams=[("", "Choose a team")] + [(team.slug, team.name) for team in teams],
        most_games=MOST_GAMES,
    )
