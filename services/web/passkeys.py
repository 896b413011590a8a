"""Registers passkeys, signs in and confirms with them. The script ``passkeys.js`` asks the device.

Each pair of routes is an answer with options, and a form with what the device said.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import JSONResponse

from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import PasskeyId, UserId
from ladder.people import confirmation, passkeys, users
from ladder.people.passkeys import MOST_ANSWER_CHARACTERS, PasskeySite
from ladder.people.sessions import SignInMethod
from services.http import mailing
from services.http.app_state import AppState, Db, State, app_state_of, transaction
from services.http.attempt_limits import Limits
from services.http.auth import Known
from services.http.path_parameters import PasskeyKey
from services.web import formatting, forms, session
from services.web.account import redirect, safe_redirect_path
from services.web.confirm import confirmation_page
from services.web.page_rendering import PageRoute, render
from services.web.session import ConfirmedVisitor, FullVisitor
from services.web.sign_in import sign_in_page, signed_in
from services.web.sign_in_settings import PAGE, settings_page

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Onward = Annotated[str, Form(alias="next", max_length=500)]
DeviceAnswer = Annotated[str, Form(max_length=MOST_ANSWER_CHARACTERS)]


def site_of(request: Request) -> PasskeySite:
    """The site of the passkeys. Raises NotFound where browsers offer none."""
    site = passkeys.site_of(app_state_of(request).settings.base_url)
    if site is None:
        raise NotFound
    return site


Site = Annotated[PasskeySite, Depends(site_of)]


@router.get("/me/passkeys/new")
def show_new_passkey(
    request: Request, viewer: Known, site: Site, confirmed: ConfirmedVisitor
) -> Response:
    """Shows the form for a name, after a confirmation."""
    return new_passkey_page(request)


def new_passkey_page(request: Request, name: str = "", wrong: str | None = None) -> Response:
    device = session.device_name(request.headers.get("user-agent", ""))
    return render(
        request,
        "new_passkey.html",
        status=422 if wrong else 200,
        name=name or device,
        wrong=wrong,
    )


@router.post("/me/passkeys/options")
def begin_registration(
    request: Request, viewer: ConfirmedVisitor, conn: Db, site: Site
) -> Response:
    """The options for a new passkey."""
    user = users.get_user(conn, UserId(str(viewer.user_id)))
    browser = session.browser_digest(request)
    return JSONResponse(passkeys.begin_registration(conn, site, user, browser))


@router.post("/me/passkeys")
def finish_registration(
    request: Request,
    viewer: ConfirmedVisitor,
    conn: Db,
    site: Site,
    name: Annotated[str, Form(max_length=200)] = "",
    answer: DeviceAnswer = "",
) -> Response:
    """Stores the new passkey."""
    user_id = UserId(str(viewer.user_id))
    browser = session.browser_digest(request)
    try:
        title = forms.parse_name(name.strip())
        passkeys.finish_registration(conn, site, user_id, browser, answer, title)
    except (Invalid, Conflict) as error:
        return new_passkey_page(request, name, formatting.sentence(error.message))
    mailing.tell_change(request, conn, user_id, "Your account has a new passkey.")
    return redirect(f"{PAGE}?changed=passkey#passkeys")


@router.post("/me/passkeys/{passkey}/remove")
def remove_passkey(
    request: Request,
    viewer: ConfirmedVisitor,
    conn: Db,
    app_state: AppState,
    passkey: PasskeyKey,
) -> Response:
    """Removes a passkey, unless it is the last credential."""
    user_id = UserId(str(viewer.user_id))
    try:
        confirmation.remove_passkey(conn, user_id, PasskeyId(passkey), app_state.issuers)
    except Conflict as error:
        wrong = {"passkey": formatting.sentence(error.message)}
        return settings_page(request, conn, viewer, wrong=wrong)
    mailing.tell_change(request, conn, user_id, "A passkey of your account was removed.")
    return redirect(f"{PAGE}?changed=removed#passkeys")


@router.post("/sign-in/passkey/options")
def begin_sign_in(request: Request, app_state: AppState, site: Site) -> Response:
    """The options for signing in with any passkey of this site."""
    app_state.attempts.check(request, Limits.SIGN_IN)
    app_state.attempts.count(request, Limits.PASSKEY)
    with transaction(app_state) as conn:
        browser = session.browser_digest(request)
        return JSONResponse(passkeys.begin_sign_in(conn, site, browser))


@router.post("/sign-in/passkey")
def finish_sign_in(
    request: Request,
    app_state: AppState,
    site: Site,
    answer: DeviceAnswer = "",
    onward: Onward = "/me",
) -> Response:
    """Signs the person of the passkey in."""
    person = person_of_answer(request, app_state, site, answer)
    if isinstance(person, Invalid):
        return sign_in_page(request, onward, wrong=formatting.sentence(person.message))
    return signed_in(request, app_state, person, onward, method=SignInMethod.PASSKEY)


def person_of_answer(
    request: Request,
    app_state: State,
    site: PasskeySite,
    answer: str,
    user_id: UserId | None = None,
) -> UserId | Invalid:
    """The person whose passkey signed, or why not. The challenge is used up in both cases."""
    app_state.attempts.check(request, Limits.SIGN_IN)
    browser = session.browser_digest(request)
    with transaction(app_state) as conn:
        try:
            return passkeys.finish_sign_in(conn, site, browser, answer, user_id)
        except Invalid as error:
            refused = error
    app_state.attempts.count(request, Limits.SIGN_IN)
    return refused


@router.post("/confirm/passkey/options")
def begin_confirmation(request: Request, viewer: FullVisitor, conn: Db, site: Site) -> Response:
    """The options for confirming with a passkey of this person."""
    browser = session.browser_digest(request)
    return JSONResponse(passkeys.begin_sign_in(conn, site, browser, viewer.user_id))


@router.post("/confirm/passkey")
def finish_confirmation(
    request: Request,
    app_state: AppState,
    viewer: FullVisitor,
    site: Site,
    answer: DeviceAnswer = "",
    onward: Onward = "/me",
) -> Response:
    """Confirms this session with a passkey."""
    user_id = UserId(str(viewer.user_id))
    person = person_of_answer(request, app_state, site, answer, user_id)
    with transaction(app_state) as conn:
        if isinstance(person, Invalid):
            wrong = formatting.sentence(person.message)
            return confirmation_page(request, conn, user_id, onward, wrong)
        confirmation.confirm_session(conn, user_id, request.state.session_id, SignInMethod.PASSKEY)
    return redirect(safe_redirect_path(onward))
