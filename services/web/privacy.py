"""What is stored about people, the export of one's data, and the deletion of one's account."""

from __future__ import annotations

import hmac
import time
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import UserId
from ladder.people.records import STRANGER, Viewer
from ladder.privacy import erasing
from ladder.privacy.rules import RULES
from services.http import privacy
from services.http.app_state import AppState, Db, transaction
from services.http.auth import Anyone, Known
from services.http.problems import ProblemError
from services.web import form_texts, forms, session
from services.web.page_rendering import PageRoute, render
from services.web.session import ConfirmedVisitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
LINK_SECONDS: Final = 3600
FIELDS: Final = {"name": ""}


@router.get("/privacy")
def show_privacy(request: Request, viewer: Anyone) -> Response:
    """Shows what is kept about people, how long, and what a deletion leaves."""
    return render(request, "privacy.html", rules=[rule for rule in RULES if rule.about])


@router.get("/me/data")
def show_data(request: Request, conn: Db, viewer: Known) -> Response:
    """Shows the link to the export, and the form that deletes the account."""
    return data_page(request, conn, viewer, forms.Form(dict(FIELDS)))


@router.get("/me/data/export")
def export_data(
    request: Request,
    app_state: AppState,
    viewer: ConfirmedVisitor,
    until: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
    signature: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """Sends the zip file. The link is valid for an hour, and for the person who made it."""
    session.refuse_other_sites(request)
    is_right = hmac.compare_digest(signature, export_signature(request, viewer, until))
    if not is_right or until < time.time():
        raise ProblemError("forbidden", form_texts.EXPORT_LINK_OVER)
    return privacy.export_response(app_state, viewer)


@router.post("/me/data/delete")
def delete_account(
    request: Request, app_state: AppState, viewer: ConfirmedVisitor, sent: forms.Sent
) -> Response:
    """Deletes the visitor's account and signs all browsers out. Asks for the credential again."""
    form = forms.Form.of(sent, FIELDS)
    try:
        pseudonym = privacy.delete_account(app_state, viewer, form.values["name"])
    except LadderError as error:
        form.add_errors(error)
        with transaction(app_state) as conn:
            return data_page(request, conn, viewer, form)
    request.state.viewer = STRANGER
    response = render(request, "account_deleted.html", pseudonym=pseudonym)
    session.delete_cookie(request, response, session.SESSION)
    return response


def data_page(request: Request, conn: Connection, viewer: Viewer, form: forms.Form) -> Response:
    """The visitor's page on their data."""
    until = int(time.time()) + LINK_SECONDS
    signature = export_signature(request, viewer, until)
    return render(
        request,
        "my_data.html",
        status=422 if form.wrong else 200,
        form=form,
        fate=erasing.preview_erasure(conn, UserId(str(viewer.user_id))),
        export=f"/me/data/export?until={until}&signature={signature}",
    )


def export_signature(request: Request, viewer: Viewer, until: int) -> str:
    """The part of the link that only this site can make, for this person and time."""
    return session.sign_text(request, "export", f"{viewer.user_id}:{until}")
