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
from ladder.leagues.rosters import LONGEST_ROSTER, ImportedLine, LineChange, RosterError
from ladder.people.records import Viewer
from services.http.app_state import Db
from services.http.auth import Anyone, Host
from services.http.spreadsheets import csv_text
from services.leagues.things import HostedLeague
from services.web import form_texts, forms, session
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/leagues/{league}/roster"
FIELDS: Final = {"csv": ""}


async def sent_roster(request: Request) -> FormData:
    """The form with the roster in ``csv``: the chosen file, else the text. A body above the limit
    is not read; ``too_large`` then says so.
    """
    try:
        sent = await request.form(max_files=1, max_fields=forms.MOST_FIELDS)
    except HTTPException as error:
        if error.status_code != 413:
            raise
        session.refuse_other_sites(request)
        return FormData({"too_large": "yes"})
    session.check_form(request, str(sent.get("form_token", "")))
    file, text = sent.get("file"), str(sent.get("csv", ""))
    if isinstance(file, UploadFile):
        text = (await file.read()).decode("utf-8", "replace") or text
        await file.close()
    return FormData({"csv": text, "act": str(sent.get("act", ""))})


@router.get(PATH)
def show_roster(request: Request, conn: Db, viewer: Anyone, league: HostedLeague) -> Response:
    """Shows the form, and who of the roster joined, to hosts."""
    return roster_page(request, conn, viewer, league, Form(dict(FIELDS)))


@router.post(PATH)
def import_roster(
    request: Request,
    conn: Db,
    viewer: Host,
    league: HostedLeague,
    sent: Annotated[FormData, Depends(sent_roster)],
) -> Response:
    """Imports the roster, or only checks it, as the API does. Shows each line's effect, or each
    fault; with a fault nothing is imported.

    Codes are shown only now: the answer is no redirect. A reload makes no second code.
    """
    form, is_dry = Form.of(sent, FIELDS), sent.get("act") == "check"
    faults: list[rosters.RosterFault] = []
    try:
        if "too_large" in sent:
            raise Invalid("csv", form_texts.ROSTER_TOO_LARGE)
        expected = rosters.parse_roster(checked_text(form))
        with conn.transaction():
            done = rosters.import_roster(
                conn, league.id, expected, by=viewer.user_id, is_dry=is_dry
            )
        if not is_dry:
            form.values["csv"] = ""
        return roster_page(request, conn, viewer, league, form, done=done, is_dry=is_dry)
    except RosterError as error:
        faults = error.faults
        form.wrong["csv"] = form_texts.ROSTER_REFUSED
    except LadderError as error:
        form.add_errors(error)
    return roster_page(request, conn, viewer, league, form, faults=faults)


def checked_text(form: Form) -> str:
    """The text of the roster. Raises Invalid if it is missing or too long."""
    text = form.values["csv"]
    if not text:
        raise Invalid("csv", form_texts.ROSTER_MISSING)
    if len(text) > LONGEST_ROSTER:
        raise Invalid("csv", form_texts.ROSTER_TOO_LONG.format(LONGEST_ROSTER))
    return text


def roster_page(
    request: Request,
    conn: Connection,
    viewer: Viewer,
    league: League,
    form: Form,
    *,
    faults: Sequence[rosters.RosterFault] = (),
    done: Sequence[ImportedLine] = (),
    is_dry: bool = False,
) -> Response:
    """The page, with the result of an import or the faults of its lines."""
    coded = [(line.name, line.external_id, line.code) for line in done if line.code]
    return render(
        request,
        "rosters/roster.html",
        status=422 if form.wrong else 200,
        league=league,
        form=form,
        faults=faults,
        done=done,
        is_dry=is_dry,
        changed=sum(line.change is not LineChange.SAME for line in done),
        codes=csv_text(["name", "external_id", "code"], coded).strip() if coded else "",
        lines=rosters.list_lines(conn, league.id),
        may="leagues:write" in viewer.scopes or viewer.is_admin,
    )
