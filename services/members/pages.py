"""Pages on the people of a league: people, invitations, terms, joining, asking to join."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from ladder.database.db import Connection
from ladder.enums import LeagueRole
from ladder.errors import Invalid, LadderError
from ladder.field_types import KEY, Key, Line, RequestModel
from ladder.ids import UserId
from ladder.leagues import invitations, join_requests, members, rosters, seasons, terms
from ladder.leagues.invitations import MadeInvitation, NewInvitation
from ladder.leagues.join_requests import JoinAnswer, RequestState
from ladder.leagues.members import Member
from ladder.leagues.records import Season
from ladder.people.permissions import may_appoint
from ladder.people.records import Viewer
from ladder.standings import participants
from ladder.standings.participants import Participant
from services.http import permissions
from services.http.app_state import Db, app_state_of
from services.http.auth import Anyone, Known
from services.http.path_parameters import LeagueKey
from services.http.spreadsheets import ExportForm, participants_file
from services.leagues.things import HostedLeague, VisibleLeague
from services.members.things import LeagueToAsk
from services.web import form_texts, formatting
from services.web import forms as page_forms
from services.web.account import redirect
from services.web.operation_forms import NoForms, OperationForm
from services.web.page_rendering import HEADERS, PageRoute, render
from services.web.sharing import qr_code, site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MEMBERS_SHOWN: Final = 100
REQUESTS_SHOWN: Final = 100
BLOCKS_SHOWN: Final = 200
INVITATIONS_SHOWN: Final = 50


class InvitationForm(NewInvitation):
    """Asks in how many days an invitation ends, instead of when."""

    days: Annotated[int | None, Field(ge=1, le=365)] = 30

    def request(self, _: Mapping[str, Any]) -> NewInvitation:
        ends_at = datetime.now(UTC) + timedelta(days=self.days) if self.days else None
        return NewInvitation(**{**self.model_dump(exclude={"days"}), "expires_at": ends_at})


class ApprovalForm(RequestModel):
    """Approves the ticked requests, or all."""

    act: ClassVar[Literal["approve", "decline"]] = "approve"
    requests: Annotated[list[Key], Field(default_factory=list)]
    all: bool = False
    role: Literal["competitor", "viewer"] = "competitor"
    words: Line = ""

    def request(self, _: Mapping[str, Any]) -> JoinAnswer:
        if not self.all and not self.requests:
            raise Invalid("requests", form_texts.TICK_REQUESTS)
        ticked = [] if self.all else self.requests
        return JoinAnswer(
            act=self.act, requests=ticked, all=self.all, role=self.role, words=self.words
        )


class DeclineForm(ApprovalForm):
    act: ClassVar[Literal["approve", "decline"]] = "decline"


@router.get("/leagues/{league}/terms")
def terms_page(
    request: Request, conn: Db, viewer: Anyone, league: VisibleLeague, forms: NoForms
) -> Response:
    """What joining means, who is grader or commentator, and a button for a member who has not
    agreed."""
    text = terms.read_terms(conn, viewer, league, terms.settings_of_league(league))
    return render(
        request,
        "members/terms.html",
        status=forms.status,
        league=league,
        terms=text,
        is_member=league.id in viewer.roles,
        staff=members.list_staff(conn, league.id),
        form=forms["give_consent"],
    )


@router.get("/leagues/{league}/people")
def people_page(
    request: Request,
    conn: Db,
    viewer: Anyone,
    league: HostedLeague,
    forms: NoForms,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Members, roles, requests and blocks for hosts."""
    rows = members.list_members(conn, league.id, UserId(after) if after else None, MEMBERS_SHOWN)
    season = seasons.current_season(conn, league.id)
    roster = rosters.list_lines(conn, league.id)
    may_all = may_appoint(viewer, league.id)
    roles = [role for role in LeagueRole if may_all or role in members.PLAIN]
    is_removal = forms.refused is forms["delete_member"]
    role_form = forms["delete_member" if is_removal else "put_member"]
    role_form.values["role"] = role_form.values.get("role") or LeagueRole.COMPETITOR
    is_declined = forms.refused is forms["decline_requests"]
    return render(
        request,
        "members/people.html",
        status=forms.status,
        forms=forms,
        requests=join_requests.list_requests(conn, league.id, limit=REQUESTS_SHOWN),
        waiting=join_requests.count_waiting(conn, league.id),
        blocks=members.list_blocks(conn, league.id, limit=BLOCKS_SHOWN),
        answer=forms["decline_requests" if is_declined else "approve_requests"],
        block=forms["block_from_league"],
        league=league,
        members=rows,
        count=members.count_members(conn, league.id),
        roster=len(roster),
        expected=sum(line.user_id is None for line in roster),
        places=_places_of_members(request, conn, season, rows) if season else {},
        has_season=season is not None,
        more=rows[-1].user_id if len(rows) == MEMBERS_SHOWN else None,
        role_form=role_form,
        roles=[(role.value, role.value) for role in roles],
        may="leagues:write" in viewer.scopes or viewer.is_admin,
    )


