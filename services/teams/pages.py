"""The pages of teams: one team with its forms, making one, joining one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from ladder.database.db import Connection
from ladder.entries import agents, entries, team_merges
from ladder.entries.records import Entry
from ladder.errors import LadderError
from ladder.ids import TeamId
from ladder.leagues import records
from ladder.leagues import seasons as leagues_seasons
from ladder.leagues.records import League, Season
from ladder.people import team_invitations, teams, users
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
from ladder.people.team_invitations import LONGEST_LIFE, MadeTeamInvitation, NewTeamInvitation
from ladder.reports import team_results
from ladder.standings.board_records import BoardRow
from services.http import permissions
from services.http.app_state import AppState, Db, State
from services.http.auth import Anyone, Known
from services.teams.things import VisibleTeam
from services.web.operation_forms import NoForms
from services.web.page_rendering import PageRoute, render
from services.web.sharing import qr_code, site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
ENTRIES_SHOWN: Final = 100
MATCHES_SHOWN: Final = 6
ACTS_SHOWN: Final = 10


class InvitationForm(NewTeamInvitation):
    """Asks in how many days an invitation ends, instead of when."""

    days: Annotated[int, Field(ge=1, le=LONGEST_LIFE.days)] = team_invitations.LIFE.days

    def request(self, _: Mapping[str, Any]) -> NewTeamInvitation:
        until = datetime.now(UTC) + timedelta(days=self.days)
        return NewTeamInvitation(**{**self.model_dump(exclude={"days"}), "expires_at": until})


@dataclass(frozen=True, slots=True)
class SeasonRow:
    """A season in which the team has entries, newest first."""

    league: League
    season: Season
    entries: list[Entry]
    standing: BoardRow | None
    """None if the team has no rank, or the visitor may not see the league."""


@router.get("/teams/new")
def new_team_page(request: Request, viewer: Known, forms: NoForms) -> Response:
    """The form that makes a team."""
    return render(request, "teams/new_team.html", status=forms.status, forms=forms)


@router.get("/join-team")
def join_page(
    request: Request,
    conn: Db,
    viewer: Known,
    forms: NoForms,
    code: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """Shows which team a link admits to, or why it does not, or why the visitor cannot join."""
    assert viewer.user_id is not None
    invitation, wrong = None, ""
    if forms.refused is not None:
        code = forms.refused.values.get("code", "")
        wrong = next(iter(forms.refused.wrong.values()))
    elif code:
        try:
            invitation = team_invitations.read_link(conn, viewer.user_id, code)
        except LadderError as error:
            wrong = error.message
    return render(
        request,
        "teams/join_team.html",
        status=422 if wrong else 200,
        forms=forms,
        invitation=invitation,
        code=code.strip(),
        wrong=wrong.rstrip("."),
    )


@router.get("/teams/{team}")
def team_page(
    request: Request,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    team: VisibleTeam,
    forms: NoForms,
) -> Response:
    """Shows members, entries, results and head-to-heads, and forms to members."""
    members = teams.list_members(conn, team.id)
    is_member = viewer.is_admin or any(member.id == viewer.user_id for member in members)
    manages = is_member and team.ended_at is None
    if forms.refused is not forms["rename_team"]:
        forms["rename_team"].values["name"] = team.name
    link = forms.answer if isinstance(forms.answer, MadeTeamInvitation) else None
    address = site_address(request) + link.path if link else ""
    others = [(str(member.id), member.name) for member in members if member.id != viewer.user_id]
    forms["hand_over_team"].choices["user"] = others
    return render(
        request,
        "teams/team.html",
        status=forms.status,
        team=team,
        into=None if team.merged_into is None else users.get_team(conn, team.merged_into),
        member_count=len(members),
        members=members if permissions.may_see_people(conn, viewer, team) else [],
        others=others,
        seasons=season_rows(conn, app_state, viewer, team.id),
        own_agents={
            agent.id
            for agent in agents.list_agents(conn, viewer=viewer, team_id=team.id, limit=200)
        },
        matches=team_results.recent_matches(conn, viewer, team.id, MATCHES_SHOWN),
        opponents=team_results.head_to_heads(conn, viewer, team.id),
        is_member=is_member,
        manages=manages,
        owns=manages and (viewer.is_admin or teams.is_owner(conn, team.id, viewer.user_id)),
        may="agents:write" in viewer.scopes or viewer.is_admin,
        forms=forms,
        link=link,
        address=address,
        qr=qr_code(address) if link else "",
        invitations=team_invitations.open_invitations(conn, team.id) if manages else [],
        merges=team_merges.list_merges(conn, team.id) if manages else [],
        acts=teams.list_team_acts(conn, team.id, limit=ACTS_SHOWN) if is_member else [],
    )


def season_rows(
    conn: Connection, app_state: State, viewer: Viewer, team_id: TeamId
) -> list[SeasonRow]:
    """The seasons of the team's newest entries that the visitor may see, newest entry first."""
    by_season: dict[str, list[Entry]] = {}
    listed = entries.list_entries(conn, viewer=viewer, team_id=team_id, limit=ENTRIES_SHOWN)
    for entry in listed:
        by_season.setdefault(entry.season_id, []).append(entry)
    with_leagues = leagues_seasons.seasons_with_leagues(conn, {entry.season_id for entry in listed})
    seasons = {season.id: (season, league) for season, league in with_leagues}
    rows = []
    for entries_of_season in by_season.values():
        season, league = seasons[entries_of_season[0].season_id]
        best = None
        if may_see(viewer, records.league_resource(league)):
            board = app_state.boards.board(season.id, season.revision)
            own = (row for row in board.rows if row.team_id == team_id and row.rank is not None)
            best = next(own, None)
        rows.append(SeasonRow(league, season, entries_of_season, best))
    return rows
