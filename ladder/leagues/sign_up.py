"""Signs people up: a user with a password and a team of their own."""

from __future__ import annotations

from enum import StrEnum

from ladder.database.db import Connection, atomic_function
from ladder.errors import Forbidden, NotFound
from ladder.leagues import invitations
from ladder.people import passwords, user_names, users
from ladder.people.records import Team, User
from ladder.people.request_models import SignUp


class SignUpMode(StrEnum):
    """Who may make an account."""

    OPEN = "open"
    INVITATION = "invitation"
    """People with an invitation code of a league."""
    CLOSED = "closed"


def refuse_sign_up(mode: SignUpMode, asked: SignUp) -> None:
    """Raises Forbidden in a closed instance, and Invalid for a reserved name or a weak password.

    Call it before the password is hashed, which takes a while.
    """
    if mode is SignUpMode.CLOSED:
        raise Forbidden("Ask the administrator for an account: nobody can sign up alone here.")
    user_names.refuse_reserved_name(asked.name)
    passwords.refuse_weak_password(asked.password, asked.name)


@atomic_function
def sign_up(
    conn: Connection, mode: SignUpMode, asked: SignUp, hashed: str
) -> tuple[User, Team | None]:
    """Creates a person with the hash of the password; returns the person and their own team.

    A person with an invitation code has no own team: joining the league gives one. The code counts
    as used from now on. Raises the errors of `refuse_sign_up`, NotFound for a missing or wrong
    code, and Conflict for a name that is taken.
    """
    refuse_sign_up(mode, asked)
    invitation_id = None
    if mode is SignUpMode.INVITATION or asked.code:
        try:
            invitation_id = invitations.lock_code(conn, asked.code)
        except NotFound:
            raise NotFound(
                "ask the host of your league for a new invitation code; this one is missing,"
                " mistyped, expired or used up",
                field="code",
            ) from None
    user = users.create_user(conn, asked.name)
    passwords.store_hash(conn, user.id, hashed)
    if invitation_id is None:
        return user, users.create_own_team(conn, user.name, user.id)
    invitations.reserve_code(conn, invitation_id, user.id)
    return user, None
