"""Registers passkeys and signs people in with them (WebAuthn, level 2).

A passkey belongs to one site: the host of the operator's ``PECK_BASE_URL``. The person's device
verifies the person, by a finger or a number. The site stores the public key only. What a browser
began and must finish soon, such as the challenge of a passkey, is a step: it belongs to one browser
and counts once.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import secrets
from collections.abc import Sized
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

import webauthn
from psycopg import errors
from psycopg.types.json import Jsonb
from webauthn.helpers import base64url_to_bytes, parse_client_data_json
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from ladder import ids
from ladder.database.db import Connection, atomic, fetch, fetch_one
from ladder.enums import Json
from ladder.errors import Conflict, Invalid
from ladder.ids import PasskeyId, UserId
from ladder.people.records import User

MOST_PASSKEYS: Final = 20
MOST_ANSWER_CHARACTERS: Final = 20_000
BROKEN: Final = "try again: the answer of your device could not be checked"
UNKNOWN: Final = "use another way to sign in: this site does not know this passkey"
OF_OTHER_SITE: Final = "use another way to sign in: this passkey is for another site"


@dataclass(frozen=True, slots=True)
class PasskeySite:
    """The site for which passkeys are valid."""

    origin: str
    """Scheme, host and port."""
    host: str


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey of a person."""

    id: PasskeyId
    user_id: UserId
    name: str
    created_at: datetime
    used_at: datetime | None


def site_of(base_url: str) -> PasskeySite | None:
    """The site at this address; None if browsers offer no passkeys there.

    They offer them for names, not for IP addresses, and only with https or on ``localhost``.
    """
    address = urlsplit(base_url)
    host = address.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        is_local = host == "localhost" or host.endswith(".localhost")
        if host and (address.scheme == "https" or is_local):
            port = f":{address.port}" if address.port else ""
            return PasskeySite(f"{address.scheme}://{host}{port}", host)
    return None


def begin_registration(
    conn: Connection, site: PasskeySite, user: User, browser: bytes
) -> dict[str, Any]:
    """Returns the options for ``navigator.credentials.create``. Raises Conflict above 20."""
    credential_ids = _credential_ids(conn, user.id)
    _refuse_many_passkeys(credential_ids)
    options = webauthn.generate_registration_options(
        rp_id=site.host,
        rp_name="Pecking Order",
        user_id=user.id.encode(),
        user_name=user.name,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            PublicKeyCredentialDescriptor(id=credential_id) for credential_id in credential_ids
        ],
    )
    begin_step(conn, StepPurpose.ADD_PASSKEY, options.challenge, browser, user_id=user.id)
    answer: dict[str, Any] = json.loads(webauthn.options_to_json(options))
    return answer


def finish_registration(
    conn: Connection, site: PasskeySite, user_id: UserId, browser: bytes, answer: str, name: str
) -> Passkey:
    """Stores the passkey that the browser made. Raises Invalid and Conflict."""
    challenge = _finish_challenge(conn, StepPurpose.ADD_PASSKEY, answer, browser, user_id)
    try:
        registration = webauthn.verify_registration_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            require_user_verification=True,
        )
    except Exception as error:  # hostile bytes raise errors of several parsers
        raise _refusal(error) from None
    try:
        with atomic(conn):
            conn.execute("select 1 from users where id = %s for no key update", (user_id,))
            _refuse_many_passkeys(_credential_ids(conn, user_id))
            return fetch_one(
                conn,
                Passkey,
                """insert into passkeys (id, user_id, credential_id, public_key, sign_count, name)
                values (%s, %s, %s, %s, %s, %s)
                returning id, user_id, name, created_at, used_at""",
                (
                    ids.new_id("psk"),
                    user_id,
                    registration.credential_id,
                    registration.credential_public_key,
                    registration.sign_count,
                    name,
                ),
            )
    except errors.UniqueViolation:
        raise Conflict("choose another passkey: this one is registered already") from None


