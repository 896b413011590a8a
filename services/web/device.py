"""The page on which a signed-in person confirms `peck login` of a device."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request, Response

from ladder.errors import NotFound
from ladder.ids import UserId
from ladder.people import tokens
from ladder.people.tokens import DeviceLogin
from services.http.app_state import AppState, Db
from services.http.attempt_limits import Limits
from services.http.auth import Known
from services.web.page_rendering import PageRoute, render
from services.web.session import ConfirmedVisitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Code = Annotated[str, Form(max_length=40)]


@router.get("/device")
def show_device(
    request: Request, viewer: Known, code: Annotated[str, Query(max_length=40)] = ""
) -> Response:
    """Shows the form for the code. An anonymous visitor signs in first."""
    return device_page(request, code)


def device_page(
    request: Request,
    code: str,
    login: DeviceLogin | None = None,
    *,
    wrong: str | None = None,
    answer: str | None = None,
) -> Response:
    return render(
        request,
        "device.html",
        status=422 if wrong else 200,
        code=code,
        login=login,
        wrong=wrong,
        answer=answer,
    )


@router.post("/device")
def read_code(
    request: Request,
    conn: Db,
    app_state: AppState,
    viewer: Known,
    code: Code = "",
) -> Response:
    """Shows which device waits with this code."""
    app_state.attempts.count(request, Limits.DEVICE_CODE, str(viewer.user_id))
    try:
        login = tokens.waiting_login(conn, code)
    except NotFound as error:
        return device_page(request, code, wrong=error.message)
    return device_page(request, login.code, login)


@router.post("/device/answer")
def answer_device(
    request: Request,
    viewer: ConfirmedVisitor,
    conn: Db,
    app_state: AppState,
    answer: Annotated[Literal["confirm", "refuse"], Form()],
    code: Code = "",
) -> Response:
    """Confirms or refuses the device."""
    user_id = UserId(str(viewer.user_id))
    app_state.attempts.count(request, Limits.DEVICE_CODE, user_id)
    login = tokens.answer_login(conn, user_id, code, confirm=answer == "confirm")
    return device_page(request, "", login, answer=answer)
