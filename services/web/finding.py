"""Pages that find things: matches by filters, teams, names, and two agents compared."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.entries.records import Agent, EntryState
from ladder.enums import MatchKind
from ladder.errors import Invalid, LadderError, NotFound
from ladder.field_types import KEY
from ladder.ids import MatchId, is_id
from ladder.leagues import leagues, seasons
from ladder.matches import head_to_head, match_search
from ladder.matches.match_search import MatchFilter, MatchPage, Outcome, SeatVerdict
from ladder.people.records import Viewer
from ladder.reports import site_search
from services.http import match_filters
from services.http.app_state import Db
from services.http.match_filters import MatchQuery
from services.http.problems import ProblemError
from services.web import documents, form_texts, state_chips
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.sharing import comparison_sharing

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MATCHES_SHOWN: Final = 30
TEAMS_SHOWN: Final = 60
LEAGUES_SHOWN: Final = 200
MEETINGS_SHOWN: Final = 20
SEATS: Final = [("", "any"), *((str(seat), f"seat {seat + 1}") for seat in range(16))]
"""The filter counts seats from 0; people count from 1."""
OFFERED: Final = 200
"""Newest agents whose names the comparison offers."""
SIMILAR: Final = 10
FIELDS: Final = dict.fromkeys(MatchQuery.model_fields, "")
PAIR: Final = re.compile(r"(\S.{0,100}?)\s+(?:vs\.?|versus|against)\s+(\S.{0,100})", re.IGNORECASE)
"""A search for two agents: ``Gosling vs Lattice``."""
Text = Annotated[str, Query(max_length=200)]


@router.get("/matches")
def show_matches(
    request: Request,
    conn: Db,
    viewer: Visitor,
    before: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows matches that meet the filters of the address, newest first."""
    form = Form.of(request.query_params, FIELDS)  # type: ignore[arg-type]
    given = {name: value for name, value in form.values.items() if value}
    found = MatchPage([], None)
    wanted = MatchFilter()
    subject = None
    try:
        wanted = match_filters.resolve_filters(conn, viewer, MatchQuery.model_validate(given))
        found = match_search.search_page(
            conn, viewer, wanted, MatchId(before) if before else None, MATCHES_SHOWN
        )
        if wanted.agent_id:
            subject = agents.get_agent(conn, wanted.agent_id)
            _show_name(form, "agent", subject)
        if wanted.opponent_id:
            _show_name(form, "opponent", agents.get_agent(conn, wanted.opponent_id))
    except NotFound as error:
        field = error.field or ("season" if error.what == "league" else error.what or "")
        form.wrong[field] = form_texts.NOTHING_NAMED
    except (ValidationError, LadderError, ProblemError) as error:
        form.add_errors(error)
    older = urlencode({**given, "before": found.following}) if found.following else None
    return render(
        request,
        "matches.html",
        status=422 if form.wrong else 200,
        form=form,
        is_filtered=bool(given),
        subject=subject,
        seats=SEATS,
        matches=found.matches,
        endings={one.id: wanted.ending(one) for one in found.matches},
        ended={one.id: wanted.seat_of_player(one) for one in found.matches},
        older=older,
        seasons=[("", form_texts.ALL_LEAGUES), *league_options(conn, viewer)],
        outcomes=form_texts.options_of_words(Outcome),
        verdicts=state_chips.verdict_options(SeatVerdict),
        kinds=form_texts.options_of_words(MatchKind),
    )


