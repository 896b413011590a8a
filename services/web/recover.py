"""The pages for people who lost their credentials: codes, mailed links, administrators' links."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Form, Path, Request, Response

from ladder.database.db import Connection
from ladder.errors import Invalid, NotFound
from ladder.ids import UserId
from ladder.mail import normal_address
from ladder.people import recovery
from ladder.people.sessions import SignInMethod
from services.http import mailing
from services.http.app_state import AppState, Db, State, transaction
from services.http.attempt_limits import Limits
from services.http.auth import Anyone
from services.web import session
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
AFTER: Final = "/me/account?changed=recovered#password"
Secret = Annotated[str, Path(max_length=100)]


@router.get("/recover")
def show_recovery(request: Request, app_state: AppState, viewer: Anyone) -> Response:
    """Shows the ways back into an account."""
    return recovery_page(request, app_state)


def recovery_page(
    request: Request, app_state: State, wrong: dict[str, str] | None = None, sent_to: str = ""
) -> Response:
    """The page. ``wrong`` has a message for the field ``code`` or ``address``."""
    return render(
        request,
        "recover.html",
        status=422 if wrong else 200,
        has_mail=app_state.mailer is not None,
        wrong=wrong or {},
        sent_to=sent_to,
    )


@router.post("/recover/code")
def recover_by_code(
    request: Request,
    app_state: AppState,
    code: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Signs the person of a recovery code in."""
    app_state.attempts.check(request, Limits.RECOVERY)
    try:
        with transaction(app_state) as conn:
            user_id = recovery.use_code(conn, code)
            return sign_recovered_person_in(request, conn, user_id, "A recovery code")
    except Invalid as error:
        app_state.attempts.count(request, Limits.RECOVERY)
        return recovery_page(request, app_state, {"code": error.message})


@router.post("/recover/mail")
def mail_recovery_link(
    request: Request,
    app_state: AppState,
    address: Annotated[str, Form(max_length=300)] = "",
) -> Response:
    """Mails a link if an account has the address. The answer never says whether one does."""
    mailer = app_state.mailer
    if mailer is None:
        raise NotFound
    app_state.attempts.count(request, Limits.RECOVERY)
    try:
        normal = normal_address(address.strip())
    except Invalid as error:
        return recovery_page(request, app_state, {"address": error.message})

    def send() -> None:
        with transaction(app_state) as conn:
            link = recovery.create_mailed_link(conn, normal)
        if link is not None:
            text = "With this link you sign in again. It is valid for 30 minutes."
            mailer.send_link(link[0], "Sign in again", f"/recover/{link[1]}", text)

    mailer.later(send)
    return recovery_page(request, app_state, sent_to=normal)


@router.get("/recover/code")
@router.get("/recover/mail")
def lead_to_recovery() -> Response:
    """Redirects to the page with this form.

    Without this route, ``/recover/{secret}`` would answer.
    """
    return redirect("/recover")


@router.get("/recover/{secret}")
def show_link(request: Request, conn: Db, viewer: Anyone, secret: Secret) -> Response:
    """Asks before the link is used: programs that check mails open links too."""
    try:
        user = recovery.person_of_link(conn, secret)
    except NotFound as error:
        return render(request, "recover_link.html", status=404, user=None, wrong=error.message)
    return render(request, "recover_link.html", user=user, secret=secret, wrong=None)


@router.post("/recover/{secret}")
def recover_by_link(request: Request, app_state: AppState, secret: Secret) -> Response:
    """Signs the person of the link in."""
    try:
        with transaction(app_state) as conn:
            user_id = recovery.use_link(conn, secret)
            return sign_recovered_person_in(request, conn, user_id, "A link")
    except NotFound as error:
        return render(request, "recover_link.html", status=404, user=None, wrong=error.message)


def sign_recovered_person_in(
    request: Request, conn: Connection, user_id: UserId, by_what: str
) -> Response:
    """Starts a session that counts as confirmed, and leads to the form for a new password."""
    response = redirect(AFTER)
    session.start_session(request, response, conn, user_id, method=SignInMethod.RECOVERY)
    mailing.tell_change(request, conn, user_id, f"{by_what} signed you in.")
    return response
