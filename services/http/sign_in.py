"""Who may sign up, and checks of passwords for API and pages.

Passwords are hashed outside transactions, because a hash takes a while.
"""

from __future__ import annotations

from typing import Final

from fastapi import Request

from ladder.ids import UserId
from ladder.leagues import sign_up as leagues_sign_up
from ladder.leagues.sign_up import SignUpMode
from ladder.people import one_time_links, passwords
from ladder.people.identities import is_loopback
from ladder.people.one_time_links import LinkPurpose
from ladder.people.passwords import MOST_CHARACTERS, PasswordsBusy
from ladder.people.quotas import SIGN_UP, read_setting
from ladder.people.records import Team, User
from ladder.people.request_models import SignUp
from services.http.app_state import State, app_state_of, read_rows, transaction
from services.http.attempt_limits import Limits
from services.http.problems import ProblemError

FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def sign_up_mode(request: Request) -> SignUpMode:
    """The mode that an administrator chose. With ``local``, the mode of `peck up`, people on this
    machine sign up freely.

    Raises ProblemError for any other request if the mode is ``local``. So an instance that was made
    for one machine does not open itself to a network.
    """
    chosen = chosen_mode(app_state_of(request))
    if chosen != "local":
        return SignUpMode(chosen)
    is_forwarded = any(name in request.headers for name in FORWARDED)
    is_near = is_loopback(request.client.host if request.client else "")
    # Another name would be a page of a stranger whose DNS leads a browser here.
    host = request.url.hostname or ""
    if is_forwarded or not is_near or not (host == "localhost" or is_loopback(host)):
        raise ProblemError(
            "forbidden",
            "Ask the administrator to choose who may sign up, on the page /admin/settings or with"
            " PECK_SIGN_UP. Until then only people on this machine can make an account.",
        )
    return SignUpMode.OPEN


def mail_domains(request: Request) -> frozenset[str]:
    """The mail domains whose people may sign up in the mode ``domain``."""
    text = app_state_of(request).settings.sign_up_domains
    return frozenset(part.strip().lower() for part in text.split(",") if part.strip())


def chosen_mode(app_state: State) -> str:
    """What an administrator chose while the site runs, else the setting."""
    return str(
        read_rows(app_state.reads, lambda conn: read_setting(conn, SIGN_UP))
        or app_state.settings.sign_up
    )


def user_of_password(request: Request, app_state: State, name: str, password: str) -> UserId | None:
    """The person with this name and password, else None. Counts failures.

    Each attempt counts until it succeeds, so that guesses sent at once do not pass together. Raises
    ProblemError above a limit, or if too many passwords wait.
    """
    app_state.attempts.count(request, Limits.PASSWORD, name)
    app_state.attempts.count(request, Limits.SIGN_IN)
    with transaction(app_state) as conn:
        row = None if "\0" in name else passwords.stored_hash(conn, name)
    user_id, hashed = row or (None, None)
    try:
        is_right = app_state.hashing.is_right(hashed, password[: MOST_CHARACTERS + 1])
    except PasswordsBusy as error:
        _give_back(request, app_state, name)
        raise _busy(error) from None
    if user_id is None or hashed is None or not is_right:
        return None
    _give_back(request, app_state, name)
    if app_state.hashing.is_outdated(hashed):
        renewed = hash_password(app_state, password)
        with transaction(app_state) as conn:
            passwords.store_hash(conn, user_id, renewed)
    return user_id


def _give_back(request: Request, app_state: State, name: str) -> None:
    app_state.attempts.give_back(request, Limits.PASSWORD, name)
    app_state.attempts.give_back(request, Limits.SIGN_IN)


def hash_password(app_state: State, password: str) -> str:
    """The hash of a password. Raises ProblemError if too many passwords wait."""
    try:
        return app_state.hashing.hash(password)
    except PasswordsBusy as error:
        raise _busy(error) from None


def sign_up(
    request: Request, app_state: State, person: SignUp, link: str = ""
) -> tuple[User, Team | None]:
    """Creates an account. ``link`` is the secret of a mailed link that proves an address.

    Raises ProblemError and the errors of `ladder.leagues.sign_up`.
    """
    app_state.attempts.count(request, Limits.SIGN_UP)
    mode = sign_up_mode(request)
    leagues_sign_up.refuse_sign_up(mode, person)
    hashed = hash_password(app_state, person.password)
    with transaction(app_state) as conn:
        address = None
        if link:
            address = one_time_links.use_link(conn, LinkPurpose.SIGN_UP, link).address
        domains = mail_domains(request)
        return leagues_sign_up.sign_up(conn, mode, person, hashed, address=address, domains=domains)


def _busy(error: PasswordsBusy) -> ProblemError:
    return ProblemError("unavailable", str(error) or (PasswordsBusy.__doc__ or ""))
