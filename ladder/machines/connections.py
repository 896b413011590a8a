"""The ways from a machine to Postgres, Redis and the site: their addresses and certificates.

A machine sends its secret over these ways. So an address needs TLS with a checked certificate,
unless it stays on one machine: a Unix socket or a loopback address.

A code carries the SHA-256 of the site's certificate. So the first connection of a machine is safe
although it knows no authority of the site yet. The answer gives it the operator's certificates.
Then it checks all ways as usual, by authority and name.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import socket
import ssl
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qs, parse_qsl, quote, urlencode, urlsplit, urlunsplit

import certifi
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
CERTIFICATES: Final = "PECK_MACHINE_CERTIFICATES"
SEPARATOR: Final = "."
"""Between the secret of a code and the fingerprint."""
LOOK_SECONDS: Final = 5.0
SYSTEM: Final = "system"
"""Postgres' word for the authorities of the machine."""


@dataclass(frozen=True, slots=True)
class MachineAddresses:
    """Addresses without login by which machines reach Postgres and Redis."""

    database_url: str
    redis_url: str


def machine_addresses(settings: Settings) -> MachineAddresses:
    """The addresses of the settings. Raises Conflict if one is missing, Invalid for a wrong one."""
    settings_of_addresses = {
        DATABASE: settings.machine_database_url,
        REDIS: settings.machine_redis_url,
    }
    missing = [name for name, address in settings_of_addresses.items() if not address]
    if missing:
        raise Conflict(
            f"no machine can join: the operator of this site must set {' and '.join(missing)}"
        )
    check_addresses(settings)
    return MachineAddresses(settings.machine_database_url, settings.machine_redis_url)


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
        parameters = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise Invalid(field, "it is no address of Postgres") from None
    hosts = str(parameters.get("hostaddr") or parameters.get("host") or "").split(",")
    if not all(hosts):
        raise Invalid(field, "it must name a host")
    if parameters.get("service"):
        raise Invalid(field, "it must name no service: machines do not have its file")
    if parameters.get("sslmode") != "verify-full" and not all(_is_local(host) for host in hosts):
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


class WrongCertificate(Exception):
    """The site presents another certificate than the one that the code names."""


def read_certificates(file: str) -> str:
    """The certificates (PEM) for machines; empty if no file is set. Raises Invalid."""
    if not file:
        return ""
    try:
        text = Path(file).read_text()
        _trusting(text)
    except (OSError, ValueError, ssl.SSLError) as error:
        raise Invalid(
            CERTIFICATES, f"it must name a file with certificates (PEM): {error}"
        ) from None
    return text


def client_context(address: str, certificates: str) -> ssl.SSLContext:
    """A context that trusts the public authorities and these certificates (PEM, may be empty). None
    of them for ``http://``: reading them takes 30 ms."""
    if address.startswith("http://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return _trusting(certificates)


def site_fingerprint(base_url: str, certificates: str) -> str:
    """The fingerprint of the certificate that the site presents at its own address, after the check
    that machines will make. Empty for a plain address of this machine alone. Raises Conflict."""
    try:
        site = check_web_address("PECK_BASE_URL", base_url)
    except Invalid as error:
        raise Conflict(f"no machine can join: correct PECK_BASE_URL: {error.message}") from None
    if not site.startswith("https://"):
        return ""
    try:
        return fingerprint_of(_presented(site, _trusting(certificates)))
    except ssl.SSLError as error:
        raise Conflict(
            f"no machine can join: the certificate of {site} is not valid for machines: set"
            f" {CERTIFICATES} to a file with its authority ({error})"
        ) from None
    except OSError as error:
        raise Conflict(
            f"no machine can join: this site cannot read its own certificate at {site}: {error}"
        ) from None


def code_text(secret: str, fingerprint: str) -> str:
    """The code that a person carries to the machine."""
    return f"{secret}{SEPARATOR}{fingerprint}" if fingerprint else secret


def split_code(code: str) -> tuple[str, str]:
    """Secret and fingerprint of a code. The fingerprint is empty if it has none."""
    secret, _, fingerprint = code.partition(SEPARATOR)
    return secret, fingerprint


def pinned_context(site: str, fingerprint: str) -> ssl.SSLContext:
    """A context that accepts the certificate with this fingerprint for this https address, and no
    other. Raises WrongCertificate, or OSError if the site does not answer."""
    anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anything.check_hostname = False
    anything.verify_mode = ssl.CERT_NONE  # the fingerprint decides; nothing is sent here
    certificate = _presented(site, anything)
    if fingerprint_of(certificate) != fingerprint:
        raise WrongCertificate(
            f"{site} presents another certificate than the code names. Somebody may stand between."
            " If the certificate was renewed since, ask for a new code"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    return context


def fingerprint_of(certificate: bytes) -> str:
    """SHA-256 of a certificate (DER) in the alphabet of codes: 43 characters."""
    return base64.urlsafe_b64encode(hashlib.sha256(certificate).digest()).decode().rstrip("=")


def with_authorities(database_url: str, redis_url: str, file: Path | None) -> tuple[str, str]:
    """The addresses of Postgres and Redis with the file of the authorities that they check against.
    None: the public ones. Addresses of this machine, and those that name a file, stay."""
    return _database_with(database_url, file), _redis_with(redis_url, file)


@cache
def public_authorities() -> str:
    """A file with the public authorities. Postgres' client in its wheel does not find them."""
    file = ssl.get_default_verify_paths().cafile
    return file if file and Path(file).is_file() else certifi.where()


def _database_with(url: str, file: Path | None) -> str:
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if query.get("sslmode") != "verify-full" or query.get("sslrootcert", SYSTEM) != SYSTEM:
        return url
    private = str(file) if file is not None and "sslrootcert" not in query else ""
    query["sslrootcert"] = private or public_authorities()
    return urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))


def _redis_with(url: str, file: Path | None) -> str:
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme != "rediss" or file is None or "ssl_ca_certs" in query:
        return url
    query["ssl_ca_certs"] = str(file)
    return urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))


def _trusting(certificates: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=public_authorities())
    if certificates:
        context.load_verify_locations(cadata=certificates)
    return context


def _presented(site: str, context: ssl.SSLContext) -> bytes:
    """The certificate (DER) of an https address. Raises OSError, SSLError."""
    parts = urlsplit(site)
    assert parts.hostname is not None
    with (
        socket.create_connection((parts.hostname, parts.port or 443), LOOK_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=parts.hostname) as channel,
    ):
        certificate = channel.getpeercert(binary_form=True)
    assert certificate is not None
    return certificate
