"""Addresses of Postgres and Redis for machines: checks that the way there is encrypted.

A machine sends its secret over these ways. So an address needs TLS with a checked certificate,
unless it stays on one machine: a Unix socket or a loopback address.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, parse_qs, urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ladder.errors import Conflict, Invalid
from ladder.settings import Settings

DATABASE: Final = "PECK_MACHINE_DATABASE_URL"
REDIS: Final = "PECK_MACHINE_REDIS_URL"
BLOBS: Final = "PECK_MACHINE_BLOBS_ENDPOINT"
LOGIN: Final = "leave user and password out: each machine gets its own"
DATABASE_TLS: Final = "add sslmode=verify-full: machines need TLS with a checked certificate"
REDIS_TLS: Final = "use rediss:// and check the certificate: machines need TLS"


@dataclass(frozen=True, slots=True)
class MachineAddresses:
    """Addresses without login by which machines reach Postgres and Redis."""

    database_url: str
    redis_url: str


def machine_addresses(settings: Settings) -> MachineAddresses:
    """The addresses of the settings. Raises Conflict if one is missing, Invalid for a wrong one."""
    found = MachineAddresses(settings.machine_database_url, settings.machine_redis_url)
    missing = [
        name
        for name, value in ((DATABASE, found.database_url), (REDIS, found.redis_url))
        if not value
    ]
    if missing:
        raise Conflict(
            f"no machine can join: the operator of this site must set {' and '.join(missing)}"
        )
    check_addresses(settings)
    return found


def check_addresses(settings: Settings) -> None:
    """Checks the addresses that are set. Raises Invalid, which names the setting."""
    if settings.machine_database_url:
        _refuse_login(DATABASE, settings.machine_database_url)
        check_database_address(DATABASE, settings.machine_database_url)
    if settings.machine_redis_url:
        _refuse_login(REDIS, settings.machine_redis_url)
        check_redis_address(REDIS, settings.machine_redis_url)
    if settings.machine_blobs_endpoint:
        check_web_address(BLOBS, settings.machine_blobs_endpoint)


def check_database_address(field: str, url: str) -> None:
    """Raises Invalid unless the address is local, or uses TLS with a checked certificate."""
    if _split(field, url).scheme not in ("postgresql", "postgres"):
        raise Invalid(field, "it must begin with postgresql://")
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise Invalid(field, "it is no address of Postgres") from None
    hosts = str(given.get("hostaddr") or given.get("host") or "").split(",")
    if not all(hosts):
        raise Invalid(field, "it must name a host")
    if given.get("service"):
        raise Invalid(field, "it must name no service: machines do not have its file")
    if given.get("sslmode") != "verify-full" and not all(_is_local(host) for host in hosts):
        raise Invalid(field, DATABASE_TLS)


def check_redis_address(field: str, url: str) -> None:
    """Raises Invalid unless the address is local, or uses TLS with a checked certificate."""
    parts = _split(field, url)
    query = parse_qs(parts.query)
    if parts.scheme == "unix" and parts.path.startswith("/"):
        return
    if parts.scheme not in ("redis", "rediss") or not parts.hostname:
        raise Invalid(field, "it must begin with rediss:// and name a host")
    if _is_local(parts.hostname):
        return
    unchecked = query.get("ssl_cert_reqs", ["required"]) != ["required"] or query.get(
        "ssl_check_hostname", ["true"]
    ) != ["true"]
    if parts.scheme != "rediss" or unchecked:
        raise Invalid(field, REDIS_TLS)


def is_local_redis(url: str) -> bool:
    """Whether only this machine reaches Redis at this address."""
    parts = urlsplit(url)
    return parts.scheme == "unix" or _is_local(parts.hostname or "")


def check_web_address(field: str, url: str) -> str:
    """The address of a server, without a slash at its end. Raises Invalid unless it begins with
    https://, or is of this machine."""
    parts = _split(field, url.rstrip("/"))
    is_plain = parts.scheme == "http" and _is_local(parts.hostname or "")
    if not parts.hostname or parts.query or (parts.scheme != "https" and not is_plain):
        raise Invalid(field, f"{url!r} must begin with https://")
    return urlunsplit(parts)


def with_login(url: str, login: str, secret: str) -> str:
    """The address with this login. Neither part of it needs quotes."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{login}:{secret}@{parts.netloc}"))


def _refuse_login(field: str, url: str) -> None:
    parts = _split(field, url)
    if "@" in parts.netloc or {"user", "password", "passfile"} & parse_qs(parts.query).keys():
        raise Invalid(field, LOGIN)


def _split(field: str, url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise Invalid(field, "it is no address") from None


def _is_local(host: str) -> bool:
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
