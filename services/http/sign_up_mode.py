"""Decides who may make an account on this site."""

from __future__ import annotations

from typing import Final

from fastapi import Request

from ladder.leagues.sign_up import SignUpMode
from ladder.people.identities import is_loopback
from ladder.people.quotas import SIGN_UP, read_setting
from services.http.app_state import State, app_state_of, read_rows
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