@router.get("/teams")
def show_teams(
    request: Request,
    conn: Db,
    viewer: Visitor,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the teams whose agents the visitor may see."""
    rows = site_search.list_visible_teams(conn, viewer, after or "", TEAMS_SHOWN)
    more = rows[-1].slug if len(rows) == TEAMS_SHOWN else None
    return render(request, "teams.html", teams=rows, more=more)


@router.get("/search")
def show_search(request: Request, conn: Db, viewer: Visitor, q: Text = "") -> Response:
    """Shows leagues, agents and teams whose name contains the text."""
    form = Form({"q": q.strip()})
    found = []
    if form.values["q"]:
        try:
            found = site_search.search_names(conn, viewer, q) + documents.search_documents(
                form.values["q"]
            )
        except LadderError as error:
            form.add_errors(error)
    pair = PAIR.fullmatch(form.values["q"])
    return render(
        request,
        "search.html",
        status=422 if form.wrong else 200,
        form=form,
        found=found,
        pair=pair.groups() if pair else None,
    )


@router.get("/compare")
def show_comparison(
    request: Request, conn: Db, viewer: Visitor, agent: Text = "", opponent: Text = ""
) -> Response:
    """Shows how one agent did against another, or the form that asks for both."""
    form = Form({"agent": agent.strip(), "opponent": opponent.strip()})
    values: dict[str, Any] = dict.fromkeys(("one", "other", "found", "sharing"))
    values |= {"matches": [], "namesakes": {}}
    for name, field in (("one", "agent"), ("other", "opponent")):
        if form.values[field]:
            try:
                values[name] = agents.find_visible_agent(conn, viewer, form.values[field], field)
            except NotFound:
                similar = agents.find_similar_agents(conn, viewer, form.values[field], SIMILAR)
                form.wrong[field] = form_texts.DID_YOU_MEAN if similar else form_texts.NOTHING_NAMED
                values["namesakes"][field] = similar
            except Invalid:
                same = agents.find_namesakes(conn, viewer, form.values[field])
                values["namesakes"][field] = same
            else:
                _show_name(form, field, values[name])
    if values["namesakes"] and not form.wrong:
        _choose_among_namesakes(conn, viewer, values, form)
    if values["one"] and values["other"]:
        try:
            found = head_to_head.read_head_to_head(
                conn, viewer, values["one"].id, values["other"].id
            )
        except Invalid as error:
            form.add_errors(error)
            values["other"] = None
    if values["one"] and values["other"]:
        wanted = match_search.MatchFilter(
            agent_id=values["one"].id, opponent_id=values["other"].id, kind=MatchKind.RATED
        )
        values["found"] = found
        numbers = {number for pair in found.by_submission for number in pair}
        values["versions"] = agents.versions_of_numbers(conn, numbers)
        values["sharing"] = comparison_sharing(request, conn, values["one"], values["other"])
        values["matches"] = match_search.search_matches(conn, viewer, wanted, None, MEETINGS_SHOWN)
    return render(
        request,
        "compare.html",
        status=422 if form.wrong else 200,
        form=form,
        better=_better_address(conn, viewer, values["one"]),
        shared_league=_shared_league(conn, viewer, values["one"], values["other"]),
        offered=agents.find_similar_agents(conn, viewer, "", OFFERED),
        **values,
    )


def _better_address(conn: Connection, viewer: Viewer, agent: Agent | None) -> str:
    """The form that compares two versions of the visitor's agent; empty for another agent."""
    if agent is None or agent.team_id not in viewer.team_ids:
        return ""
    newest = entries.list_entries(conn, viewer=viewer, agent_id=agent.id, limit=1)
    if not newest:
        return ""
    _, league = seasons.get_season_and_league(conn, newest[0].season_id)
    return f"/leagues/{league.slug}/better"


def _shared_league(conn: Connection, viewer: Viewer, one: Agent | None, other: Agent | None) -> str:
    """The slug of the newest league in which both agents play; empty if there is none."""
    if one is None or other is None:
        return ""
    mine, theirs = (
        entries.list_entries(conn, viewer=viewer, agent_id=agent.id, state=EntryState.ACTIVE)
        for agent in (one, other)
    )
    known = {row.season_id for row in theirs}
    shared = next((row.season_id for row in mine if row.season_id in known), None)
    return seasons.get_season_and_league(conn, shared)[1].slug if shared else ""


def _show_name(form: Form, field: str, agent: Agent) -> None:
    """Shows a name where a link gave an id."""
    if is_id(form.values[field], "age"):
        form.values[field] = f"{agent.team_name}/{agent.slug}"


def _choose_among_namesakes(
    conn: Connection, viewer: Viewer, values: dict[str, Any], form: Form
) -> None:
    """Sets the agents of the names to those that played most in one season, or asks."""
    ones, others = (
        values["namesakes"].get(field) or [one for one in [values[name]] if one]
        for name, field in (("one", "agent"), ("other", "opponent"))
    )
    pair = agents.likeliest_pair(conn, viewer, ones, others)
    if pair:
        values["one"], values["other"] = pair
    else:
        form.wrong |= dict.fromkeys(values["namesakes"], form_texts.SEVERAL_NAMED)


def league_options(conn: Connection, viewer: Viewer) -> list[tuple[str, str]]:
    """The leagues that the visitor may see, by slug."""
    return [
        (league.slug, league.title)
        for league in leagues.list_leagues(conn, viewer, None, LEAGUES_SHOWN)
    ]
