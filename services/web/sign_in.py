"""Signing up, in and out, and the confirmation of `peck login` of a device."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Form, Path, Query, Request, Response
from pydantic import ValidationError

from ladder.errors import Invalid, LadderError, NotFound
from ladder.ids import TokenId, UserId
from ladder.leagues.sign_up import SignUpMode
from ladder.mail import domain_of, normal_address
from ladder.people import one_time_links, passkeys, recovery, sessions, tokens
from ladder.people.identities import IdentityProvider
from ladder.people.one_time_links import LinkPurpose
from ladder.people.request_models import SignUp
from ladder.people.sessions import SignInMethod
from ladder.people.tokens import DeviceLogin
from services.http import sign_in as http_sign_in
from services.http.app_state import AppState, Db, State, app_state_of, transaction
from services.http.attempt_limits import Limits
from services.http.auth import Anyone, Known
from services.http.foreign_urls import split_url
from services.web import form_texts, forms, session
from services.web.account import redirect, safe_redirect_path
from services.web.page_rendering import PageRoute, render
from services.web.session import ConfirmedVisitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SIGN_UP_SUBJECT: Final = "Sign up"
SIGN_UP_TEXT: Final = "With this link you make your account. It is valid for 24 hours."
SIGN_UP_FIELDS: Final = {"name": "", "password": "", "code": "", "link": "", "address": ""}


@router.get("/sign-in")
def show_sign_in(
    request: Request, viewer: Anyone, onward: Annotated[str, Query(alias="next")] = "/me"
) -> Response:
    """Shows the form. A visitor who is signed in is redirected."""
    if viewer.user_id:
        return redirect(safe_redirect_path(onward))
    return sign_in_page(request, onward)


@router.post("/sign-in")
def sign_in(
    request: Request,
    app_state: AppState,
    token: Annotated[str, Form(max_length=200)] = "",
    name: Annotated[str, Form(max_length=200)] = "",
    password: Annotated[str, Form(max_length=1000)] = "",
    onward: Annotated[str, Form(alias="next", max_length=500)] = "/me",
) -> Response:
    """Creates a session from name and password, or from a pasted token."""
    if token:
        app_state.attempts.check(request, Limits.SIGN_IN)
        with transaction(app_state) as conn:
            valid_token = tokens.valid_token(conn, token.strip())
            sessions.refuse_blocked_token(conn, token.strip())
        if valid_token is None:
            app_state.attempts.count(request, Limits.SIGN_IN)
            return sign_in_page(request, onward, wrong_token=form_texts.LOGIN_FAILED)
        return signed_in(request, app_state, valid_token.user_id, onward, valid_token.id)
    user_id = http_sign_in.user_of_password(request, app_state, name.strip(), password)
    if user_id is None:
        return sign_in_page(request, onward, name=name, wrong=form_texts.SIGN_IN_FAILED)
    return signed_in(request, app_state, user_id, onward)


def sign_in_page(
    request: Request,
    onward: str,
    *,
    name: str = "",
    wrong: str | None = None,
    wrong_token: str | None = None,
) -> Response:
    """The page with both forms."""
    return render(
        request,
        "sign_in.html",
        status=422 if wrong or wrong_token else 200,
        next=safe_redirect_path(onward),
        name=name,
        wrong=wrong,
        wrong_token=wrong_token,
        providers=providers_of(request),
        has_passkeys=has_passkeys(request),
    )


def providers_of(request: Request) -> list[IdentityProvider]:
    """The configured identity providers."""
    return [client.provider for client in app_state_of(request).providers.values()]


def has_passkeys(request: Request) -> bool:
    """Whether browsers offer passkeys at the address of this site."""
    return passkeys.site_of(app_state_of(request).settings.base_url) is not None


def signed_in(
    request: Request,
    app_state: State,
    user_id: UserId,
    onward: str,
    token_id: TokenId | None = None,
    method: SignInMethod = SignInMethod.PASSWORD,
) -> Response:
    """Starts a session and redirects to a path of this site."""
    response = redirect(safe_redirect_path(onward))
    with transaction(app_state) as conn:
        session.start_session(request, response, conn, user_id, token_id, method)
    return response


@router.post("/sign-out")
def sign_out(request: Request, conn: Db, viewer: Anyone) -> Response:
    """Ends the session of this browser."""
    response = redirect("/")
    session.end_session(request, response, conn, viewer)
    return response


@router.get("/sign-up")
def show_sign_up(
    request: Request,
    viewer: Anyone,
    onward: Annotated[str, Query(alias="next")] = "/upload",
    code: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Shows the form for a new account."""
    if viewer.user_id:
        return redirect(safe_redirect_path(onward))
    return sign_up_page(request, onward, forms.Form({**SIGN_UP_FIELDS, "code": code}))