def begin_sign_in(
    conn: Connection, site: PasskeySite, browser: bytes, user_id: UserId | None = None
) -> dict[str, Any]:
    """Returns the options for ``navigator.credentials.get``.

    With ``user_id`` only that person's passkeys are asked for, to confirm. Without it the device
    offers what it has.
    """
    allowed = [] if user_id is None else _credential_ids(conn, user_id)
    options = webauthn.generate_authentication_options(
        rp_id=site.host,
        allow_credentials=[
            PublicKeyCredentialDescriptor(id=credential_id) for credential_id in allowed
        ],
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    begin_step(conn, _purpose(user_id), options.challenge, browser, user_id=user_id)
    answer: dict[str, Any] = json.loads(webauthn.options_to_json(options))
    return answer


def finish_sign_in(
    conn: Connection,
    site: PasskeySite,
    browser: bytes,
    answer: str,
    user_id: UserId | None = None,
) -> UserId:
    """Returns the person of the passkey that signed the challenge. Raises Invalid.

    With ``user_id`` the passkey must be that person's.
    """
    challenge = _finish_challenge(conn, _purpose(user_id), answer, browser, user_id)
    query = """select p.id, p.user_id, p.public_key, p.sign_count from passkeys p
        join users u on u.id = p.user_id
        where p.credential_id = %(credential_id)s and u.erased_at is null for update of p"""
    row = conn.execute(query, {"credential_id": _credential_id(answer)}).fetchone()
    if row is None or (user_id is not None and row[1] != user_id):
        raise Invalid("passkey", UNKNOWN)
    try:
        done = webauthn.verify_authentication_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            credential_public_key=row[2],
            credential_current_sign_count=row[3],
            require_user_verification=True,
        )
    except Exception as error:  # hostile bytes raise errors of several parsers
        raise _refusal(error) from None
    handle = _user_handle(answer)
    if handle is not None and handle != str(row[1]).encode():
        raise Invalid("passkey", UNKNOWN)
    conn.execute(
        "update passkeys set sign_count = %s, used_at = now() where id = %s",
        (done.new_sign_count, row[0]),
    )
    return UserId(row[1])


def list_passkeys(conn: Connection, user_id: UserId) -> list[Passkey]:
    """Returns a person's passkeys, oldest first."""
    query = """select id, user_id, name, created_at, used_at from passkeys
        where user_id = %(user_id)s order by id"""
    return fetch(conn, Passkey, query, {"user_id": user_id})


def _refuse_many_passkeys(credential_ids: Sized) -> None:
    if len(credential_ids) >= MOST_PASSKEYS:
        raise Conflict(f"remove a passkey first: you have {MOST_PASSKEYS}")


def _purpose(user_id: UserId | None) -> StepPurpose:
    if user_id is None:
        return StepPurpose.PASSKEY_SIGN_IN
    return StepPurpose.PASSKEY_CONFIRMATION


def _finish_challenge(
    conn: Connection, purpose: StepPurpose, answer: str, browser: bytes, user_id: UserId | None
) -> bytes:
    """The challenge that the answer names, if this browser began it for this person."""
    text = _part(answer, "response", "clientDataJSON")
    try:
        challenge = parse_client_data_json(base64url_to_bytes(text)).challenge
    except Exception:  # hostile bytes
        raise Invalid("passkey", BROKEN) from None
    step = finish_step(conn, purpose, challenge, browser)
    if step.user_id != user_id:
        raise Invalid("state", WRONG_STEP)
    return challenge


def _credential_id(answer: str) -> bytes:
    try:
        return base64url_to_bytes(_part(answer, "rawId"))
    except ValueError:
        raise Invalid("passkey", BROKEN) from None


def _user_handle(answer: str) -> bytes | None:
    handle = json.loads(answer)["response"].get("userHandle")
    try:
        return base64url_to_bytes(str(handle)) if handle else None
    except ValueError:
        raise Invalid("passkey", BROKEN) from None


def _part(answer: str, *names: str) -> str:
    """A text in the browser's answer. Raises Invalid for any other form of answer."""
    try:
        part = json.loads(answer) if len(answer) <= MOST_ANSWER_CHARACTERS else None
    except (ValueError, RecursionError):
        part = None
    for name in names:
        part = part.get(name) if isinstance(part, dict) else None
    if not isinstance(part, str) or not part.isascii():
        raise Invalid("passkey", BROKEN)
    return part


def _refusal(error: Exception) -> Invalid:
    text = str(error)
    is_other_site = "origin" in text or "RP ID" in text
    return Invalid("passkey", OF_OTHER_SITE if is_other_site else BROKEN)


def _credential_ids(conn: Connection, user_id: UserId) -> list[bytes]:
    rows = conn.execute(
        "select credential_id from passkeys where user_id = %s order by id", (user_id,)
    )
    return [bytes(row[0]) for row in rows]


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
