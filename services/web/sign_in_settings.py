"""The page on which a person manages credentials, mail address, browsers and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Form, Path, Query, Request, Response

from ladder.database.db import Connection
from ladder.errors import Conflict, Invalid, LadderError, LimitReached, NotFound
from ladder.ids import SessionId, TokenId, UserId
from ladder.people import (
    identities,
    one_time_links,
    passkeys,
    passwords,
    recovery,
    sessions,
    tokens,
)
from ladder.people.one_time_links import LinkPurpose
from ladder.people.records import Viewer
from services.http import mailing, sign_in
from services.http.app_state import AppState, Db, app_state_of, transaction
from services.http.auth import Known
from services.http.path_parameters import SessionKey, TokenKey
from services.web import form_texts, forms
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import ConfirmedVisitor, FullVisitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Secret = Annotated[str, Path(max_length=100)]
PAGE: Final = "/me/account"
MAIL_SUBJECT: Final = "Confirm your mail address"
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
    viewer: Known,
    changed: Annotated[Change | None, Query()] = None,
) -> Response:
    """Shows the credentials, browsers and tokens of the visitor."""
    return settings_page(request, conn, viewer, changed=changed)


def settings_page(
    request: Request,
    conn: Connection,
    viewer: Viewer,
    *,
    form: forms.Form | None = None,
    changed: str | None = None,
    wrong: Mapping[str, str] | None = None,
    sent_to: str = "",
) -> Response:
    """The page. ``wrong`` has the message of a refused ``address``, ``passkey`` or ``identity``;
    ``sent_to`` is the address to which a link was mailed.
    """
    user_id = UserId(str(viewer.user_id))
    app_state = app_state_of(request)
    return render(
        request,
        "sign_in_settings.html",
        status=422 if wrong or (form and form.wrong) else 200,
        form=form or forms.Form(dict(PASSWORD_FIELDS)),
        changed=changed,
        wrong=wrong or {},
        sent_to=sent_to,
        has_password=passwords.has_password(conn, user_id),
        asks_present=passwords.asks_present_password(conn, viewer, request.state.session_id),
        passkeys=passkeys.list_passkeys(conn, user_id),
        passkey_site=passkeys.site_of(app_state.settings.base_url),
        identities=identities.list_identities(conn, user_id),
        providers=[client.provider for client in app_state.providers.values()],
        codes=recovery.count_unused_codes(conn, user_id),
        has_mail=app_state.mailer is not None,
        address=recovery.proven_address(conn, user_id),
        sessions=sessions.list_sessions(conn, user_id),
        session_id=request.state.session_id,
        tokens=[token for token in tokens.list_tokens(conn, user_id) if not token.revoked_at],
    )


@router.post("/me/password")
def change_password(
    request: Request, app_state: AppState, viewer: FullVisitor, sent: forms.Sent
) -> Response:
    """Sets a new password and signs all other browsers out. Asks for the present password.

    Open recovery links, and devices that wait for their token, end too.
    """
    user_id = UserId(str(viewer.user_id))
    form = forms.Form(dict(PASSWORD_FIELDS))
    present, new = (str(sent.get(name, ""))[:1000] for name in ("present", "password"))
    revokes_tokens = sent.get("revoke_tokens") == "true"
    with transaction(app_state) as conn:
        asks_present = passwords.require_change(conn, viewer, request.state.session_id)
    try:
        if asks_present and (
            sign_in.user_of_password(request, app_state, viewer.name, present) != user_id
        ):
            raise Invalid("present", form_texts.PRESENT_IS_WRONG)
        passwords.refuse_weak_password(new, viewer.name)
        hashed = sign_in.hash_password(app_state, new)
    except LadderError as error:
        form.add_errors(error)
        form.values["revoke_tokens"] = "true" if revokes_tokens else ""
        with transaction(app_state) as conn:
            return settings_page(request, conn, viewer, form=form)
    with transaction(app_state) as conn:
        passwords.change_password(
            conn, user_id, request.state.session_id, hashed, revokes_tokens=revokes_tokens
        )
        mailing.tell_change(request, conn, user_id, "Your password was changed.")
    return redirect(f"{PAGE}?changed=password#password")


@router.post("/me/recovery/codes")
def create_recovery_codes(request: Request, viewer: ConfirmedVisitor, conn: Db) -> Response:
    """Shows ten new recovery codes, once. The old ones end."""
    user_id = UserId(str(viewer.user_id))
    codes = recovery.create_codes(conn, user_id)
    mailing.tell_change(request, conn, user_id, "Your account has new recovery codes.")
    return render(request, "recovery_codes.html", codes=codes)


@router.post("/me/sessions/{session}/revoke")
def revoke_session(session: SessionKey, viewer: FullVisitor, conn: Db) -> Response:
    """Signs another browser of the visitor out."""
    sessions.revoke_session(conn, UserId(str(viewer.user_id)), SessionId(session))
    return redirect(f"{PAGE}#sessions")


@router.post("/me/tokens/{token}/revoke")
def revoke_token(token: TokenKey, viewer: FullVisitor, conn: Db) -> Response:
    """Revokes a token of the visitor for good."""
    tokens.revoke_token(conn, UserId(str(viewer.user_id)), TokenId(token))
    return redirect(f"{PAGE}#tokens")


@router.post("/me/mail")
def request_address(
    request: Request,
    app_state: AppState,
    viewer: ConfirmedVisitor,
    conn: Db,
    address: Annotated[str, Form(max_length=300)] = "",
) -> Response:
    """Mails a link to the address. The address counts once its reader opened the link."""
    user_id, mailer = UserId(str(viewer.user_id)), app_state.mailer
    if mailer is None:
        raise NotFound
    try:
        normal, secret = recovery.request_address(conn, user_id, address.strip())
    except (Invalid, LimitReached) as error:
        return settings_page(request, conn, viewer, wrong={"address": error.message})
    text = "With this link you confirm that this mail address is yours. It is valid for 24 hours."
    mailer.later(lambda: mailer.send_link(normal, MAIL_SUBJECT, f"/me/mail/{secret}", text))
    return settings_page(request, conn, viewer, sent_to=normal)


@router.post("/me/mail/remove")
def remove_address(request: Request, viewer: ConfirmedVisitor, conn: Db) -> Response:
    """Forgets the visitor's mail address."""
    user_id = UserId(str(viewer.user_id))
    mailing.tell_change(request, conn, user_id, "This mail address was removed.")
    recovery.remove_address(conn, user_id)
    return redirect(f"{PAGE}#mail")