@router.post("/sign-up")
def sign_up(request: Request, app_state: AppState, sent: forms.Sent) -> Response:
    """Creates a person and signs them in."""
    form = forms.Form.of(sent, SIGN_UP_FIELDS)
    onward = str(sent.get("next", "/upload"))[:500]
    try:
        values = {"name": form.values["name"], "code": form.values["code"]}
        person = SignUp.model_validate({**values, "password": str(sent.get("password", ""))})
        user, _ = http_sign_in.sign_up(request, app_state, person, form.values["link"])
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return sign_up_page(request, onward, form)
    return signed_in(request, app_state, user.id, after_sign_up(person.code, onward))


def after_sign_up(code: str, onward: str) -> str:
    """Where a new person goes next: into the league of the code, if there is one."""
    return f"/join?{urlencode({'code': code})}" if code else onward


def code_of_path(onward: str) -> str:
    """The invitation code in the path of an invitation link. Empty if there is none."""
    address = split_url(onward)
    return parse_qs(address.query).get("code", [""])[0] if address.path == "/join" else ""


def sign_up_page(
    request: Request, onward: str, form: forms.Form, *, address: str = "", sent_to: str = ""
) -> Response:
    """The page of the form; the password is never sent back.

    ``address`` was proven by the link in the form; ``sent_to`` is where a link was mailed.
    """
    form.values["password"] = ""
    mode = http_sign_in.sign_up_mode(request)
    if mode in (SignUpMode.INVITATION, SignUpMode.DOMAIN) and not form.values["code"]:
        form.values["code"] = code_of_path(onward)
    return render(
        request,
        "sign_up.html",
        status=422 if form.wrong else 200,
        next=safe_redirect_path(onward),
        form=form,
        mode=mode,
        providers=providers_of(request),
        domains=sorted(http_sign_in.mail_domains(request)),
        has_mail=app_state_of(request).mailer is not None,
        address=address,
        sent_to=sent_to,
    )


@router.post("/sign-up/address")
def mail_sign_up_link(
    request: Request,
    app_state: AppState,
    address: Annotated[str, Form(max_length=300)] = "",
) -> Response:
    """Mails a link if the address may sign up. The answer never says whether it may."""
    mailer = app_state.mailer
    if mailer is None or http_sign_in.sign_up_mode(request) is not SignUpMode.DOMAIN:
        raise NotFound
    app_state.attempts.count(request, Limits.SIGN_UP)
    form = forms.Form(dict(SIGN_UP_FIELDS))
    try:
        normal = normal_address(address.strip())
    except Invalid as error:
        form.add_errors(error)
        return sign_up_page(request, "/upload", form)
    app_state.attempts.count(request, Limits.MAIL, normal)
    domains = http_sign_in.mail_domains(request)

    def send() -> None:
        if domain_of(normal) not in domains:
            return
        with transaction(app_state) as conn:
            sent = one_time_links.count_links_to(conn, normal, LinkPurpose.SIGN_UP, recovery.HOUR)
            if sent >= recovery.MAILS_AN_HOUR:
                return
            _, secret = one_time_links.create_link(conn, LinkPurpose.SIGN_UP, address=normal)
        mailer.send_link(normal, SIGN_UP_SUBJECT, f"/sign-up/with/{secret}", SIGN_UP_TEXT)

    mailer.later(send)
    return sign_up_page(request, "/upload", form, sent_to=normal)


@router.get("/sign-up/with/{secret}")
def show_link(
    request: Request, conn: Db, viewer: Anyone, secret: Annotated[str, Path(max_length=100)]
) -> Response:
    """The form for name and password of a person who proved an address."""
    try:
        link = one_time_links.read_link(conn, LinkPurpose.SIGN_UP, secret)
    except NotFound as error:
        return render(request, "mail_link.html", status=404, address=None, wrong=error.message)
    form = forms.Form({**SIGN_UP_FIELDS, "link": secret})
    return sign_up_page(request, "/upload", form, address=link.address or "")


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
