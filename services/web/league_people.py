"""Pages on the people of a league: terms for members; roles, requests and blocks for hosts."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ladder.database.db import Connection
from ladder.enums import LeagueRole
from ladder.errors import Invalid, LadderError
from ladder.field_types import KEY, Key, Line
from ladder.ids import UserId
from ladder.leagues import (
    join_requests,
    league_blocks,
    league_update,
    members,
    rosters,
    seasons,
    terms,
)
from ladder.leagues.members import Member
from ladder.leagues.records import League, Season
from ladder.leagues.request_models import LeagueChange
from ladder.people import users
from ladder.people.permissions import may_appoint
from ladder.people.records import Viewer
from ladder.standings import participants
from ladder.standings.participants import Participant
from services.http import auth, permissions
from services.http.app_state import Db, app_state_of
from services.http.participant_export import ExportForm, participants_file
from services.http.path_parameters import LeagueKey
from services.web import form_texts, formatting, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import HEADERS, PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SCOPES: Final = ("leagues:write",)
MEMBERS_SHOWN: Final = 100
REQUESTS_SHOWN: Final = 100
BLOCKS_SHOWN: Final = 200
ROLE_FORM: Final = {"user": "", "role": LeagueRole.COMPETITOR.value}
NO_ROLE: Final = "none"


ANSWER_FORM: Final = {"all": "", "join_role": "competitor", "words": ""}
BLOCK_FORM: Final = {"blocked": "", "reason": ""}


class AnswerForm(BaseModel):
    """Which requests a host answers, and how."""

    model_config = ConfigDict(extra="forbid")
    requests: Annotated[list[Key], Field(max_length=join_requests.MOST_ANSWERED)]
    all: bool
    join_role: Literal["competitor", "viewer"]
    words: Line


class BlockForm(BaseModel):
    model_config = ConfigDict(extra="forbid")
    blocked: Line
    reason: Annotated[Line, Field(min_length=1)]


class RoleForm(BaseModel):
    """The role that the form asks for; ``none`` takes the role."""

    model_config = ConfigDict(extra="forbid")
    user: Line
    role: LeagueRole | None


@router.get("/leagues/{league}/terms")
def show_terms(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Shows what joining means, and who is grader or commentator."""
    found = permissions.visible_league(conn, who, league)
    return terms_page(request, conn, who, found)


