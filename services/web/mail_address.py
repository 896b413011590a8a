"""The forms for the visitor's mail address, and the page of the link that proves it."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Form, Path, Request, Response

from ladder.errors import Conflict, Invalid, LimitReached, NotFound
from ladder.people import confirmation, mail_addresses, one_time_links
from ladder.people.one_time_links import LinkPurpose
from services.http import mailing
from services.http.app_state import AppState, Db
from services.web import formatting
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.sign_in_settings import PAGE, TO_SIGN_IN, person_of_form, settings_page

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Secret = Annotated[str, Path(max_length=100)]
FormToken = Annotated[str, Form(max_length=200)]
SUBJECT: Final = "Confirm your mail address"


@router.post("/me/mail")
def request_address(
    request: Request,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    address: Annotated[str, Form(max_length=300)] = "",
    form_token: FormToken = "",
) -> Response:
    """Mails a link to the address. The address counts once its reader opened the link."""
    user_id = person_of_form(request, conn, who, form_token)
    mailer = app_state.mailer
    if user_id is None:
        return redirect(TO_SIGN_IN)
    if mailer is None:
        raise NotFound
    confirmation.require_recent_confirmation(conn, who, request.state.session_id)
    try:
        normal, secret = mail_addresses.request_address(conn, user_id, address.strip())
    except (Invalid, LimitReached) as error:
        return settings_page(request, conn, who, wrong={"address": error.message})
    what = "With this link you confirm that this mail address is yours. It is valid for 24 hours."
    mailer.later(lambda: mailer.send_link(normal, SUBJECT, f"/me/mail/{secret}", what))
    return settings_page(request, conn, who, sent_to=normal)


@router.post("/me/mail/remove")
def remove_address(
    request: Request, conn: Db, who: Visitor, form_token: FormToken = ""
) -> Response:
    """Forgets the visitor's mail address."""
    user_id = person_of_form(request, conn, who, form_token)
    if user_id is None:
        return redirect(TO_SIGN_IN)
    confirmation.require_recent_confirmation(conn, who, request.state.session_id)
    mailing.tell_change(request, conn, user_id, "This mail address was removed.")
    mail_addresses.remove_address(conn, user_id)
    return redirect(f"{PAGE}#mail")


@router.get("/me/mail/remove")
def lead_to_address() -> Response:
    """Redirects to the page with this form.

    Without this route, ``/me/mail/{secret}`` would answer.
    """
    return redirect(f"{PAGE}#mail")


@router.get("/me/mail/{secret}")
def show_link(request: Request, conn: Db, who: Visitor, secret: Secret) -> Response:
    """Asks before the address is stored: programs that check mails open links too."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/me/mail/{secret}"))
    try:
        link = one_time_links.read_link(conn, LinkPurpose.ADDRESS, secret)
        if link.user_id != who.user_id:
            raise NotFound(one_time_links.WRONG_LINK)
    except NotFound as error:
        return link_page(request, wrong=error.message, status=404)
    return link_page(request, address=link.address, secret=secret)


@router.post("/me/mail/{secret}")
def prove_address(
    request: Request, conn: Db, who: Visitor, secret: Secret, form_token: FormToken = ""
) -> Response:
    """Stores the address."""
    user_id = person_of_form(request, conn, who, form_token)
    if user_id is None:
        return redirect(TO_SIGN_IN)
    before = mail_addresses.proven_address(conn, user_id)
    try:
        with conn.transaction():
            address = mail_addresses.prove_address(conn, user_id, secret)
    except (NotFound, Conflict) as error:
        status = 409 if isinstance(error, Conflict) else 404
        return link_page(request, wrong=error.message, status=status)
    if before not in (None, address):
        mailing.tell(request, str(before), f"The mail address of {who.name} is now another one.")
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
