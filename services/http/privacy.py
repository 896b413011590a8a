"""Exports and deletes accounts, for API and pages."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse

from ladder.database.db import Connection
from ladder.errors import Forbidden, Invalid
from ladder.people import confirmation
from ladder.people.records import Viewer
from ladder.privacy import erasing, export
from ladder.slugs import normal_text
from services.http import sign_in
from services.http.app_state import State, transaction

T = TypeVar("T")
WRONG_PASSWORD: Final = "the password is wrong"  # noqa: S105
USE_PAGE: Final = (
    "Delete your account on the page /me/data: you sign in with a passkey or an identity, which a"
    " token cannot ask for."
)
WRONG_NAME: Final = "type your name exactly as the site shows it"


def export_response(app_state: State, viewer: Viewer) -> StreamingResponse:
    """The zip file of everything that is the viewer's. Raises ProblemError, 429 or 503."""
    user_id = viewer.user_id
    assert user_id is not None

    def read(work: Callable[[Connection], T]) -> T:
        with transaction(app_state) as conn:
            return work(conn)

    def pieces() -> Iterator[bytes]:
        try:
            yield b""  # so that the slot is given back even if nobody reads the answer
            yield from export.export_person(
                read, app_state.blobs, viewer, app_state.settings.base_url.rstrip("/")
            )
        finally:
            app_state.exports.give_back(user_id)

    app_state.exports.take(user_id)
    content = pieces()
    next(content)
    return StreamingResponse(
        (piece for piece in content if piece),
        media_type="application/zip",
        headers={
            "Content-Disposition": 'attachment; filename="pecking-order-export.zip"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )


def check_password(request: Request, app_state: State, viewer: Viewer, password: str) -> None:
    """Raises Invalid unless this is the viewer's password.

    Without a password a token is enough only if it is the person's only credential. Raises
    Forbidden for people with a passkey or an identity: a token cannot ask them for it.
    """
    assert viewer.user_id is not None
    with transaction(app_state) as conn:
        ways = confirmation.confirmation_ways(conn, viewer.user_id)
    if not ways.password and not ways.token:
        raise Forbidden(USE_PAGE)
    if ways.password and (
        sign_in.user_of_password(request, app_state, viewer.name, password) != viewer.user_id
    ):
        raise Invalid("password", WRONG_PASSWORD)


def delete_account(app_state: State, viewer: Viewer, name: str) -> str:
    """Deletes the viewer's account and returns its pseudonym. Raises Invalid for another name."""
    assert viewer.user_id is not None
    if not hmac.compare_digest(normal_text(name.strip()).encode(), viewer.name.encode()):
        raise Invalid("name", WRONG_NAME)
    with transaction(app_state) as conn:
        return erasing.erase_person(conn, viewer.user_id)
