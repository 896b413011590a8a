"""Visits to identity providers: to sign in, to sign up, to link an identity, to confirm."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.errors import ConfirmationNeeded, Conflict, Invalid, LadderError, NotFound
from ladder.ids import IdentityId, UserId
from ladder.leagues import sign_up as leagues_sign_up
from ladder.people import confirmation, identities, passkeys, sessions
from ladder.people.identities import ProvedIdentity, ProviderClient, ProviderError
from ladder.people.passkeys import Step, StepPurpose
from ladder.people.request_models import NewPerson
from ladder.people.sessions import SignInMethod
from services.http import mailing
from services.http.app_state import AppState, Db, State, app_state_of, transaction
from services.http.attempt_limits import Limits
from services.http.path_parameters import IdentityKey, ProviderKey
from services.http.sign_in import sign_up_mode
from services.web import formatting, forms, session
from services.web.account import redirect, safe_redirect_path
from services.web.page_rendering import PageRoute, render
from services.web.session import ConfirmedVisitor, FullVisitor
from services.web.sign_in import after_sign_up, signed_in
from services.web.sign_in_settings import PAGE, settings_page

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Onward = Annotated[str, Form(alias="next", max_length=500)]
Reason = Literal["sign_in", "link", "confirm"]
HAS_ACCOUNT: Final = "sign in and link this identity: an account here has its mail address already"
NAME_FIELDS: Final = {"name": "", "code": "", "state": ""}


def client_of(request: Request, key: str) -> ProviderClient:
    """The configured provider with this key. Raises NotFound."""
    client = app_state_of(request).providers.get(key)
    if client is None:
        raise NotFound.of("identity provider")
    return client


def redirect_uri_of(request: Request, key: str) -> str:
    """The address to which this provider sends the browser back."""
    base_url: str = app_state_of(request).settings.base_url
    return f"{base_url.rstrip('/')}/sign-in/with/{key}/callback"


@router.post("/sign-in/with/{key}")
def begin_sign_in(
    request: Request,
    app_state: AppState,
    key: ProviderKey,
    onward: Onward = "/me",
    code: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Leads to the provider, to sign in or to sign up."""
    if not code.isprintable():
        return visit_problem(request, "type the code again: it has characters that codes lack")
    details = {"reason": "sign_in", "next": safe_redirect_path(onward), "code": code}
    return begin_visit(request, app_state, key, None, details)


@router.post("/me/identities/{key}/link")
def begin_link(
    request: Request, app_state: AppState, key: ProviderKey, viewer: ConfirmedVisitor
) -> Response:
    """Leads to the provider, to link an identity to the person who is signed in."""
    return begin_visit(request, app_state, key, viewer.user_id, {"reason": "link"})


@router.post("/confirm/with/{key}")
def begin_confirmation(
    request: Request,
    app_state: AppState,
    key: ProviderKey,
    viewer: FullVisitor,
    onward: Onward = "/me",
) -> Response:
    """Leads to the provider, to confirm that it is the same person."""
    details = {"reason": "confirm", "next": safe_redirect_path(onward)}
    return begin_visit(request, app_state, key, viewer.user_id, details)


def begin_visit(
    request: Request,
    app_state: State,
    key: str,
    user_id: UserId | None,
    details: dict[str, Any],
) -> Response:
    """A page that leads on at once. A redirect would be refused: the policy of our pages lets forms
    go to this site only, also after redirects."""
    client = client_of(request, key)
    app_state.attempts.count(request, Limits.PROVIDER)
    try:
        visit = client.begin_visit(
            redirect_uri_of(request, key), asks_again=details["reason"] == "confirm"
        )
    except ProviderError as error:
        return provider_problem(request, error)
    kept = {**details, "key": key, "nonce": visit.nonce, "verifier": visit.verifier}
    with transaction(app_state) as conn:
        passkeys.begin_step(
            conn,
            StepPurpose.PROVIDER,
            visit.state.encode(),
            session.browser_digest(request),
            user_id,
            kept,
        )
    return render(request, "leave.html", address=visit.address, name=client.provider.name)


