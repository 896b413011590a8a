"""Certificates by which a machine knows the site, Postgres and Redis.

A code carries the SHA-256 of the site's certificate. So the first connection of a machine is safe
although it knows no authority of the site yet. The answer gives it the operator's certificates.
Then it checks all ways as usual, by authority and name.
"""

from __future__ import annotations

import base64
import hashlib
import socket
import ssl
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import certifi

from ladder.errors import Conflict, Invalid
from ladder.machines.addresses import check_web_address

SETTING: Final = "PECK_MACHINE_CERTIFICATES"
SEPARATOR: Final = "."
"""Between the secret of a code and the fingerprint."""
LOOK_SECONDS: Final = 5.0
SYSTEM: Final = "system"
"""Postgres' word for the authorities of the machine."""


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
        raise Invalid(SETTING, f"it must name a file with certificates (PEM): {error}") from None
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
        return fingerprint(_presented(site, _trusting(certificates)))
    except ssl.SSLError as error:
        raise Conflict(
            f"no machine can join: the certificate of {site} is not valid for machines: set"
            f" {SETTING} to a file with its authority ({error})"
        ) from None
    except OSError as error:
        raise Conflict(
            f"no machine can join: this site cannot read its own certificate at {site}: {error}"
        ) from None


def code_text(secret: str, found: str) -> str:
    """The code that a person carries to the machine."""
    return f"{secret}{SEPARATOR}{found}" if found else secret


def split_code(code: str) -> tuple[str, str]:
    """Secret and fingerprint of a code. The fingerprint is empty if it has none."""
    secret, _, found = code.partition(SEPARATOR)
    return secret, found


def pinned_context(site: str, wanted: str) -> ssl.SSLContext:
    """A context that accepts the certificate with this fingerprint for this https address, and no
    other. Raises WrongCertificate, or OSError if the site does not answer."""
    anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anything.check_hostname = False
    anything.verify_mode = ssl.CERT_NONE  # the fingerprint decides; nothing is sent here
    certificate = _presented(site, anything)
    if fingerprint(certificate) != wanted:
        raise WrongCertificate(
            f"{site} presents another certificate than the code names. Somebody may stand between."
            " If the certificate was renewed since, ask for a new code"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    return context


def fingerprint(certificate: bytes) -> str:
    """SHA-256 of a certificate (DER) in the alphabet of codes: 43 characters."""
    return base64.urlsafe_b64encode(hashlib.sha256(certificate).digest()).decode().rstrip("=")


def with_authorities(database_url: str, redis_url: str, file: Path | None) -> tuple[str, str]:
    """The addresses of Postgres and Redis with the file of the authorities that they check against.
    None: the public ones. Addresses of this machine, and those that name a file, stay."""
    return _database_with(database_url, file), _redis_with(redis_url, file)


@cache
def public_authorities() -> str:
    """A file with the public authorities. Postgres' client in its wheel does not find them."""
    found = ssl.get_default_verify_paths().cafile
    return found if found and Path(found).is_file() else certifi.where()


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
        found = channel.getpeercert(binary_form=True)
    assert found is not None
    return found
