"""The page of a league's roster: hosts import it from CSV and see who joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request, Response
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from ladder.database.db import Connection
from ladder.errors import Invalid, LadderError
from ladder.leagues import rosters
from ladder.leagues.records import League
from ladder.leagues.rosters import ImportedLine, LineChange, RosterError
from ladder.people.records import Viewer
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.http.spreadsheets import csv_text
from services.web import form_texts, forms, session
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/leagues/{league}/roster"
SCOPES: Final = ("leagues:write",)
LONGEST: Final = 250_000
"""Characters of a roster; the API takes as many."""
FIELDS: Final = {"csv": ""}


async def sent_roster(request: Request) -> FormData:
    """The form with the roster in ``csv``: the chosen file, else the text. A body above the limit
    is not read; ``too_large`` then says so.
    """
    try:
        given = await request.form(max_files=1, max_fields=forms.MOST_FIELDS)
    except HTTPException as error:
        if error.status_code != 413:
            raise
        session.refuse_other_sites(request)
        return FormData({"too_large": "yes"})
    session.check_form(request, str(given.get("form_token", "")))
    file, text = given.get("file"), str(given.get("csv", ""))
    if isinstance(file, UploadFile):
        text = (await file.read()).decode("utf-8", "replace") or text
        await file.close()
    return FormData({"csv": text, "act": str(given.get("act", ""))})


@router.get(PATH)
def show_roster(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Shows the form, and who of the roster joined, to hosts."""
    found = permissions.hosted_league(conn, who, league)
    return roster_page(request, conn, who, found, Form(dict(FIELDS)))


@router.post(PATH)
def import_roster(
    request: Request,
    league: LeagueKey,
    conn: Db,
    who: Visitor,
    given: Annotated[FormData, Depends(sent_roster)],
) -> Response:
    """Imports the roster, or only checks it, as the API does. Shows each line's effect, or each
    fault; with a fault nothing is imported.

    Codes are shown only now: the answer is no redirect. A reload makes no second code.
    """
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    form, is_dry = Form.of(given, FIELDS), given.get("act") == "check"
    faults: list[rosters.RosterFault] = []
    try:
        if "too_large" in given:
            raise Invalid("csv", form_texts.ROSTER_TOO_LARGE)
        expected = rosters.parse_roster(checked_text(form))
        with conn.transaction():
            done = rosters.import_roster(conn, found.id, expected, by=who.user_id, is_dry=is_dry)
        if not is_dry:
            form.values["csv"] = ""
        return roster_page(request, conn, who, found, form, done=done, is_dry=is_dry)
    except RosterError as error:
        faults = error.faults
        form.wrong["csv"] = form_texts.ROSTER_REFUSED
    except LadderError as error:
        form.add_errors(error)
    return roster_page(request, conn, who, found, form, faults=faults)


def checked_text(form: Form) -> str:
    """The text of the roster. Raises Invalid if it is missing or too long."""
    text = form.values["csv"]
    if not text:
        raise Invalid("csv", form_texts.ROSTER_MISSING)
    if len(text) > LONGEST:
        raise Invalid("csv", form_texts.ROSTER_TOO_LONG.format(LONGEST))
    return text


def roster_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    league: League,
    form: Form,
    *,
    faults: Sequence[rosters.RosterFault] = (),
    done: Sequence[ImportedLine] = (),
    is_dry: bool = False,
) -> Response:
    """The page, with the result of an import or the faults of its lines."""
    coded = [(one.expected.name, one.expected.external_id, one.code) for one in done if one.code]
    return render(
        request,
        "roster.html",
        status=422 if form.wrong else 200,
        league=league,
        form=form,
        faults=faults,
        done=done,
        is_dry=is_dry,
        changed=sum(one.change is not LineChange.SAME for one in done),
        codes=csv_text(["name", "external_id", "code"], coded).strip() if coded else "",
        lines=rosters.list_lines(conn, league.id),
        may="leagues:write" in who.scopes or who.is_admin,
    )
