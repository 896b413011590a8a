"""Reads which identity providers the operator configured, from ``PECK_IDENTITY_PROVIDERS``."""

from __future__ import annotations

import ipaddress
import json
import re
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from egress.address import AddressError
from egress.guarded_connections import Rules
from egress.http_calls import split_url
from ladder.field_types import Name, Slug

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