@router.post("/leagues/{league}/terms")
def agree_to_terms(
    request: Request, league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Records that the visitor agrees to the present terms."""
    found = permissions.visible_league(conn, who, league)
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/leagues/{found.slug}/terms"))
    auth.check_scopes(who, ["agents:write"])
    try:
        digest = str(given.get("digest", ""))[:64]
        with conn.transaction():
            terms.record_consent(conn, found, who.user_id, digest)
    except LadderError as error:
        return terms_page(request, conn, who, found, wrong=error.message)
    return redirect(f"/leagues/{found.slug}/terms")


def terms_page(
    request: Request, conn: Connection, who: Viewer, league: League, wrong: str | None = None
) -> Response:
    """The terms, with a button for a member who has not agreed to them."""
    settings = terms.settings_of_league(league)
    digest = terms.terms_digest(settings)
    agreement = who.user_id and terms.agreement_of_member(conn, league.id, who.user_id)
    return render(
        request,
        "terms.html",
        status=422 if wrong else 200,
        league=league,
        lines=terms.terms_text(settings).splitlines(),
        digest=digest,
        agreement=agreement if agreement and agreement.terms_digest == digest else None,
        is_member=league.id in who.roles,
        staff=members.list_staff(conn, league.id),
        wrong=wrong,
    )


@router.get("/leagues/{league}/people")
def show_people(
    request: Request,
    league: LeagueKey,
    conn: Db,
    who: Visitor,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows members and roles to hosts."""
    found = permissions.hosted_league(conn, who, league)
    return people_page(request, conn, who, found, after=after)


@router.get("/leagues/{league}/people/export")
def send_participants(
    league: LeagueKey, conn: Db, who: Visitor, format: ExportForm = "csv"
) -> Response:
    """Sends who passed validation and where everybody stands, in the current season."""
    season, found = permissions.hosted_season(conn, who, league)
    response = participants_file(conn, found, season, format)
    response.headers.update(HEADERS | dict(response.headers))
    return response


@router.post("/leagues/{league}/people/role")
def change_role(
    request: Request, league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Gives or takes a role, as the API does."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    form = Form.of(given, ROLE_FORM)
    try:
        wished = form.values["role"]
        asked = RoleForm.model_validate(
            {"user": form.values["user"], "role": None if wished == NO_ROLE else wished}
        )
        person = find_person(conn, asked.user, "user")
        with conn.transaction():
            members.change_role(conn, who, found, person, asked.role)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return people_page(request, conn, who, found, form=form)
    return redirect(f"/leagues/{found.slug}/people#members")


@router.post("/leagues/{league}/people/requests/{act}")
def answer_requests(
    request: Request,
    league: LeagueKey,
    act: Literal["approve", "decline"],
    conn: Db,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Approves or declines the ticked requests, or all, as the API does."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    form = Form.of(given, ANSWER_FORM, ["requests"])
    try:
        asked = AnswerForm.model_validate(
            {**form.values, "all": bool(form.values["all"]), **form.lists}
        )
        if not asked.all and not asked.requests:
            raise Invalid("requests", form_texts.TICK_REQUESTS)
        with conn.transaction():
            join_requests.answer_requests(
                conn,
                who,
                found,
                None if asked.all else asked.requests,
                role=LeagueRole(asked.join_role) if act == "approve" else None,
                words=asked.words,
            )
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return people_page(request, conn, who, found, answer=form)
    return redirect(f"/leagues/{found.slug}/people#requests")


@router.post("/leagues/{league}/people/requests-mode")
def change_requests_mode(league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Opens or closes the league for requests to join."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    asked = LeagueChange(takes_requests=given.get("takes") == "true")
    league_update.change_league(conn, who, found, asked)
    return redirect(f"/leagues/{found.slug}/people#requests")


@router.post("/leagues/{league}/people/{act}")
def change_block(
    request: Request,
    league: LeagueKey,
    act: Literal["block", "unblock"],
    conn: Db,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Blocks or unblocks a person, as the API does."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    form = Form.of(given, BLOCK_FORM)
    try:
        asked = BlockForm.model_validate(form.values)
        person = find_person(conn, asked.blocked, "blocked")
        do_it = league_blocks.block_person if act == "block" else league_blocks.unblock_person
        with conn.transaction():
            do_it(conn, who, found, person, asked.reason)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return people_page(request, conn, who, found, block=form)
    return redirect(f"/leagues/{found.slug}/people#blocks")


def find_person(conn: Connection, text: str, field: str) -> UserId:
    """The person with this id or this exact name. Raises Invalid."""
    user_id = users.find_user(conn, text)
    if user_id is None:
        raise Invalid(field, form_texts.UNKNOWN_PERSON)
    return user_id


def _places_of_members(
    request: Request, conn: Connection, season: Season, rows: list[Member]
) -> dict[UserId, Participant]:
    """What the agents of these members did in the season, by user id."""
    board = app_state_of(request).boards.board(season.id, season.revision)
    found = participants.list_participants(
        conn, season.league_id, season.id, [row.user_id for row in rows], board.rows
    )
    return {one.user_id: one for one in found if one.user_id}


def people_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    league: League,
    *,
    after: str | None = None,
    form: Form | None = None,
    answer: Form | None = None,
    block: Form | None = None,
) -> Response:
    """The page, with the errors of a refused form."""
    rows = members.list_members(conn, league.id, UserId(after) if after else None, MEMBERS_SHOWN)
    season = seasons.current_season(conn, league.id)
    roster = rosters.list_lines(conn, league.id)
    may_all = may_appoint(who, league.id)
    roles = [role for role in LeagueRole if may_all or role in members.PLAIN]
    return render(
        request,
        "people.html",
        status=422 if any(each and each.wrong for each in (form, answer, block)) else 200,
        requests=join_requests.list_requests(conn, league.id, limit=REQUESTS_SHOWN),
        waiting=join_requests.count_waiting(conn, league.id),
        blocks=league_blocks.list_blocks(conn, league.id, limit=BLOCKS_SHOWN),
        answer=answer or Form(dict(ANSWER_FORM), {"requests": []}),
        block=block or Form(dict(BLOCK_FORM)),
        league=league,
        members=rows,
        count=members.count_members(conn, league.id),
        roster=len(roster),
        expected=sum(line.user_id is None for line in roster),
        places=_places_of_members(request, conn, season, rows) if season else {},
        has_season=season is not None,
        more=rows[-1].user_id if len(rows) == MEMBERS_SHOWN else None,
        form=form or Form(dict(ROLE_FORM)),
        roles=[*((role.value, role.value) for role in roles), (NO_ROLE, "no role")],
        may="leagues:write" in who.scopes or who.is_admin,
    )
