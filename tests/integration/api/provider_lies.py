"""The lies that an identity provider tells, with the words that the page says of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from joserfc.jwk import ECKey, OctKey

from tests.integration.api.lying_provider import LyingProvider

LIES: dict[str, tuple[Callable[[LyingProvider], None], str]] = {}


def lie(told: str) -> Callable[[Callable[[LyingProvider], None]], Callable[[LyingProvider], None]]:
    """Registers a lie with the words that the page says of it."""

    def register(act: Callable[[LyingProvider], None]) -> Callable[[LyingProvider], None]:
        LIES[act.__name__] = act, told
        return act

    return register


def claim(name: str, value: Any, told: str) -> None:
    def act(liar: LyingProvider) -> None:
        made = value() if callable(value) else value
        liar.claims = {name: made}

    LIES[f"{name} {value if not callable(value) else ''}"] = act, told


claim("iss", "https://other.example.org", "(iss)")
claim("iss", None, "(iss)")
claim("aud", "another client", "(aud)")
claim("aud", ["peck", "another client"], "(azp)")
claim("aud", None, "(aud)")
claim("nonce", "of an earlier visit", "(nonce)")
claim("nonce", None, "(nonce)")
claim("exp", lambda: int(time.time()) - 120, "has expired (exp); compare the clock")
claim("exp", "tomorrow", "(exp)")
claim("iat", lambda: int(time.time()) + 120, "(iat); compare the clock")
claim("nbf", lambda: int(time.time()) + 120, "(nbf); compare the clock")
claim("sub", None, "(sub)")
claim("sub", "", "no usable sub")
claim("sub", "person\0", "no usable sub")
claim("sub", "x" * 256, "no usable sub")
claim("sub", 7, "(sub)")
claim("at_hash", "of another token", "(at_hash)")


@lie("wrong signature")
def another_key(liar: LyingProvider) -> None:
    liar.signing_key = ECKey.generate_key("P-256", {"kid": "one"})


@lie("wrong signature")
def no_signature(liar: LyingProvider) -> None:
    liar.algorithm = "none"


@lie("wrong signature")
def a_secret_in_place_of_a_key(liar: LyingProvider) -> None:
    liar.algorithm, liar.signing_key = "HS256", OctKey.import_key("x" * 32)


@lie("another issuer")
def metadata_of_another_issuer(liar: LyingProvider) -> None:
    liar.metadata = {"issuer": "https://other.example.org"}


@lie("lacks a usable jwks_uri")
def metadata_without_keys(liar: LyingProvider) -> None:
    liar.metadata = {"jwks_uri": None}


@lie("an address without https")
def a_script_as_address(liar: LyingProvider) -> None:
    liar.metadata = {"authorization_endpoint": "javascript:alert(1)"}


@lie("cannot be reached")
def keys_at_a_cloud(liar: LyingProvider) -> None:
    liar.metadata = {"jwks_uri": "http://169.254.169.254/latest/meta-data"}


@lie("cannot be read")
def keys_of_another_form(liar: LyingProvider) -> None:
    liar.answers["/keys"] = 200, b'{"keys": [{"kty": "EC", "crv": "P-256", "x": 1}]}'


@lie("sent no JSON")
def metadata_in_html(liar: LyingProvider) -> None:
    liar.answers["/.well-known/openid-configuration"] = 200, b"<html>"


@lie("longer than")
def endless_metadata(liar: LyingProvider) -> None:
    liar.answers["/.well-known/openid-configuration"] = 200, b" " * 600_000


@lie("sent no JSON")
def deep_metadata(liar: LyingProvider) -> None:
    liar.answers["/.well-known/openid-configuration"] = 200, b"[" * 200_000


@lie("status 302")
def a_redirect(liar: LyingProvider) -> None:
    liar.answers["/.well-known/openid-configuration"] = 302, b""


@lie("refused the code (invalid_grant)")
def a_refused_code(liar: LyingProvider) -> None:
    liar.answers["/token"] = 400, b'{"error": "invalid_grant"}'


@lie("no id token")
def a_token_without_identity(liar: LyingProvider) -> None:
    liar.answers["/token"] = 200, b'{"access_token": "x", "token_type": "Bearer"}'


@lie("wrong signature")
def noise_as_token(liar: LyingProvider) -> None:
    liar.answers["/token"] = 200, b'{"access_token": "x", "id_token": "\\u0000.\\ud800.."}'


@lie("sent no token")
def a_list_as_token(liar: LyingProvider) -> None:
    liar.answers["/token"] = 200, b"[1]"
