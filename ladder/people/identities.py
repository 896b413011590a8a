"""Sends people to identity providers, checks what comes back, and finds the person of an identity.

OpenID Connect Core 1.0 with the code flow, PKCE, state and nonce; GitHub is OAuth 2 with its own
API. The provider is not trusted beyond its own people: every answer is bounded and checked. The
operator configures providers in ``PECK_IDENTITY_PROVIDERS``. An identity is a pair of issuer and
subject. An address never links anything.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlencode

import joserfc.jwt
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError, MissingClaimError
from joserfc.jwk import JWKRegistry, Key, KeySet
from psycopg import errors
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from egress import http_calls
from egress.address import AddressError
from egress.guarded_connections import Rules
from egress.http_calls import Call, split_url
from ladder import ids
from ladder.database.db import Connection, atomic, fetch, fetch_optional
from ladder.errors import Conflict, Invalid, LadderError
from ladder.field_types import Name, Slug
from ladder.ids import IdentityId, UserId
from ladder.mail import normal_address
from ladder.telemetry import log_event

CHECK_SECONDS: Final = 5.0
"""Longest time by which providers delay the start of the site."""
CALL_SECONDS: Final = 10.0
"""Longest time of one call of a provider."""
LEEWAY_SECONDS: Final = 60
"""How far the provider's clock may be from ours."""
KEPT_SECONDS: Final = 600.0
"""How long a provider's metadata and keys are kept in memory."""
REFRESH_SECONDS: Final = 30.0
"""Least time between two readings of the keys because a token has an unknown one."""
FAILURE_SECONDS: Final = 20.0
"""How long a provider that failed is not asked again for its metadata."""
WAIT_SECONDS: Final = 2.0
"""Longest wait while another visit reads the metadata."""
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Signatures with public keys only."""
SUBJECT: Final = re.compile(r"[^\0\ud800-\udfff]{1,255}")
"""A subject that Postgres can store. It is stored and compared as it is: a space more is another
person (OpenID Connect Core 1.0, section 2)."""


class ProviderError(LadderError):
    """The identity provider does not answer, or its answer is not valid."""


@dataclass(frozen=True, slots=True)
class ProvedIdentity:
    """An account at a provider that its person has just used."""

    issuer: str
    subject: str
    label: str
    """Name or address there, for the person."""
    name: str
    """A name to suggest for a new account; may be empty."""
    address: str | None
    """The mail address, if the provider verified it."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What the site remembers until the person comes back."""

    state: str
    nonce: str
    verifier: str
    address: str
    """Where the browser goes."""


