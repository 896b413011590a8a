"""Hosts invite people: a link with its QR code, and the list of codes."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal
from urllib.parse import quote

import segno
from fastapi import APIRouter, Request, Response
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.field_types import Line
from ladder.ids import InvitationId
from ladder.leagues import invitations
from ladder.leagues.records import League
from ladder.people.records import Viewer
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import InvitationKey, LeagueKey
from services.http.problems import ProblemError
from services.web import forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.sharing import site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SCOPES: Final = ("leagues:write",)
SHOWN: Final = 50
DEFAULTS: Final = {"role": "competitor", "max_uses": "", "days": "30", "label": ""}


class InvitationForm(BaseModel):
    """Whom a code admits, how many, and for how long."""

    model_config = ConfigDict(extra="forbid")
    role: Literal["competitor", "viewer"]
    max_uses: Annotated[int | None, Field(ge=1, le=10_000)] = None
    days: Annotated[int | None, Field(ge=1, le=365)] = None
    label: Line = ""


@router.get("/leagues/{league}/invitations")
def show_invitations(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Shows the form and the codes of the league, for its hosts."""
    found = permissions.hosted_league(conn, who, league)
    return invitations_page(request, conn, who, found, Form(dict(DEFAULTS)))


@router.post("/leagues/{league}/invitations")
def create_invitation(
    request: Request, league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Makes a code and shows its link and QR code, this once."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    form = Form.of(given, DEFAULTS)
    link = None
    try:
        body = InvitationForm.model_validate({k: v for k, v in form.values.items() if v})
        ends = datetime.now(UTC) + timedelta(days=body.days) if body.days else None
        with conn.transaction():
            _, code = invitations.create_invitation(
                conn,
                found.id,
                role=body.role,
                created_by=who.user_id,
                label=body.label,
                max_uses=body.max_uses,
                expires_at=ends,
            )
        link = f"{site_address(request)}/join?code={quote(code)}"
    except (ValidationError, LadderError, ProblemError) as error:
        form.add_errors(error)
    return invitations_page(request, conn, who, found, form, link)


@router.post("/leagues/{league}/invitations/{invitation}/revoke")
def revoke_invitation(
    league: LeagueKey, invitation: InvitationKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Revokes a code. People who joined by it stay."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    invitations.revoke_invitation(conn, found.id, InvitationId(invitation))
    return redirect(f"/leagues/{found.slug}/invitations#codes")


def invitations_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    league: League,
    form: Form,
    link: str | None = None,
) -> Response:
    """The page, with the link of a code that was made now."""
    response = render(
        request,
        "invitations.html",
        status=422 if form.wrong else 200,
        league=league,
        form=form,
        link=link,
        picture=draw_qr_code(link) if link else None,
        invitations=invitations.list_invitations(conn, league.id, limit=SHOWN),
        now=datetime.now(UTC),
        may=set(SCOPES) <= who.scopes or who.is_admin,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


def draw_qr_code(link: str) -> Markup:
    """The link as a QR code in SVG, dark on white in both themes."""
    drawn = io.BytesIO()
    segno.make(link, error="m").save(
        drawn, kind="svg", xmldecl=False, svgns=True, border=3, light="#fff", dark="#11212a",
        omitsize=True, svgclass="qr",
    )  # fmt: skip
    text = drawn.getvalue().decode().replace("<svg ", '<svg aria-hidden="true" ', 1)
    return Markup(text)  # noqa: S704 (segno escapes what it writes)
