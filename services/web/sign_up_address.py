"""Signing up with a mail address, in the mode ``domain``: the form, and the page of the link."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Form, Path, Request, Response

from ladder.errors import Invalid, NotFound
from ladder.leagues.sign_up import SignUpMode
from ladder.mail import domain_of, normal_address
from ladder.people import mail_addresses, one_time_links
from ladder.people.one_time_links import LinkPurpose
from services.http import sign_up_mode
from services.http.app_state import AppState, Db, transaction
from services.http.attempt_limits import Limits
from services.web import forms, session
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.sign_in import SIGN_UP_FIELDS, sign_up_page

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SUBJECT: Final = "Sign up"
WHAT: Final = "With this link you make your account. It is valid for 24 hours."


@router.post("/sign-up/address")
def mail_sign_up_link(
    request: Request,
    app_state: AppState,
    address: Annotated[str, Form(max_length=300)] = "",
    form_token: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Mails a link if the address may sign up. The answer never says whether it may."""
    session.check_form(request, form_token)
    mailer = app_state.mailer
    if mailer is None or sign_up_mode.sign_up_mode(request) is not SignUpMode.DOMAIN:
        raise NotFound
    app_state.attempts.count(request, Limits.SIGN_UP)
    form = forms.Form(dict(SIGN_UP_FIELDS))
    try:
        normal = normal_address(address.strip())
    except Invalid as error:
        form.add_errors(error)
        return sign_up_page(request, "/upload", form)
    app_state.attempts.count(request, Limits.MAIL, normal)
    domains = sign_up_mode.mail_domains(request)

    def send() -> None:
        if domain_of(normal) not in domains:
            return
        with transaction(app_state) as conn:
            sent = one_time_links.count_links_to(
                conn, normal, LinkPurpose.SIGN_UP, mail_addresses.HOUR
            )
            if sent >= mail_addresses.MAILS_AN_HOUR:
                return
            _, secret = one_time_links.create_link(conn, LinkPurpose.SIGN_UP, address=normal)
        mailer.send_link(normal, SUBJECT, f"/sign-up/with/{secret}", WHAT)

    mailer.later(send)
    return sign_up_page(request, "/upload", form, sent_to=normal)


@router.get("/sign-up/with/{secret}")
def show_link(
    request: Request, conn: Db, who: Visitor, secret: Annotated[str, Path(max_length=100)]
) -> Response:
    """The form for name and password of a person who proved an address."""
    try:
        link = one_time_links.read_link(conn, LinkPurpose.SIGN_UP, secret)
    except NotFound as error:
        return render(request, "mail_link.html", status=404, address=None, wrong=error.message)
    form = forms.Form({**SIGN_UP_FIELDS, "link": secret})
    return sign_up_page(request, "/upload", form, address=link.address or "")
