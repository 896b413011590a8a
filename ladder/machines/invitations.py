"""Codes with which a machine joins. A code acts once; the row holds its SHA-256.

Callers let only administrators invite, list and revoke.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from psycopg.rows import class_row

from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.enums import MachineTier
from ladder.errors import NotFound
from ladder.ids import MachineInvitationId, UserId
from ladder.machines.certificates import code_text, split_code
from ladder.people import audit_log
from ladder.people.records import Viewer

LIFE: Final = timedelta(hours=24)
WRONG_CODE: Final = "this code was used already, has expired or is not complete; ask for a new one"
USE: Final = (
    "update machine_invitations set used_at = now() where code_hash = %s and used_at is null"
    " and revoked_at is null and expires_at > now() returning id"
)


SELECT: Final = (
    "select i.id, i.created_at, i.expires_at, i.tier, i.owner_id, u.name as owner_name"
    " from machine_invitations i left join users u on u.id = i.owner_id"
)


@dataclass(frozen=True, slots=True)
class MachineInvitation:
    """A code that was not used yet, without its text."""

    id: MachineInvitationId
    created_at: datetime
    expires_at: datetime
    tier: MachineTier
    """Tier of the machine that joins with it."""
    owner_id: UserId | None
    """Owner of that machine; None: the site."""
    owner_name: str | None


@atomic_function
def invite_machine(
    conn: Connection,
    by: Viewer,
    fingerprint: str = "",
    *,
    tier: MachineTier = MachineTier.MEMBER,
    owner: UserId | None = None,
) -> tuple[MachineInvitation, str]:
    """Creates a code that carries the fingerprint of the site's certificate; empty: a site without
    TLS. Returns its row and its text, which is stored nowhere.

    A trusted machine without an owner is the site's own. Other machines without one belong to the
    person who invites.
    """
    secret = secrets.token_urlsafe(24)
    if owner is None and tier is not MachineTier.TRUSTED:
        owner = by.user_id
    invitation = ids.new_id("min")
    conn.execute(
        "insert into machine_invitations (id, code_hash, created_by, expires_at, tier, owner_id)"
        " values (%s, %s, %s, now() + %s, %s, %s)",
        (invitation, hash_secret(secret), by.user_id, LIFE, tier, owner),
    )
    with conn.cursor(row_factory=class_row(MachineInvitation)) as cur:
        made = cur.execute(f"{SELECT} where i.id = %s", (invitation,)).fetchone()
    assert made is not None
    record_act(conn, by, "invite-machine", made.id)
    return made, code_text(secret, fingerprint)


def list_invitations(conn: Connection) -> list[MachineInvitation]:
    """Codes that may still be used, newest first."""
    with conn.cursor(row_factory=class_row(MachineInvitation)) as cur:
        return cur.execute(
            f"{SELECT} where i.used_at is null and i.revoked_at is null and i.expires_at > now()"
            " order by i.id desc"
        ).fetchall()


@atomic_function
def revoke_invitation(conn: Connection, by: Viewer, invitation: MachineInvitationId) -> None:
    """Ends a code that was not used. Raises NotFound."""
    done = conn.execute(
        "update machine_invitations set revoked_at = now() where id = %s and used_at is null"
        " and revoked_at is null and expires_at > now()",
        (invitation,),
    )
    if not done.rowcount:
        raise NotFound.of("invitation")
    record_act(conn, by, "revoke-machine-invitation", invitation)


def use_code(conn: Connection, code: str) -> MachineInvitationId:
    """Uses the code up, with or without its fingerprint. Raises NotFound, also for a second use."""
    row = conn.execute(USE, (hash_secret(split_code(code)[0]),)).fetchone()
    if row is None:
        raise NotFound(WRONG_CODE)
    return MachineInvitationId(row[0])


def hash_secret(secret: str) -> str:
    """SHA-256 in hex. The secrets of this package have at least 192 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def record_act(conn: Connection, by: Viewer, act: str, subject: str) -> None:
    """Writes an act on machines into the audit log of the instance."""
    audit_log.record_audit(conn, None, by=by.user_id, act=act, subject=subject, reason="")