class Metadata(BaseModel):
    """What the site needs of a provider's metadata (OpenID Connect Discovery 1.0)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] = ["client_secret_basic"]


@dataclass
class _Known:
    metadata: Metadata
    keys: KeySet
    read_at: float


class ProviderClient:
    """Calls one provider, and keeps its metadata and keys for ten minutes. Thread-safe."""

    def __init__(self, provider: IdentityProvider) -> None:
        self.provider = provider
        self._known: _Known | None = None
        self._failure: tuple[float, str] | None = None
        self._reading = threading.Lock()

    def begin_visit(self, redirect_uri: str, *, asks_again: bool = False) -> Visit:
        """Returns where to send the browser. Raises ProviderError.

        With ``asks_again`` the provider is asked to want the person's credential in any case.
        """
        provider, state, nonce = self.provider, secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        verifier = secrets.token_urlsafe(48)
        extra = {"nonce": nonce} if provider.kind == "openid" else {}
        endpoint = f"{provider.issuer}/login/oauth/authorize"
        if provider.kind == "openid":
            endpoint = self._read().metadata.authorization_endpoint
        if asks_again:
            extra["prompt"] = "login"
        client = self._oauth_client(redirect_uri)
        address, _ = client.create_authorization_url(
            endpoint, state=state, code_verifier=verifier, **extra
        )
        return Visit(state, nonce, verifier, str(address))

    def finish_visit(
        self, code: str, *, nonce: str, verifier: str, redirect_uri: str
    ) -> ProvedIdentity:
        """Exchanges the code and returns whose account it is. Raises ProviderError."""
        if self.provider.kind == "github":
            return self._finish_github(code, verifier, redirect_uri)
        settings = self._read()
        methods = settings.metadata.token_endpoint_auth_methods_supported
        token = self._fetch_token(
            settings.metadata.token_endpoint, code, verifier, redirect_uri, methods
        )
        claims = self._check_id_token(token, nonce)
        if "email" not in claims and settings.metadata.userinfo_endpoint:
            more = self._get_json(settings.metadata.userinfo_endpoint, str(token["access_token"]))
            if not isinstance(more, dict) or more.get("sub") != claims["sub"]:
                raise self._fault("its userinfo is of another person")
            claims = {**more, **claims}
        return self._identity_of_claims(claims)

    def _identity_of_claims(self, claims: dict[str, Any]) -> ProvedIdentity:
        subject = claims["sub"]
        if not isinstance(subject, str) or SUBJECT.fullmatch(subject) is None:
            raise self._fault("its token has no usable sub")
        is_verified = claims.get("email_verified") in (True, "true")
        address = None
        if is_verified or self.provider.vouches_for_addresses:
            address = _address_or_none(claims.get("email"))
        names = [_text(claims.get(name)) for name in ("preferred_username", "name", "nickname")]
        shown = _text(claims.get("email")) or next(filter(None, names), "") or subject
        return ProvedIdentity(
            self.provider.issuer,
            subject,
            _text(shown)[:100] or "an account",
            next(filter(None, [names[0].partition("@")[0], *names[1:]]), ""),
            address,
        )

    def _check_id_token(self, token: dict[str, Any], nonce: str) -> dict[str, Any]:
        """The claims of the id token. Refuses another issuer, audience, nonce, time or key."""
        provider, text = self.provider, token.get("id_token")
        if not isinstance(text, str) or not isinstance(token.get("access_token"), str):
            raise self._fault("it sent no id token")
        read = self._decode(text)
        claims = CodeIDToken(
            read.claims,
            read.header,
            options={"iss": {"essential": True, "value": provider.issuer}},
            params={
                "nonce": nonce,
                "client_id": provider.client_id,
                "access_token": token["access_token"],
            },
        )
        audiences = claims.get("aud")
        listed = audiences if isinstance(audiences, list) else [audiences]
        if provider.client_id not in listed:
            raise self._fault("its token is for another site (aud)")
        try:
            claims.validate(now=int(time.time()), leeway=LEEWAY_SECONDS)
        except ExpiredTokenError:
            raise self._fault(
                "its token has expired (exp); compare the clock of this site with the provider's"
            ) from None
        except (InvalidClaimError, MissingClaimError) as error:
            name = getattr(error, "claim", "") or "a claim"
            hint = "; compare the clock of this site with the provider's"
            reason = f"its token is not valid ({name})"
            raise self._fault(reason + (hint if name in ("iat", "nbf") else "")) from None
        except Exception:  # claims of other types than the standard's
            raise self._fault("its token cannot be read") from None
        return dict(claims)

    def _decode(self, text: str) -> joserfc.jwt.Token:
        """The token, if one of the provider's present keys signed it."""
        for keys in (self._read().keys, None):
            try:
                return joserfc.jwt.decode(
                    text, keys or self._read(is_fresh=True).keys, algorithms=ALGORITHMS
                )
            except ProviderError:
                raise
            except (JoseError, ValueError):
                if keys is None:
                    raise self._fault("its token has a wrong signature") from None
            except Exception:  # hostile bytes
                raise self._fault("its token cannot be read") from None
        raise AssertionError

    def _read(self, *, is_fresh: bool = False) -> _Known:
        """Metadata and keys: the kept ones if they are young enough."""
        if not self._reading.acquire(timeout=CHECK_SECONDS):
            raise ProviderError(f"try again: {self.provider.name} has not answered yet")
        try:
            most = REFRESH_SECONDS if is_fresh else KEPT_SECONDS
            if self._known is None or time.monotonic() - self._known.read_at > most:
                self._known = self._read_unless_failed()
            return self._known
        finally:
            self._reading.release()

    def _read_unless_failed(self) -> _Known:
        """Reads metadata and keys. Repeats a failure of the last 20 seconds without a call."""
        if self._failure is not None and time.monotonic() - self._failure[0] < FAILURE_SECONDS:
            raise ProviderError(self._failure[1])
        try:
            return self._read_now()
        except ProviderError as error:
            self._failure = (time.monotonic(), error.message)
            raise

    def read_metadata(self) -> Metadata:
        """Asks the provider for its metadata, whose issuer may be another. Raises ProviderError."""
        issuer = self.provider.issuer
        answer = self._get_json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        try:
            return Metadata.model_validate(answer)
        except ValidationError as error:
            place = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise self._fault(f"its metadata lacks a usable {place}") from None

    def _read_now(self) -> _Known:
        metadata, issuer = self.read_metadata(), self.provider.issuer
        if metadata.issuer != issuer:
            raise self._fault(
                f"its metadata names another issuer: {metadata.issuer!r}, not {issuer!r}"
            )
        scheme = f"{issuer.partition(':')[0]}://"
        addresses = [metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri]
        for address in (*addresses, *filter(None, [metadata.userinfo_endpoint])):
            if not address.startswith(("https://", scheme)) or not address.isprintable():
                raise self._fault(f"its metadata names an address without https: {address!r}")
        listed = self._get_json(metadata.jwks_uri)
        told_keys = listed.get("keys") if isinstance(listed, dict) else None
        keys = _readable_keys(told_keys if isinstance(told_keys, list) else [])
        if not keys:
            raise self._fault("its keys cannot be read")
        return _Known(metadata, KeySet(keys), time.monotonic())

    def _finish_github(self, code: str, verifier: str, redirect_uri: str) -> ProvedIdentity:
        issuer = self.provider.issuer
        api = "https://api.github.com" if issuer == GITHUB else f"{issuer}/api/v3"
        token = self._fetch_token(
            f"{issuer}/login/oauth/access_token",
            code,
            verifier,
            redirect_uri,
            ["client_secret_post"],
        )
        access = str(token.get("access_token", ""))
        user = self._get_json(f"{api}/user", access)
        if not isinstance(user, dict) or type(user.get("id")) is not int:
            raise self._fault("it did not say whose account this is")
        login = _text(user.get("login")) or "an account"
        listed = self._get_json(f"{api}/user/emails", access)
        addresses = [entry for entry in listed if isinstance(entry, dict)] if listed else []
        addresses.sort(key=lambda entry: entry.get("primary") is not True)
        verified = [
            _address_or_none(entry.get("email"))
            for entry in addresses
            if entry.get("verified") is True
        ]
        address = next(filter(None, verified), None)
        return ProvedIdentity(issuer, str(user["id"]), login[:100], login[:60], address)

    def _fetch_token(
        self, endpoint: str, code: str, verifier: str, redirect_uri: str, methods: list[str]
    ) -> dict[str, Any]:
        client = self._oauth_client(redirect_uri, methods)
        try:
            token = client.fetch_token(
                endpoint,
                grant_type="authorization_code",
                code=code,
                code_verifier=verifier,
            )
        except OAuth2Error as error:
            reason = _text(error.error) or "an error"
            raise self._fault(f"it refused the code ({reason[:60]})") from None
        except ValueError:
            raise self._fault("it sent no token") from None
        return dict(token)

    def _oauth_client(self, redirect_uri: str, methods: list[str] | None = None) -> Any:
        provider, method = self.provider, "none"
        if provider.client_secret:
            method = "client_secret_basic"
            if methods and method not in methods and "client_secret_post" in methods:
                method = "client_secret_post"
        return OAuth2Client(
            _GuardedSession(self._call),
            client_id=provider.client_id,
            client_secret=provider.client_secret or None,
            token_endpoint_auth_method=method,
            scope="read:user user:email" if provider.kind == "github" else provider.scope,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )

    def _get_json(self, url: str, access_token: str = "") -> Any:
        headers = {"Accept": "application/json"}
        if access_token:
            headers["Authorization"] = f"Bearer {access_token}"
        answer = self._call(Call("GET", url, headers))
        if answer.status != 200:
            raise self._fault(f"it answered with status {answer.status}")
        return answer.json()

    def _call(self, call: Call) -> _JsonAnswer:
        try:
            answer = http_calls.send_call(call, self.provider.rules(), seconds=CALL_SECONDS)
        except AddressError as error:
            raise self._fault(f"an address of it is refused: {error.message}") from None
        except http_calls.AnswerError as error:
            raise self._fault(str(error)) from None
        except (OSError, ValueError) as error:
            raise ProviderError(f"{self.provider.name} cannot be reached: {error}") from None
        return _JsonAnswer(answer.status, answer.body, self._fault)

    def _fault(self, reason: str) -> ProviderError:
        return ProviderError(f"the answer of {self.provider.name} is not valid: {reason[:300]}")


