"""Signs people up: a user with a password or an identity, and a team of their own."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from ladder.database.db import Connection, atomic_function
from ladder.errors import Forbidden, Invalid, NotFound
from ladder.ids import InvitationId
from ladder.leagues import invitations
from ladder.mail import domain_of
from ladder.people import identities, passwords, recovery, users
from ladder.people.identities import ProvedIdentity
from ladder.people.records import Team, User
from ladder.people.request_models import NewPerson, SignUp


class SignUpMode(StrEnum):
    """Who may make an account."""

    OPEN = "open"
    DOMAIN = "domain"
    """People with a mail address of a domain, and people with an invitation code of a league."""
    INVITATION = "invitation"
    """People with an invitation code of a league."""
    CLOSED = "closed"


def refuse_sign_up(mode: SignUpMode, asked: NewPerson) -> None:
    """Raises Forbidden in a closed instance, and Invalid for a reserved name or a weak password.

    Call it before the password is hashed, which takes a while.
    """
    if mode is SignUpMode.CLOSED:
        raise Forbidden("Ask the administrator for an account: nobody can sign up alone here.")
    users.refuse_reserved_name(asked.name)
    if isinstance(asked, SignUp):
        passwords.refuse_weak_password(asked.password, asked.name)


@atomic_function
def sign_up(
    conn: Connection,
    mode: SignUpMode,
    asked: NewPerson,
    hashed: str | None = None,
    *,
    identity: ProvedIdentity | None = None,
    address: str | None = None,
    domains: Collection[str] = (),
) -> tuple[User, Team | None]:
    """Creates a person with the hash of the password or an identity; returns the person and the own
    team.

    ``address`` was proven by a mailed link, the one of ``identity`` by its provider. ``domains``
    are the mail domains for which that proof counts. A person with an invitation code has no own
    team: joining the league gives one. The code counts as used from now on.

    Raises the errors of `refuse_sign_up`, NotFound for a missing or wrong code, and Conflict for a
    name, identity or address that is taken.
    """
    refuse_sign_up(mode, asked)
    if identity is not None and identity.address and domain_of(identity.address) in domains:
        address = identity.address
    invitation_id = None
    if mode is SignUpMode.INVITATION or asked.code:
        invitation_id = _lock_invitation(conn, asked.code)
    elif mode is SignUpMode.DOMAIN:
        _require_address(address, domains)
    user = users.create_user(conn, asked.name)
    if hashed is not None:
        passwords.store_hash(conn, user.id, hashed)
    if identity is not None:
        identities.link_identity(conn, user.id, identity)
    if address is not None:
        recovery.store_address(conn, user.id, address)
    if invitation_id is None:
        return user, users.create_own_team(conn, user.name, user.id)
    invitations.reserve_code(conn, invitation_id, user.id)
    return user, None


def _require_address(address: str | None, domains: Collection[str]) -> None:
    if address is None:
        raise Invalid(
            "code",
            "sign up with an address or an identity that this site knows, or with an invitation"
            " code of a league",
        )
    if domain_of(address) not in domains:
        raise Forbidden("Ask the administrator: this address may not sign up here.")


def _lock_invitation(conn: Connection, code: str) -> InvitationId:
    try:
        return invitations.lock_code(conn, None, code)[0].id
    except NotFound:
        raise NotFound(
            "this invitation code is missing, mistyped, expired or used up; ask the host of your"
            " league for a new one",
            field="code",
        ) from None