@router.get("/sign-in/with/{key}/callback")
def finish_visit(
    request: Request,
    app_state: AppState,
    key: ProviderKey,
    state: Annotated[str, Query(max_length=500)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
    error: Annotated[str, Query(max_length=200)] = "",
    iss: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """Takes the browser back from the provider: signs in, signs up, links or confirms."""
    client = client_of(request, key)
    provider = client.provider
    refusal = "you refused there" if error == "access_denied" else "it gave an error"
    if error and not state:  # some providers leave it out
        return visit_problem(request, f"{provider.name} did not sign you in: {refusal}")
    with transaction(app_state) as conn:
        viewer = session.visitor_of_request(request, conn)
        try:
            step = passkeys.finish_step(
                conn, StepPurpose.PROVIDER, state.encode(), session.browser_digest(request)
            )
            if step.details["key"] != key or step.user_id not in (None, viewer.user_id):
                raise Invalid("state", passkeys.WRONG_STEP)
        except Invalid as refused:
            return visit_problem(request, refused.message)
    if iss and iss != provider.issuer:
        return visit_problem(request, f"begin again: the answer is not from {provider.name}")
    if error or not code:
        return visit_problem(request, f"{provider.name} did not sign you in: {refusal}")
    try:
        proved = client.finish_visit(
            code,
            nonce=str(step.details["nonce"]),
            verifier=str(step.details["verifier"]),
            redirect_uri=redirect_uri_of(request, key),
        )
    except ProviderError as refused_answer:
        return provider_problem(request, refused_answer)
    if step.details["reason"] == "sign_in":
        return sign_in_or_up(request, app_state, step, proved)
    return link_or_confirm(request, app_state, step, proved)


def sign_in_or_up(
    request: Request, app_state: State, step: Step, proved: ProvedIdentity
) -> Response:
    """Signs the person of the identity in, or asks a new person for a name."""
    with transaction(app_state) as conn:
        user_id = identities.person_of_identity(conn, proved)
    onward = str(step.details["next"])
    if user_id is not None:
        return signed_in(request, app_state, user_id, onward, method=SignInMethod.IDENTITY)
    form = forms.Form({"name": proved.name, "code": str(step.details["code"]), "state": ""})
    kept = {
        "issuer": proved.issuer,
        "subject": proved.subject,
        "label": proved.label,
        "address": proved.address,
        "next": onward,
    }
    return name_page(request, app_state, form, kept)


def name_page(
    request: Request, app_state: State, form: forms.Form, kept: dict[str, Any]
) -> Response:
    """The form in which a new person chooses a name. It keeps the proven identity."""
    mode = sign_up_mode(request)
    if mode is not leagues_sign_up.SignUpMode.CLOSED:
        form.values["state"] = passkeys.new_secret()
        with transaction(app_state) as conn:
            passkeys.begin_step(
                conn,
                StepPurpose.IDENTITY_SIGN_UP,
                form.values["state"].encode(),
                session.browser_digest(request),
                None,
                kept,
            )
    return render(
        request,
        "identity_sign_up.html",
        status=422 if form.wrong else 200,
        form=form,
        mode=mode,
        label=kept["label"],
    )


@router.post("/sign-up/identity")
def sign_up(request: Request, app_state: AppState, sent: forms.Sent) -> Response:
    """Makes the account of a new person with a proven identity."""
    form = forms.Form.of(sent, NAME_FIELDS)
    app_state.attempts.count(request, Limits.SIGN_UP)
    with transaction(app_state) as conn:
        try:
            step = passkeys.finish_step(
                conn,
                StepPurpose.IDENTITY_SIGN_UP,
                form.values["state"].encode("utf-8", "replace"),
                session.browser_digest(request),
            )
        except Invalid as error:
            return visit_problem(request, error.message)
    kept = step.details
    proved = ProvedIdentity(
        str(kept["issuer"]),
        str(kept["subject"]),
        str(kept["label"]),
        form.values["name"],
        str(kept["address"]) if kept["address"] else None,
    )
    providers = [client.provider for client in app_state.providers.values()]
    domains = {
        domain
        for provider in providers
        if provider.issuer == proved.issuer
        for domain in provider.domains
    }
    try:
        person = NewPerson.model_validate({name: form.values[name] for name in ("name", "code")})
        with transaction(app_state) as conn:
            user, _ = leagues_sign_up.sign_up(
                conn, sign_up_mode(request), person, identity=proved, domains=domains
            )
    except (ValidationError, LadderError) as error:
        if isinstance(error, Conflict) and error.field == "address":
            error = Conflict(HAS_ACCOUNT)
        form.add_errors(error)
        return name_page(request, app_state, form, kept)
    onward = after_sign_up(person.code, str(kept["next"]))
    return signed_in(request, app_state, user.id, onward, method=SignInMethod.IDENTITY)


def link_or_confirm(
    request: Request, app_state: State, step: Step, proved: ProvedIdentity
) -> Response:
    """Links the identity to the person who began the visit, or confirms this person's session."""
    with transaction(app_state) as conn:
        viewer = session.visitor_of_request(request, conn)
        if viewer.user_id is None or viewer.user_id != step.user_id:
            return visit_problem(request, passkeys.WRONG_STEP)
        sessions.require_full_session(conn, viewer, request.state.session_id)
        if step.details["reason"] == "confirm":
            return confirm_by_identity(request, conn, viewer.user_id, step, proved)
        try:
            confirmation.require_recent_confirmation(conn, viewer, request.state.session_id)
        except ConfirmationNeeded:  # the way back here would meet a used state
            return redirect(f"/confirm?next={PAGE}")
        try:
            identities.link_identity(conn, viewer.user_id, proved)
        except Conflict as error:
            wrong = {"identity": formatting.sentence(error.message)}
            return settings_page(request, conn, viewer, wrong=wrong)
        mailing.tell_change(
            request, conn, viewer.user_id, "Your account has a new way to sign in: an identity."
        )
    return redirect(f"{PAGE}?changed=identity#identities")


def confirm_by_identity(
    request: Request, conn: Connection, user_id: UserId, step: Step, proved: ProvedIdentity
) -> Response:
    if identities.person_of_identity(conn, proved) != user_id:
        return visit_problem(request, "choose the account there that signs you in here")
    confirmation.confirm_session(conn, user_id, request.state.session_id, SignInMethod.IDENTITY)
    return redirect(safe_redirect_path(str(step.details["next"])))


@router.post("/me/identities/{identity}/unlink")
def unlink(
    request: Request,
    viewer: ConfirmedVisitor,
    conn: Db,
    app_state: AppState,
    identity: IdentityKey,
) -> Response:
    """Unlinks an identity, unless it is the last credential."""
    user_id = UserId(str(viewer.user_id))
    try:
        confirmation.remove_identity(conn, user_id, IdentityId(identity), app_state.issuers)
    except Conflict as error:
        wrong = {"identity": formatting.sentence(error.message)}
        return settings_page(request, conn, viewer, wrong=wrong)
    mailing.tell_change(request, conn, user_id, "An identity of your account was unlinked.")
    return redirect(f"{PAGE}?changed=removed#identities")


def visit_problem(request: Request, message: str) -> Response:
    """The page of a visit that ended badly through the visitor or the browser."""
    return render(request, "visit_problem.html", status=400, message=formatting.sentence(message))


def provider_problem(request: Request, error: ProviderError) -> Response:
    """The page of a provider that does not answer, or answers wrongly."""
    return render(
        request, "visit_problem.html", status=502, message=formatting.sentence(error.message)
    )