@dataclass(frozen=True, slots=True)
class _JsonAnswer:
    """An answer in the form that Authlib reads."""

    status_code: int
    content: bytes
    fault: Callable[[str], ProviderError]

    @property
    def status(self) -> int:
        return self.status_code

    def json(self) -> Any:
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            raise self.fault("it sent no JSON") from None

    def raise_for_status(self) -> None:
        if self.status_code >= 400:
            raise self.fault(f"it answered with status {self.status_code}")


@dataclass(frozen=True, slots=True)
class _GuardedSession:
    """The session with which Authlib fetches a token."""

    call: Callable[[Call], _JsonAnswer]

    def post(
        self, url: str, *, data: dict[str, str], headers: dict[str, str], auth: Any
    ) -> _JsonAnswer:
        target, sent, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        return self.call(Call("POST", target, sent, str(body).encode()))


def _text(value: object) -> str:
    """A text without characters that hide or break lines; empty for any other value."""
    return "".join(filter(str.isprintable, value)).strip() if isinstance(value, str) else ""


def _readable_keys(listed: list[Any]) -> list[Key]:
    """The keys that this site can use; one of another form hinders no other."""
    keys = []
    for key in listed:
        with contextlib.suppress(Exception):  # hostile values raise errors of several parsers
            keys.append(JWKRegistry.import_key(key))
    return keys


