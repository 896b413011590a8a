"""The page of a team, and its forms for members and owners."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import segno
from fastapi import APIRouter, Form, Request, Response
from markupsafe import Markup
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries import agents, entries, team_dissolution, team_merges
from ladder.entries.records import Entry
from ladder.errors import Invalid, LadderError
from ladder.ids import TeamId, TeamInvitationId, UserId
from ladder.leagues import records
from ladder.leagues import seasons as leagues_seasons
from ladder.leagues.records import League, Season
from ladder.people import team_audits, team_invitations, teams, users
from ladder.people.permissions import may_see
from ladder.people.records import Team, Viewer
from ladder.reports import team_results
from ladder.slugs import normal_text
from ladder.standings.board_records import BoardRow
from services.http import auth, permissions
from services.http.app_state import AppState, Db, State
from services.http.path_parameters import TeamKey, TeamMergeKey
from services.http.problems import ProblemError
from services.web import form_texts, forms, session
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.sharing import site_address
from services.web.team_joining import parse_name

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SCOPES: Final = ("agents:write",)
ENTRIES_SHOWN: Final = 100
MATCHES_SHOWN: Final = 6
ACTS_SHOWN: Final = 10
DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {
    "rename": {"name": ""},
    "invite": {"person": "", "max_uses": "1", "days": "7"},
    "revoke": {"invitation": ""},
    "remove": {"user": ""},
    "hand-over": {"user": ""},
    "leave": {},
    "dissolve": {"name_again": ""},
    "merge": {"into": ""},
}
"""The fields of each form of the page."""
REFUSED: Final = (ValidationError, ProblemError, LadderError)


@dataclass(frozen=True, slots=True)
class SeasonRow:
    """A season in which the team has entries, newest first."""

    league: League
    season: Season
    entries: list[Entry]
    standing: BoardRow | None
    """None if the team has no rank, or the visitor may not see the league."""


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link that was made just now; it is shown only once."""

    address: str
    qr: Markup
    person: str
    """Name of the only person who can use it. Empty: anybody can."""


@router.get("/teams/{team}")
def show_team(
    request: Request, team: TeamKey, conn: Db, app_state: AppState, who: Visitor
) -> Response:
    """Shows members, entries, results and head-to-heads, and forms to members."""
    found = permissions.visible_team(conn, who, team)
    return team_page(request, conn, app_state, who, found)