def _places_of_members(
    request: Request, conn: Connection, season: Season, rows: list[Member]
) -> dict[UserId, Participant]:
    """What the agents of these members did in the season, by user id."""
    board = app_state_of(request).boards.board(season.id, season.revision)
    listed = participants.list_participants(
        conn, season.league_id, season.id, [row.user_id for row in rows], board.rows
    )
    return {participant.user_id: participant for participant in listed if participant.user_id}


@router.get("/leagues/{league}/people/export")
def send_participants(
    league: LeagueKey, conn: Db, viewer: Anyone, format: ExportForm = "csv"
) -> Response:
    """Sends who passed validation and where everybody stands, in the current season."""
    season, its_league = permissions.hosted_season(conn, viewer, league)
    response = participants_file(conn, its_league, season, format)
    response.headers.update(HEADERS | dict(response.headers))
    return response


@router.get("/leagues/{league}/invitations")
def invitations_page(
    request: Request, conn: Db, viewer: Anyone, league: HostedLeague, forms: NoForms
) -> Response:
    """The form and the codes of the league, and the link of a code that was made now."""
    invitation = forms.answer if isinstance(forms.answer, MadeInvitation) else None
    link = f"{site_address(request)}/join?code={quote(invitation.code)}" if invitation else None
    response = render(
        request,
        "members/invitations.html",
        status=forms.status,
        league=league,
        forms=forms,
        link=link,
        picture=qr_code(link) if link else None,
        invitations=invitations.list_invitations(conn, league.id, limit=INVITATIONS_SHOWN),
        now=datetime.now(UTC),
        may="leagues:write" in viewer.scopes or viewer.is_admin,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.get("/leagues/{league}/request")
def request_page(
    request: Request, conn: Db, viewer: Known, league: LeagueToAsk, forms: NoForms
) -> Response:
    """The terms and the form, or the visitor's request."""
    assert viewer.user_id is not None
    newest = next(iter(join_requests.requests_of_person(conn, viewer.user_id, league.id, 1)), None)
    return render(
        request,
        "members/ask_to_join.html",
        status=forms.status,
        league=league,
        role=viewer.roles.get(league.id),
        newest=newest,
        waits=newest is not None and newest.state is RequestState.WAITING,
        terms=terms.read_terms(conn, viewer, league, terms.settings_of_league(league)),
        forms=forms,
    )


@router.get("/join")
def show_join(
    request: Request, conn: Db, viewer: Anyone, code: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """Shows what the code of a link means, or the form for a code.

    Anonymous visitors with a code read who invites them and sign up; others sign in.
    """
    if viewer.user_id is None:
        return _welcome_page(request, conn, code) if code else redirect("/sign-in?next=/join")
    if code:
        return _code_page(request, conn, viewer, code)
    return _code_form_page(request, "", "")


@router.post("/join")
def read_code(request: Request, conn: Db, viewer: Anyone, sent: page_forms.Sent) -> Response:
    """Shows the league, role and terms of a code."""
    code = str(sent.get("code", ""))[:200]
    if viewer.user_id is None:
        return redirect(formatting.sign_in_address("/join", code=code))
    return _code_page(request, conn, viewer, code)


def _welcome_page(request: Request, conn: Connection, code: str) -> Response:
    """Says who invites an anonymous visitor to which league, and leads to an account."""
    onward = f"/join?{urlencode({'code': code.strip()})}"
    wrong = league = inviter = None
    try:
        invitation, league = invitations.read_code(conn, None, code)
        inviter = invitations.inviter_name(conn, invitation.id)
    except LadderError as error:
        wrong = error.message
    status = 422 if wrong else 200
    return render(
        request, "members/invited.html", status=status, wrong=wrong, league=league,
        inviter=inviter, next=onward,
    )  # fmt: skip


def _code_page(request: Request, conn: Connection, viewer: Viewer, code: str) -> Response:
    """Shows the league, role and terms of a code, or the form if the code is wrong."""
    try:
        invitation, league = invitations.read_code(conn, viewer.user_id, code)
    except LadderError as error:
        return _code_form_page(request, code, error.message)
    had = viewer.roles.get(league.id)
    return render(
        request,
        "members/join.html",
        wrong="",
        league=league,
        role=invitation.role,
        had=had,
        gives_more=had is None or invitations.is_wider_role(invitation.role, had),
        code=code.strip(),
        terms=terms.read_terms(conn, viewer, league, terms.settings_of_league(league)),
        form=OperationForm.named("join_league"),
    )


def refused_join_page(request: Request, forms: NoForms) -> Response:
    """The form with the code that was refused, and why."""
    form = forms["join_league"]
    wrong = next(iter(form.wrong.values()), "").removeprefix("terms: ")
    return _code_form_page(request, form.values["code"], wrong)


def _code_form_page(request: Request, code: str, wrong: str) -> Response:
    return render(
        request,
        "members/join.html",
        status=422 if wrong else 200,
        wrong=wrong,
        league=None,
        code=code.strip(),
    )