def _address_or_none(value: object) -> str | None:
    try:
        return normal_address(value) if isinstance(value, str) else None
    except Invalid:
        return None


def check_issuers(clients: Collection[ProviderClient]) -> None:
    """Asks all OpenID providers at once for their metadata.

    Raises ValueError, with both values, for a provider that names another issuer: nobody could sign
    in. One that gives no metadata is logged, because it may do so later.
    """
    issuers = [client for client in clients if client.provider.kind == "openid"]
    if not issuers:
        return
    threads = ThreadPoolExecutor(len(issuers), thread_name_prefix="providers")
    answers = {threads.submit(client.read_metadata): client.provider for client in issuers}
    done, late = wait(answers, CHECK_SECONDS)
    threads.shutdown(wait=False)
    for answer in late:
        _log_problem(answers[answer], f"no answer within {CHECK_SECONDS:.0f} s")
    for answer in done:
        provider = answers[answer]
        try:
            named = answer.result().issuer[:300]
        except ProviderError as error:
            _log_problem(provider, error.message)
            continue
        if named != provider.issuer:
            raise ValueError(
                f"{SETTING}: provider {provider.key}, issuer: write {named!r}, as in the provider's"
                f" metadata, and not {provider.issuer!r}"
            )


def _log_problem(provider: IdentityProvider, problem: str) -> None:
    log_event("identity_provider_unchecked", level="warning", key=provider.key, problem=problem)


MOST_IDENTITIES: Final = 20


@dataclass(frozen=True, slots=True)
class Identity:
    """An account at a provider that signs a person in."""

    id: IdentityId
    user_id: UserId
    issuer: str
    label: str
    created_at: datetime
    used_at: datetime | None


def person_of_identity(conn: Connection, proved: ProvedIdentity) -> UserId | None:
    """Returns the person to whom this identity is linked; None if it is new here."""
    return fetch_optional(
        conn,
        UserId,
        """update identities i set used_at = now(), label = %(label)s from users u
        where i.issuer = %(issuer)s and i.subject = %(subject)s and u.id = i.user_id
          and u.erased_at is null returning u.id""",
        {"label": proved.label, "issuer": proved.issuer, "subject": proved.subject},
    )


def link_identity(conn: Connection, user_id: UserId, proved: ProvedIdentity) -> None:
    """Links an identity to this person; a repeat is no error.

    Raises Conflict if it is another person's, without saying whose, and above 20 identities.
    """
    if person_of_identity(conn, proved) == user_id:
        return
    if len(list_identities(conn, user_id)) >= MOST_IDENTITIES:
        raise Conflict(f"unlink an identity first: you have {MOST_IDENTITIES}")
    try:
        with atomic(conn):
            conn.execute(
                """insert into identities (id, user_id, issuer, subject, label, used_at)
                values (%s, %s, %s, %s, %s, now())""",
                (ids.new_id("idn"), user_id, proved.issuer, proved.subject, proved.label),
            )
    except errors.UniqueViolation:
        raise Conflict("use another account there: this one signs another person in here") from None


