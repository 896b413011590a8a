"""Answers of passkeys, made by an authenticator in this file that can also answer wrongly."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass, field
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url

from ladder.database.db import Connection
from ladder.errors import Conflict, Invalid
from ladder.ids import PasskeyId
from ladder.people import confirmation, passkeys, passwords, users
from ladder.people.passkeys import PasskeySite
from ladder.people.records import User

SITE = PasskeySite("https://ladder.example.org", "ladder.example.org")
BROWSER, OTHER_BROWSER = b"a browser", b"another browser"


@dataclass
class Device:
    """An authenticator with one key (WebAuthn, section 6)."""

    credential_id: bytes = b"credential one"
    origin: str = SITE.origin
    host: str = SITE.host
    flags: int = 0x05
    """User present and user verified."""
    count: int = 0
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        numbers = self.key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (numbers.x, numbers.y))
        key = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        held = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id + key
        data = self.authenticator_data(self.flags | 0x40) + held
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        said = self.client_data("webauthn.create", options["challenge"])
        return self.described(said, attestationObject=bytes_to_base64url(attestation))

    def get(self, options: dict[str, Any], handle: str = "") -> dict[str, Any]:
        said = self.client_data("webauthn.get", options["challenge"])
        data = self.authenticator_data(self.flags)
        signature = self.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(SHA256()))
        return self.described(
            said,
            authenticatorData=bytes_to_base64url(data),
            signature=bytes_to_base64url(signature),
            userHandle=bytes_to_base64url(handle.encode()) if handle else None,
        )

    def authenticator_data(self, flags: int) -> bytes:
        return hashlib.sha256(self.host.encode()).digest() + struct.pack(">BI", flags, self.count)

    def client_data(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def described(self, said: bytes, **response: str | None) -> dict[str, Any]:
        name = bytes_to_base64url(self.credential_id)
        return {
            "id": name,
            "rawId": name,
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {"clientDataJSON": bytes_to_base64url(said), **response},
        }


@pytest.fixture
def ada(conn: Connection) -> User:
    return users.create_user(conn, "Ada")


def register(conn: Connection, user: User, device: Device) -> passkeys.Passkey:
    options = passkeys.begin_registration(conn, SITE, user, BROWSER)
    answer = json.dumps(device.create(options))
    return passkeys.finish_registration(conn, SITE, user.id, BROWSER, answer, "a device")


def sign_in(conn: Connection, device: Device, handle: str = "") -> str:
    options = passkeys.begin_sign_in(conn, SITE, BROWSER)
    answer = json.dumps(device.get(options, handle))
    return passkeys.finish_sign_in(conn, SITE, BROWSER, answer)


def test_a_passkey_signs_its_person_in(conn: Connection, ada: User) -> None:
    device = Device()
    register(conn, ada, device)
    assert sign_in(conn, device) == ada.id
    assert sign_in(conn, device, ada.id) == ada.id
    (shown,) = passkeys.list_passkeys(conn, ada.id)
    assert shown.used_at is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"origin": "https://evil.example.org"}, "for another site"),
        ({"origin": "https://ladder.example.org:8443"}, "for another site"),
        ({"origin": "http://ladder.example.org"}, "for another site"),
        ({"host": "evil.example.org"}, "for another site"),
        ({"flags": 0x01}, "could not be checked"),  # the device did not verify its person
        ({"flags": 0x04}, "could not be checked"),  # nobody was present
    ],
)
def test_an_answer_for_another_site_or_of_nobody_is_refused(
    conn: Connection, ada: User, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        register(conn, ada, Device(**change))
    device = Device()
    register(conn, ada, device)
    for name, value in change.items():
        setattr(device, name, value)
    with pytest.raises(Invalid, match=message):
        sign_in(conn, device)


def test_a_challenge_counts_once_in_its_browser_and_for_its_purpose(
    conn: Connection, ada: User
) -> None:
    device = Device()
    register(conn, ada, device)
    options = passkeys.begin_sign_in(conn, SITE, BROWSER)
    answer = json.dumps(device.get(options))
    with pytest.raises(Invalid, match="began elsewhere"):
        passkeys.finish_sign_in(conn, SITE, OTHER_BROWSER, answer)
    with pytest.raises(Invalid, match="began elsewhere"):
        passkeys.finish_sign_in(conn, SITE, BROWSER, answer, ada.id)
    assert passkeys.finish_sign_in(conn, SITE, BROWSER, answer) == ada.id
    with pytest.raises(Invalid, match="finished before"):
        passkeys.finish_sign_in(conn, SITE, BROWSER, answer)
    options = passkeys.begin_sign_in(conn, SITE, BROWSER)
    conn.execute("update sign_in_steps set expires_at = now()")
    with pytest.raises(Invalid, match="too old"):
        passkeys.finish_sign_in(conn, SITE, BROWSER, json.dumps(device.get(options)))


def test_another_key_and_another_person_are_refused(conn: Connection, ada: User) -> None:
    bob = users.create_user(conn, "Bob")
    device = Device()
    register(conn, ada, device)
    with pytest.raises(Invalid, match="could not be checked"):
        sign_in(conn, Device())  # the same name of the credential, another key
    with pytest.raises(Invalid, match="does not know"):
        sign_in(conn, Device(b"unknown"))
    with pytest.raises(Invalid, match="does not know"):
        sign_in(conn, device, bob.id)
    options = passkeys.begin_sign_in(conn, SITE, BROWSER, bob.id)
    with pytest.raises(Invalid, match="does not know"):
        passkeys.finish_sign_in(conn, SITE, BROWSER, json.dumps(device.get(options)), bob.id)
    with pytest.raises(Conflict, match="registered already"):
        register(conn, bob, device)


def test_a_copied_device_is_noticed_by_its_counter(conn: Connection, ada: User) -> None:
    device = Device(count=5)
    register(conn, ada, device)
    device.count = 6
    assert sign_in(conn, device) == ada.id
    with pytest.raises(Invalid, match="could not be checked"):
        sign_in(conn, device)


@pytest.mark.parametrize(
    "answer",
    ["", "null", "[]", "{}", '{"response": []}', '{"response": {"clientDataJSON": "é"}}',
     '{"response": {"clientDataJSON": "x"}}', '{"response": {"clientDataJSON": "e30"}}',
     "[" * 10_000, "x" * 30_000],
)  # fmt: skip
def test_noise_is_refused_with_a_message(conn: Connection, ada: User, answer: str) -> None:
    with pytest.raises(Invalid, match="could not be checked"):
        passkeys.finish_sign_in(conn, SITE, BROWSER, answer)


@pytest.mark.parametrize("part", ["attestationObject", "clientDataJSON", "rawId", "id", "type"])
@pytest.mark.parametrize("noise", [None, 7, "", "AAAA", "\u00e9", [1]])
def test_a_broken_part_is_refused_with_a_message(
    conn: Connection, ada: User, part: str, noise: Any
) -> None:
    answer = Device().create(passkeys.begin_registration(conn, SITE, ada, BROWSER))
    place = answer["response"] if part in answer["response"] else answer
    place[part] = noise
    with pytest.raises(Invalid):
        passkeys.finish_registration(conn, SITE, ada.id, BROWSER, json.dumps(answer), "a device")
    assert passkeys.list_passkeys(conn, ada.id) == []


def test_the_last_credential_stays(conn: Connection, ada: User) -> None:
    first = register(conn, ada, Device(b"one"))
    second = register(conn, ada, Device(b"two"))
    confirmation.remove_passkey(conn, ada.id, first.id, ())
    with pytest.raises(Conflict, match="your last one"):
        confirmation.remove_passkey(conn, ada.id, second.id, ())
    passwords.store_hash(conn, ada.id, "a hash")
    confirmation.remove_passkey(conn, ada.id, PasskeyId(second.id), ())
    assert passkeys.list_passkeys(conn, ada.id) == []


def test_registered_keys_are_excluded_and_limited(
    conn: Connection, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(conn, ada, Device(b"one"))
    options = passkeys.begin_registration(conn, SITE, ada, BROWSER)
    assert [base64url_to_bytes(one["id"]) for one in options["excludeCredentials"]] == [b"one"]
    assert options["authenticatorSelection"]["userVerification"] == "required"
    monkeypatch.setattr(passkeys, "MOST_PASSKEYS", 1)
    with pytest.raises(Conflict, match="remove a passkey first"):
        passkeys.begin_registration(conn, SITE, ada, BROWSER)


@pytest.mark.parametrize(
    ("base_url", "origin"),
    [
        ("https://ladder.example.org/", "https://ladder.example.org"),
        ("https://Ladder.example.org:8443", "https://ladder.example.org:8443"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://ladder.example.org", None),
        ("http://127.0.0.1:8000", None),
        ("https://[::1]:8000", None),
        ("https://192.0.2.7", None),
    ],
)
def test_browsers_offer_passkeys_for_names_with_https(base_url: str, origin: str | None) -> None:
    site = passkeys.site_of(base_url)
    assert (site.origin if site else None) == origin
