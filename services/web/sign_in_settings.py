"""The page on which a person manages credentials, browsers and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Form, Query, Request, Response

from ladder.database.db import Connection
from ladder.errors import Invalid, LadderError
from ladder.ids import SessionId, TokenId, UserId
from ladder.people import (
    confirmation,
    identities,
    mail_addresses,
    passkeys,
    password_changes,
    passwords,
    recovery,
    sessions,
    tokens,
)
from ladder.people.records import Viewer
from services.http import mailing, sign_in
from services.http.app_state import AppState, Db, app_state_of, transaction
from services.http.path_parameters import SessionKey, TokenKey
from services.web import form_texts, forms, session
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PAGE: Final = "/me/account"
TO_SIGN_IN: Final = "/sign-in?next=/me/account"
PASSWORD_FIELDS: Final = {"password": "", "present": "", "revoke_tokens": ""}


@router.get("/.well-known/change-password")
def lead_to_password() -> Response:
    """Leads password managers to the form (W3C, a well-known URL for changing passwords)."""
    return redirect(f"{PAGE}#password")


Change = Literal["password", "recovered", "mail", "passkey", "identity", "removed"]


@router.get(PAGE)
def show_settings(
    request: Request,
    conn: Db,
    who: Visitor,
    changed: Annotated[Change | None, Query()] = None,
) -> Response:
    """Shows the credentials, browsers and tokens of the visitor."""
    return settings_page(request, conn, who, changed=changed)


def settings_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    *,
    form: forms.Form | None = None,
    changed: str | None = None,
    wrong: Mapping[str, str] | None = None,
    sent_to: str = "",
) -> Response:
    """The page. ``wrong`` has the message of a refused ``address``, ``passkey`` or ``identity``;
    ``sent_to`` is the address to which a link was mailed.
    """
    if who.user_id is None:
        return redirect(TO_SIGN_IN)
    app_state = app_state_of(request)
    held = [token for token in tokens.list_tokens(conn, who.user_id) if not token.revoked_at]
    return render(
        request,
        "sign_in_settings.html",
        status=422 if wrong or (form and form.wrong) else 200,
        form=form or forms.Form(dict(PASSWORD_FIELDS)),
        changed=changed,
        wrong=wrong or {},
        sent_to=sent_to,
        has_password=passwords.has_password(conn, who.user_id),
        asks_present=password_changes.asks_present_password(conn, who, request.state.session_id),
        passkeys=passkeys.list_passkeys(conn, who.user_id),
        passkey_site=passkeys.site_of(app_state.settings.base_url),
        identities=identities.list_identities(conn, who.user_id),
        providers=[one.provider for one in app_state.providers.values()],
        codes=recovery.count_unused_codes(conn, who.user_id),
        has_mail=app_state.mailer is not None,
        address=mail_addresses.proven_address(conn, who.user_id),
        sessions=sessions.list_sessions(conn, who.user_id),
        session_id=request.state.session_id,
        tokens=held,
    )


@router.post("/me/password")
def change_password(request: Request, app_state: AppState, given: forms.Sent) -> Response:
    """Sets a new password and signs all other browsers out. Asks for the present password.

    Open recovery links, and devices that wait for their token, end too.
    """
    form = forms.Form(dict(PASSWORD_FIELDS))
    present, new = (str(given.get(name, ""))[:1000] for name in ("present", "password"))
    revokes_tokens = given.get("revoke_tokens") == "true"
    with transaction(app_state) as conn:
        who = session.visitor_of_request(request, conn)
        if who.user_id is None:
            return redirect(TO_SIGN_IN)
        asks_present = password_changes.require_change(conn, who, request.state.session_id)
    try:
        if asks_present and (
            sign_in.user_of_password(request, app_state, who.name, present) != who.user_id
        ):
            raise Invalid("present", form_texts.PRESENT_IS_WRONG)
        passwords.refuse_weak_password(new, who.name)
        hashed = sign_in.hash_password(app_state, new)
    except LadderError as error:
        form.add_errors(error)
        form.values["revoke_tokens"] = "true" if revokes_tokens else ""
        with transaction(app_state) as conn:
            return settings_page(request, conn, who, form=form)
    with transaction(app_state) as conn:
        password_changes.change_password(
            conn, who.user_id, request.state.session_id, hashed, revokes_tokens=revokes_tokens
        )
        mailing.tell_change(request, conn, who.user_id, "Your password was changed.")
    return redirect(f"{PAGE}?changed=password#password")


@router.post("/me/recovery/codes")
def create_recovery_codes(
    request: Request,
    conn: Db,
    who: Visitor,
    form_token: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Shows ten new recovery codes, once. The old ones end."""
    user_id = person_of_form(request, conn, who, form_token)
    if user_id is None:
        return redirect(TO_SIGN_IN)
    confirmation.require_recent_confirmation(conn, who, request.state.session_id)
    codes = recovery.create_codes(conn, user_id)
    mailing.tell_change(request, conn, user_id, "Your account has new recovery codes.")
    return render(request, "recovery_codes.html", codes=codes)


@router.post("/me/sessions/{session_id}/revoke")
def revoke_session(
    request: Request,
    session_id: SessionKey,
    conn: Db,
    who: Visitor,
    form_token: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Signs another browser of the visitor out."""
    user_id = person_of_form(request, conn, who, form_token)
    if user_id is None:
        return redirect(TO_SIGN_IN)
    sessions.revoke_session(conn, user_id, SessionId(session_id))
    return redirect(f"{PAGE}#sessions")


@router.post("/me/tokens/{token_id}/revoke")
def revoke_token(
    request: Request,
    token_id: TokenKey,
    conn: Db,
    who: Visitor,
    form_token: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Revokes a token of the visitor for good."""
    user_id = person_of_form(request, conn, who, form_token)
    if user_id is None:
        return redirect(TO_SIGN_IN)
    tokens.revoke_token(conn, user_id, TokenId(token_id))
    return redirect(f"{PAGE}#tokens")


def person_of_form(
    request: Request, conn: Connection, who: Viewer, form_token: str
) -> UserId | None:
    """The visitor who sent a form of this page; None if nobody is signed in.

    Raises ProblemError for a form of another site, and Forbidden for a session of a limited token.
    """
    session.check_form(request, form_token)
    if who.user_id is not None:
        sessions.require_full_session(conn, who, request.state.session_id)
    return who.user_id
