"""The visitor's page of notices."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from ladder.field_types import KEY
from ladder.ids import NoticeId
from ladder.notices import inbox
from ladder.scrims import requests
from ladder.scrims.request_records import RequestState
from services.http.app_state import Db
from services.web import forms
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SHOWN: Final = 30
SIGN_IN: Final = "/sign-in?next=/me/notices"


@router.get("/me/notices")
def show_notices(
    request: Request,
    conn: Db,
    who: Visitor,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the requests that the visitor's teams must answer, then all notices, newest first."""
    if who.user_id is None:
        return redirect(SIGN_IN)
    teams = () if after else sorted(who.team_ids)
    waiting = requests.list_requests(conn, to_teams=teams, state=RequestState.ASKED, limit=SHOWN)
    found = inbox.list_notices(conn, who.user_id, NoticeId(after) if after else None, SHOWN)
    return render(
        request,
        "notices.html",
        waiting=waiting,
        notices=found,
        older=found[-1].id if len(found) == SHOWN else None,
    )


@router.post("/me/notices/read")
def mark_read(conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Marks the newest notice that the page showed, and all older ones, as read."""
    if who.user_id is None:
        return redirect(SIGN_IN)
    inbox.mark_read(conn, who.user_id, NoticeId(forms.parse_key(given, "until")))
    return redirect("/me/notices")