def list_identities(conn: Connection, user_id: UserId) -> list[Identity]:
    """Returns a person's identities, oldest first."""
    query = """select id, user_id, issuer, label, created_at, used_at from identities
        where user_id = %(user_id)s order by id"""
    return fetch(conn, Identity, query, {"user_id": user_id})


GITHUB: Final = "https://github.com"
MICROSOFT: Final = "https://login.microsoftonline.com"
MICROSOFT_SHARED: Final = re.compile(rf"{re.escape(MICROSOFT)}/(common|organizations|consumers)\b")
"""Addresses at which people of several tenants sign in."""
SETTING: Final = "PECK_IDENTITY_PROVIDERS"


def check_domain(text: str) -> str:
    """Returns a domain in lower case. Raises ValueError."""
    domain = text.strip().lower()
    if "." not in domain or "@" in domain or not domain.isascii() or " " in domain:
        raise ValueError("write a domain as example.edu")
    return domain


def check_issuer(text: str) -> str:
    """Returns an issuer's address as written. Raises ValueError for one that is never called.

    Plain http is for a provider on this machine, by its loopback address.
    """
    try:
        address, _ = split_url(text)
    except AddressError as error:
        raise ValueError(error.message) from None
    if "?" in text:
        raise ValueError("leave out the query")
    if address.scheme != "https" and not is_loopback(address.host):
        raise ValueError(f"begin with https://, and not as in {text!r}")
    shared = MICROSOFT_SHARED.match(text)
    if shared:
        raise ValueError(
            f"write {MICROSOFT}/TENANT/v2.0 with the id of your tenant, and not {text!r}: Microsoft"
            f" names the tenant in each answer, and {shared[1]} is none"
        )
    return text


class IdentityProvider(BaseModel):
    """A service at which people have an account already."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Slug
    """Part of the addresses ``/sign-in/with/KEY``. The provider knows them, so it never changes."""
    name: Name
    """What people read on the button."""
    kind: Literal["openid", "github"] = "openid"
    issuer: Annotated[str, AfterValidator(check_issuer)] = GITHUB
    client_id: Annotated[str, Field(min_length=1, max_length=500)]
    client_secret: Annotated[str, Field(max_length=500)] = ""
    scope: str = "openid profile email"
    domains: list[Annotated[str, AfterValidator(check_domain)]] = []
    """Mail domains for which this provider vouches: its people may sign up in the mode domain."""
    vouches_for_addresses: bool = False
    """Whether an address counts as verified although the provider does not say so."""
    networks: list[str] = []
    """Private networks in which this provider may be called."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind == "openid" and self.issuer == GITHUB:
            raise ValueError("give the issuer, the address below which /.well-known/… stands")
        self.rules()
        return self

    def rules(self) -> Rules:
        """The guard's rules for calls of this provider. Raises ValueError for a bad network."""
        allowed = tuple(ipaddress.ip_network(text) for text in self.networks)
        return Rules(allow=allowed, ports=((1, 65535),), has_own_lookups=True)


def read_providers(text: str) -> tuple[IdentityProvider, ...]:
    """Reads a JSON list, or the file with this path that holds one. Empty text: no providers.

    Raises ValueError, which names the setting and the field.
    """
    if not text.strip():
        return ()
    if not text.lstrip().startswith(("[", "{")):
        try:
            text = Path(text).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{SETTING}: cannot read the file: {error}") from None
    try:
        listed = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{SETTING}: write a JSON list: {error}") from None
    if not isinstance(listed, list):
        raise ValueError(f"{SETTING}: write a JSON list")
    providers = []
    for number, item in enumerate(listed, 1):
        try:
            providers.append(IdentityProvider.model_validate(item))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the whole"
            raise ValueError(f"{SETTING}: provider {number}, {place}: {first['msg']}") from None
    for field in ("key", "issuer"):
        values = [getattr(provider, field) for provider in providers]
        if len(set(values)) < len(values):
            raise ValueError(f"{SETTING}: two providers have the same {field}")
    return tuple(providers)


def is_loopback(host: str) -> bool:
    """Whether this is a numeric address of the machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