@router.get("/me/mail/remove")
def lead_to_address() -> Response:
    """Redirects to the page with this form.

    Without this route, ``/me/mail/{secret}`` would answer.
    """
    return redirect(f"{PAGE}#mail")


@router.get("/me/mail/{secret}")
def show_link(request: Request, conn: Db, viewer: Known, secret: Secret) -> Response:
    """Asks before the address is stored: programs that check mails open links too."""
    try:
        link = one_time_links.read_link(conn, LinkPurpose.ADDRESS, secret)
        if link.user_id != viewer.user_id:
            raise NotFound(one_time_links.WRONG_LINK)
    except NotFound as error:
        return link_page(request, wrong=error.message, status=404)
    return link_page(request, address=link.address, secret=secret)


@router.post("/me/mail/{secret}")
def prove_address(request: Request, viewer: FullVisitor, conn: Db, secret: Secret) -> Response:
    """Stores the address."""
    user_id = UserId(str(viewer.user_id))
    before = recovery.proven_address(conn, user_id)
    try:
        with conn.transaction():
            address = recovery.prove_address(conn, user_id, secret)
    except (NotFound, Conflict) as error:
        status = 409 if isinstance(error, Conflict) else 404
        return link_page(request, wrong=error.message, status=status)
    if before not in (None, address):
        mailing.tell(request, str(before), f"The mail address of {viewer.name} is now another one.")
    return redirect(f"{PAGE}?changed=mail#mail")


def link_page(
    request: Request,
    *,
    address: str | None = None,
    secret: str = "",
    wrong: str | None = None,
    status: int = 200,
) -> Response:
    return render(
        request, "mail_link.html", status=status, address=address, secret=secret, wrong=wrong
    )
