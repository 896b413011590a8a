"""The page on which a signed-in person confirms `peck login` of a device."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request, Response

from ladder.errors import NotFound
from ladder.people import confirmation, device_logins
from services.http.app_state import AppState, Db
from services.http.attempt_limits import Limits
from services.web import formatting, session
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Code = Annotated[str, Form(max_length=40)]


@router.get("/device")
def show_device(
    request: Request, who: Visitor, code: Annotated[str, Query(max_length=40)] = ""
) -> Response:
    """Shows the form for the code. An anonymous visitor signs in first."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address("/device", code=code))
    return render(request, "device.html", code=code, login=None, wrong=None, answer=None)


@router.post("/device")
def read_code(
    request: Request,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    code: Code = "",
    form_token: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Shows which device waits with this code."""
    session.check_form(request, form_token)
    if who.user_id is None:
        return redirect("/sign-in?next=/device")
    app_state.attempts.count(request, Limits.DEVICE_CODE, who.user_id)
    try:
        login = device_logins.waiting_login(conn, code)
    except NotFound as error:
        return render(
            request,
            "device.html",
            status=422,
            code=code,
            login=None,
            wrong=error.message,
            answer=None,
        )
    return render(request, "device.html", code=login.code, login=login, wrong=None, answer=None)


@router.post("/device/answer")
def answer_device(
    request: Request,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    answer: Annotated[Literal["confirm", "refuse"], Form()],
    code: Code = "",
    form_token: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Confirms or refuses the device."""
    session.check_form(request, form_token)
    if who.user_id is None:
        return redirect("/sign-in?next=/device")
    app_state.attempts.count(request, Limits.DEVICE_CODE, who.user_id)
    confirmation.require_recent_confirmation(conn, who, request.state.session_id)
    login = device_logins.answer_login(conn, who.user_id, code, confirm=answer == "confirm")
    return render(request, "device.html", code="", login=login, wrong=None, answer=answer)
