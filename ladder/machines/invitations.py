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
from ladder.errors import NotFound
from ladder.ids import MachineInvitationId
from ladder.machines.certificates import code_text, split_code
from ladder.people import audit_log
from ladder.people.records import Viewer

LIFE: Final = timedelta(hours=24)
WRONG_CODE: Final = "this code was used already, has expired or is not complete; ask for a new one"
USE: Final = (
    "update machine_invitations set used_at = now() where code_hash = %s and used_at is null"
    " and revoked_at is null and expires_at > now() returning id"
)


@dataclass(frozen=True, slots=True)
class MachineInvitation:
    """A code that was not used yet, without its text."""

    id: MachineInvitationId
    created_at: datetime
    expires_at: datetime


@atomic_function
def invite_machine(
    conn: Connection, by: Viewer, fingerprint: str = ""
) -> tuple[MachineInvitation, str]:
    """Creates a code that carries the fingerprint of the site's certificate; empty: a site without
    TLS. Returns its row and its text, which is stored nowhere."""
    secret = secrets.token_urlsafe(24)
    with conn.cursor(row_factory=class_row(MachineInvitation)) as cur:
        made = cur.execute(
            "insert into machine_invitations (id, code_hash, created_by, expires_at)"
            " values (%s, %s, %s, now() + %s) returning id, created_at, expires_at",
            (ids.new_id("min"), hash_secret(secret), by.user_id, LIFE),
        ).fetchone()
    assert made is not None
    record_act(conn, by, "invite-machine", made.id)
    return made, code_text(secret, fingerprint)


def list_invitations(conn: Connection) -> list[MachineInvitation]:
    """Codes that may still be used, newest first."""
    with conn.cursor(row_factory=class_row(MachineInvitation)) as cur:
        return cur.execute(
            "select id, created_at, expires_at from machine_invitations where used_at is null"
            " and revoked_at is null and expires_at > now() order by id desc"
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
