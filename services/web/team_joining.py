"""Pages to make a team and to join one: by its link, or by an invitation to the visitor."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import TypeAdapter, ValidationError

from ladder.errors import Invalid, LadderError
from ladder.field_types import Name
from ladder.ids import TeamInvitationId
from ladder.people import team_invitations, teams
from services.http import auth
from services.http.app_state import Db
from services.http.path_parameters import TeamInvitationKey
from services.http.problems import ProblemError
from services.web import form_texts, formatting, forms, session
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Code = Annotated[str, Query(max_length=100)]
Field = Annotated[str, Form(max_length=200)]
SCOPES: Final = ("agents:write",)
NAME: Final[TypeAdapter[str]] = TypeAdapter(Name)


@router.get("/teams/new")
def show_new_team(request: Request, who: Visitor) -> Response:
    """The form that makes a team."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/teams/new"))
    return render(request, "new_team.html", form=forms.Form({"name": ""}))


@router.post("/teams/new")
def create_team(request: Request, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Makes the team and shows its page."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/teams/new"))
    auth.check_scopes(who, SCOPES)
    form = forms.Form.of(given, {"name": ""})
    user_id, made = who.user_id, list[str]()
    try:
        form.run_once(
            request,
            conn,
            who,
            lambda: made.append(teams.make_team(conn, parse_name(form.values["name"]), user_id).id),
        )
    except (LadderError, ProblemError) as error:
        form.add_errors(error)
        return render(request, "new_team.html", status=422, form=form)
    return redirect(f"/teams/{made[0]}" if made else "/me#teams")


@router.get("/join-team")
def show_link(request: Request, conn: Db, who: Visitor, code: Code = "") -> Response:
    """Shows which team a link admits to, or why it does not. An anonymous visitor signs in
    first."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/join-team", code=code))
    invitation, wrong = None, ""
    if code:
        try:
            invitation = team_invitations.read_link(conn, who.user_id, code)
        except LadderError as error:
            wrong = error.message.rstrip(".")
    return render(
        request,
        "join_team.html",
        status=422 if wrong else 200,
        invitation=invitation,
        code=code.strip(),
        wrong=wrong,
    )


@router.post("/join-team")
def join_team(
    request: Request, conn: Db, who: Visitor, code: Field = "", form_token: Field = ""
) -> Response:
    """Makes the visitor a member and shows the team."""
    session.check_form(request, form_token)
    if who.user_id is None:
        return redirect("/sign-in?next=/join-team")
    auth.check_scopes(who, SCOPES)
    try:
        joined = team_invitations.join_by_link(conn, who.user_id, code)
    except LadderError as error:
        return refused(request, error, code)
    return redirect(f"/teams/{joined.id}")


@router.post("/team-invitations/{invitation}/{answer}")
def answer_invitation(
    request: Request,
    invitation: TeamInvitationKey,
    answer: str,
    conn: Db,
    who: Visitor,
    form_token: Field = "",
) -> Response:
    """Accepts or declines an invitation to the visitor."""
    session.check_form(request, form_token)
    if who.user_id is None:
        return redirect("/sign-in?next=/me")
    auth.check_scopes(who, SCOPES)
    invitation_id = TeamInvitationId(invitation)
    try:
        if answer == "accept":
            joined = team_invitations.accept_invitation(conn, who.user_id, invitation_id)
            return redirect(f"/teams/{joined.id}")
        team_invitations.decline_invitation(conn, who.user_id, invitation_id)
    except LadderError as error:
        return refused(request, error, "")
    return redirect("/me#teams")


def refused(request: Request, error: LadderError, code: str) -> Response:
    """The page that says why the visitor cannot join."""
    return render(
        request,
        "join_team.html",
        status=422,
        invitation=None,
        code=code.strip()[:100],
        wrong=error.message.rstrip("."),
    )


def parse_name(text: str) -> str:
    """A name as the API takes it. Raises Invalid."""
    if not text:
        raise Invalid("name", form_texts.FIELD_MISSING)
    try:
        return NAME.validate_python(text)
    except ValidationError as error:
        raise Invalid("name", forms.field_message(error.errors()[0])) from None
