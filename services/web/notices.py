"""The visitor's page of notices."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from ladder.field_types import KEY
from ladder.ids import NoticeId
from ladder.notices import inbox
from ladder.reports.open_requests import list_open_requests
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
    requests_after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the requests that wait for the visitor's answer, then all notices, newest first.

    Older notices are shown without the requests.
    """
    if who.user_id is None:
        return redirect(SIGN_IN)
    waiting = [] if after else list_open_requests(conn, who, requests_after, SHOWN)
    found = inbox.list_notices(conn, who.user_id, NoticeId(after) if after else None, SHOWN)
    return render(
        request,
        "notices.html",
        waiting=waiting,
        older_requests=waiting[-1].id if len(waiting) == SHOWN else None,
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