@router.post("/teams/{team}/{act}")
def post_act(
    request: Request,
    team: TeamKey,
    act: str,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Acts as the API does, then shows the page. A refused form shows its errors."""
    found = permissions.visible_team(conn, who, team)
    if act not in DEFAULTS:
        raise ProblemError("not-found")
    auth.check_scopes(who, SCOPES)
    form = forms.Form.of(given, DEFAULTS[act])
    made: list[str] = []

    def do_it() -> None:
        made.extend(ACTS[act](conn, found, who, form.values))

    try:
        form.run_once(request, conn, who, do_it)
    except REFUSED as error:
        form.add_errors(error)
        return team_page(request, conn, app_state, who, found, act=act, form=form)
    if act == "invite" and made:
        link = new_link(request, *made)
        return team_page(request, conn, app_state, who, found, link=link)
    return redirect("/me#teams" if act in ("leave", "dissolve") else f"/teams/{found.id}#manage")


@router.post("/team-merges/{merge}/{answer}")
def answer_merge(
    request: Request,
    merge: TeamMergeKey,
    answer: str,
    conn: Db,
    who: Visitor,
    form_token: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Agrees to a merge, or ends the request."""
    session.check_form(request, form_token)
    auth.check_scopes(who, SCOPES)
    asked = permissions.team_merge_of_member(conn, who, merge)
    if answer == "accept":
        team_merges.accept_merge(conn, asked.id, who)
        return redirect(f"/teams/{asked.into_team_id}")
    team_merges.end_merge(conn, asked.id, who)
    mine = asked.into_team_id if asked.into_team_id in who.team_ids else asked.team_id
    return redirect(f"/teams/{mine}#manage")


def team_page(
    request: Request,
    conn: Connection,
    app_state: State,
    who: Viewer,
    team: Team,
    *,
    act: str = "",
    form: forms.Form | None = None,
    link: NewLink | None = None,
) -> Response:
    """The page, with the errors of a refused form, or with a new link."""
    sees_people = permissions.may_see_people(conn, who, team)
    members = users.team_members(conn, team.id)
    is_member = who.is_admin or any(user.id == who.user_id for user, _ in members)
    manages = is_member and team.ended_at is None
    rows = season_rows(conn, app_state, who, team.id)
    shown = {name: forms.Form(dict(values)) for name, values in DEFAULTS.items()}
    shown["rename"].values["name"] = team.name
    if form is not None:
        shown[act] = form
    return render(
        request,
        "team.html",
        status=422 if form is not None and form.wrong else 200,
        team=team,
        into=None if team.merged_into is None else users.get_team(conn, team.merged_into),
        member_count=len(members),
        members=members if sees_people else [],
        seasons=rows,
        own_agents={
            agent.id for agent in agents.list_agents(conn, viewer=who, team_id=team.id, limit=200)
        },
        matches=team_results.recent_matches(conn, who, team.id, MATCHES_SHOWN),
        opponents=team_results.head_to_heads(conn, who, team.id),
        is_member=is_member,
        manages=manages,
        owns=manages and (who.is_admin or teams.is_owner(conn, team.id, who.user_id)),
        may="agents:write" in who.scopes or who.is_admin,
        forms=shown,
        failed=form,
        link=link,
        invitations=team_invitations.open_invitations(conn, team.id) if manages else [],
        merges=team_merges.list_merges(conn, team.id) if manages else [],
        acts=team_audits.list_team_acts(conn, team.id, limit=ACTS_SHOWN) if is_member else [],
    )


def season_rows(
    conn: Connection, app_state: State, who: Viewer, team_id: TeamId
) -> list[SeasonRow]:
    """The seasons of the team's newest entries that the visitor may see, newest entry first."""
    by_season: dict[str, list[Entry]] = {}
    seen = entries.list_entries(conn, viewer=who, team_id=team_id, limit=ENTRIES_SHOWN)
    for entry in seen:
        by_season.setdefault(entry.season_id, []).append(entry)
    known = leagues_seasons.seasons_with_leagues(conn, {entry.season_id for entry in seen})
    found = {season.id: (season, league) for season, league in known}
    rows = []
    for listed in by_season.values():
        season, league = found[listed[0].season_id]
        best = None
        if may_see(who, records.league_resource(league)):
            board = app_state.boards.board(season.id, season.revision)
            own = (row for row in board.rows if row.team_id == team_id and row.rank is not None)
            best = next(own, None)
        rows.append(SeasonRow(league, season, listed, best))
    return rows


def new_link(request: Request, code: str, person: str) -> NewLink:
    """The address of a code on this site, and its QR code as SVG. ``person`` is as in NewLink."""
    address = site_address(request) + team_invitations.path_of_code(code)
    drawn = io.BytesIO()
    segno.make(address, error="m").save(
        drawn, kind="svg", xmldecl=False, svgns=False, omitsize=True, border=2, light="#ffffff"
    )
    shown = drawn.getvalue().decode().replace("<svg ", '<svg aria-hidden="true" ', 1)
    return NewLink(address, Markup(shown), person)  # noqa: S704 (drawn here)


def rename(conn: Connection, team: Team, who: Viewer, values: Mapping[str, str]) -> list[str]:
    teams.rename_team(conn, team.id, parse_name(values["name"]), who)
    return []


def invite(conn: Connection, team: Team, who: Viewer, values: Mapping[str, str]) -> list[str]:
    """Makes an invitation; returns its code, and the name of its only person or an empty text."""
    made, code = team_invitations.invite(
        conn,
        team.id,
        who,
        person=values["person"] or None,
        max_uses=parse_number(values["max_uses"], "max_uses", 100),
        expires_at=datetime.now(UTC)
        + timedelta(days=parse_number(values["days"], "days", team_invitations.LONGEST_LIFE.days)),
    )
    return [code, made.user_name or ""]


def revoke(conn: Connection, team: Team, who: Viewer, values: Mapping[str, str]) -> list[str]:
    invitation_id = TeamInvitationId(forms.parse_key(values, "invitation"))
    team_invitations.revoke_invitation(conn, team.id, invitation_id, who)
    return []


def remove(conn: Connection, team: Team, who: Viewer, values: Mapping[str, str]) -> list[str]:
    teams.remove_member(conn, team.id, UserId(forms.parse_key(values, "user")), who)
    return []


def hand_over(conn: Connection, team: Team, who: Viewer, values: Mapping[str, str]) -> list[str]:
    teams.hand_over(conn, team.id, UserId(forms.parse_key(values, "user")), who)
    return []


def leave(conn: Connection, team: Team, who: Viewer, values: Mapping[str, str]) -> list[str]:
    assert who.user_id is not None
    teams.remove_member(conn, team.id, who.user_id, who)
    return []


def dissolve(conn: Connection, team: Team, who: Viewer, values: Mapping[str, str]) -> list[str]:
    if normal_text(values["name_again"]) != team.name:
        raise Invalid("name_again", form_texts.NAME_NOT_REPEATED)
    team_dissolution.dissolve_team(conn, team.id, who)
    return []


def merge(conn: Connection, team: Team, who: Viewer, values: Mapping[str, str]) -> list[str]:
    key = forms.parse_key({"into": values["into"].lower()}, "into")
    try:
        other = permissions.visible_team(conn, who, key)
    except LadderError:
        raise Invalid("into", form_texts.NO_SUCH_TEAM) from None
    team_merges.ask_for_merge(conn, team.id, other.id, who)
    return []


ACTS: Final[Mapping[str, Callable[[Connection, Team, Viewer, Mapping[str, str]], list[str]]]] = {
    "rename": rename,
    "invite": invite,
    "revoke": revoke,
    "remove": remove,
    "hand-over": hand_over,
    "leave": leave,
    "dissolve": dissolve,
    "merge": merge,
}


def parse_number(text: str, field: str, most: int) -> int:
    """A whole number from 1 to ``most``. Raises Invalid."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= most:
        raise Invalid(field, f"give a whole number from 1 to {most}.")
    return int(text[:6])
