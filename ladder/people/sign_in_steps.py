"""Stores what a browser began and must finish soon, such as the challenge of a passkey.

A step belongs to one browser and counts once: finishing it deletes its row.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection
from ladder.enums import Json
from ladder.errors import Invalid
from ladder.ids import UserId

LIFE: Final = timedelta(minutes=10)
WRONG_STEP: Final = "begin again: this attempt is too old, was finished before, or began elsewhere"


class StepPurpose(StrEnum):
    """What a step is for."""

    ADD_PASSKEY = "add_passkey"
    PASSKEY_SIGN_IN = "passkey_sign_in"
    PASSKEY_CONFIRMATION = "passkey_confirmation"
    PROVIDER = "provider"
    """A visit to an identity provider."""
    IDENTITY_SIGN_UP = "identity_sign_up"
    """A new person with a proven identity chooses a name."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was just finished."""

    user_id: UserId | None
    details: dict[str, Json]


def new_secret() -> str:
    """Returns a secret for a step."""
    return secrets.token_urlsafe(32)


def begin_step(
    conn: Connection,
    purpose: StepPurpose,
    secret: bytes,
    browser: bytes,
    user_id: UserId | None = None,
    details: dict[str, Json] | None = None,
) -> None:
    """Stores a step for ten minutes. ``browser`` is a digest of the browser's cookie."""
    delete_expired_steps(conn)
    query = """insert into sign_in_steps (hash, purpose, browser, user_id, details, expires_at)
        values (%s, %s, %s, %s, %s, now() + %s)"""
    conn.execute(query, (_digest(secret), purpose, browser, user_id, Jsonb(details or {}), LIFE))


def delete_expired_steps(conn: Connection) -> int:
    """Deletes steps that nobody can finish any more; returns how many."""
    return conn.execute("delete from sign_in_steps where expires_at < now()").rowcount


def finish_step(conn: Connection, purpose: StepPurpose, secret: bytes, browser: bytes) -> Step:
    """Returns the step with this secret and deletes it.

    Raises Invalid for an unknown, expired or finished step, and for one of another browser.
    """
    row = conn.execute(
        """delete from sign_in_steps
        where hash = %(hash)s and purpose = %(purpose)s and browser = %(browser)s
          and expires_at > now() returning user_id, details""",
        {"hash": _digest(secret), "purpose": purpose, "browser": browser},
    ).fetchone()
    if row is None:
        raise Invalid("state", WRONG_STEP)
    return Step(row[0], row[1])


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()
