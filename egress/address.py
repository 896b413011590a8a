"""Parses a URL that a person gave, in one accepted spelling.

Programs read unusual URLs differently, and attackers use such differences to pass a guard. So this
module accepts one spelling. For any other spelling the error says what to write instead. The
result, ``Address``, is stored and called; no other code parses the person's text.

``guarded_connections`` judges at each connection where the address leads. This module uses the
standard library only, no network and no clock.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from dataclasses import dataclass

DEFAULT_PORTS = {"http": 80, "https": 443}
URL_LIMIT = 500
HOST_LIMIT = 253  # RFC 1035, section 2.3.4, as text without the final dot
PATH_LIMIT = 200

# RFC 3986, section 3.3, without percent-encoding, which would give one path several spellings.
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # RFC 1123, section 2.1
_PORT = re.compile(r"[1-9][0-9]{0,4}")
# WHATWG's URL standard, "ends in a number": resolvers read such a host as an IPv4 address.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DOTS = re.compile("[.\u3002\uff0e\uff61]")  # RFC 3490, section 3.1

# Names that are local, or that resolvers answer differently.
_LOCAL_NAMES = {
    "localhost": "RFC 6761",
    "localdomain": "the same machine by custom",
    "local": "RFC 6762, the link's own names",
    "internal": "reserved for private use; clouds put their metadata there",
    "home.arpa": "RFC 8375",
    "in-addr.arpa": "the names of addresses",
    "ip6.arpa": "the names of addresses",
    "onion": "RFC 7686",
    "alt": "RFC 9476",
    "invalid": "RFC 6761",
}
# The standard library has IDNA 2003. It rewrites these characters to other names than browsers do
# (RFC 5894, section 7.2), or drops them.
_DEVIATIONS = frozenset("\u00df\u1e9e\u03c2\u200c\u200d\u00ad")


class AddressError(ValueError):
    """An address is refused; the message is for its owner. ``field`` is ``url`` or ``api``."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message = field, message


@dataclass(frozen=True, slots=True)
class Address:
    """Destination of an outbound call, for example a remote agent."""

    scheme: str
    """``http`` or ``https``."""
    host: str
    """A name in lower-case ASCII, or an IP address in its canonical form, without brackets."""
    port: int
    path: str
    """Empty, or ``/prefix`` without a final slash."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host_header}{self.path}"

    @property
    def host_header(self) -> str:
        """Value of the Host header; the port appears only if it is not the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS.get(self.scheme) else f"{host}:{self.port}"


def parse(url: str) -> Address:
    """Parses a URL. Raises AddressError, which says what to write instead.

    >>> str(parse("HTTPS://Snake.Example.ORG:443/v1/"))
    'https://snake.example.org/v1'
    """
    if len(url) > URL_LIMIT:
        raise _url_error(f"must have at most {URL_LIMIT} characters; it has {len(url)}")
    _refuse_odd_characters(url)
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if not found or scheme not in DEFAULT_PORTS:
        raise _url_error("begin with http:// or https://")
    authority, slash, path = rest.partition("/")
    if "@" in authority:
        raise _url_error("leave out the user and password before the @; no login is supported")
    host, port = _split_host_and_port(authority)
    return Address(
        scheme,
        _parse_ipv6(host) if host.startswith("[") else _parse_host_name(host),
        DEFAULT_PORTS[scheme] if port is None else _parse_port(port),
        _parse_path(slash + path),
    )


def _url_error(text: str) -> AddressError:
    return AddressError("url", text)


def _refuse_odd_characters(url: str) -> None:
    """Refuses characters that URL parsers strip, replace or read as a boundary."""
    for char in url:
        group = unicodedata.category(char)[0]
        if group in "CZ":
            kind = "spaces" if group == "Z" else "control or invisible characters"
            raise _url_error(f"leave out {kind} (U+{ord(char):04X})")
    for char, what in (
        ("\\", "write / instead of the backslash"),
        ("?", "leave out the query (from the ? on); only the path is called"),
        ("#", "leave out the fragment (from the # on)"),
        ("%", "leave out percent-encoding, in the host and in the path"),
    ):
        if char in url:
            raise _url_error(what)


def _split_host_and_port(authority: str) -> tuple[str, str | None]:
    """Splits into the host, with brackets if any, and the text of the port."""
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _url_error("write an IPv6 address in brackets: http://[2001:db8::1]:8000")
        return host + bracket, rest[1:] if rest else None
    host, colon, port = authority.partition(":")
    if ":" in port:
        raise _url_error("write one colon, before the port; write an IPv6 address in brackets")
    return host, port if colon else None


def _parse_port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise _url_error(f"the port must be a number from 1 to 65535, not {text!r}")
    return int(text)


def _parse_path(path: str) -> str:
    path = path.removesuffix("/")
    if len(path) > PATH_LIMIT:
        raise _url_error(f"the path must have at most {PATH_LIMIT} characters")
    if "//" in path or path.endswith("/"):
        raise _url_error("the path has an empty part (//)")
    if not _PATH.fullmatch(path):
        raise _url_error(
            "the path may contain only letters, digits and . _ ~ ! $ & ' ( ) * + , ; = : @ -"
        )
    if any(part in (".", "..") for part in path.split("/")):
        raise _url_error("leave out . and .. in the path")
    return path


def _parse_ipv6(bracketed: str) -> str:
    """Parses a bracketed IPv6 address (RFC 3986). A zone (RFC 6874) needs a %, refused earlier."""
    try:
        return str(ipaddress.IPv6Address(bracketed[1:-1]))
    except ValueError:
        raise _url_error(f"{bracketed} is not an IPv6 address") from None


def _parse_host_name(text: str) -> str:
    """Returns the host in lower-case ASCII: a name with a dot, or an IPv4 address."""
    if not text:
        raise _url_error("the host is missing")
    host = text.lower() if text.isascii() else _to_idna(text)
    if len(host) > HOST_LIMIT:
        raise _url_error(f"the host must have at most {HOST_LIMIT} characters")
    if host.endswith("."):
        raise _url_error("leave out the dot at the end of the host")
    labels = host.split(".")
    if "" in labels:
        raise _url_error("the host has an empty part (two dots, or a dot at its start)")
    if _NUMBER.fullmatch(labels[-1]):
        return _parse_ipv4(host, text)
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise _url_error(
                f"{label!r} in the host may contain only letters, digits and inner"
                " hyphens, at most 63 characters"
            )
    for name, why in _LOCAL_NAMES.items():
        if host == name or host.endswith("." + name):
            raise _url_error(f"names under {name} are not public ({why}); give a public name")
    if len(labels) == 1:
        raise _url_error("give the host's whole name, with a dot, or its IP address")
    return host


def _parse_ipv4(host: str, text: str) -> str:
    """Parses four decimal numbers without leading zeros. Refuses other spellings of resolvers."""
    try:
        if not text.isascii():
            raise ValueError
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        raise _url_error(
            f"{text!r} is an IPv4 address in another spelling; write four plain"
            " decimal numbers, such as 192.0.2.1"
        ) from None


def _to_idna(text: str) -> str:
    """Converts a name by IDNA 2003 (RFC 3490). The caller checks the result like typed text."""
    labels = _DOTS.split(text)
    for char in text:
        if char in _DEVIATIONS or unicodedata.ucd_3_2_0.category(char) == "Cn":
            raise _url_error(f"{char!r} in the host has more than one reading; write the xn-- form")
    if any(len(label) > 63 for label in labels):  # the codec is slow for long labels
        raise _url_error("a part of the host has more than 63 characters")
    try:
        host = text.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise _url_error(f"{text!r} is not a valid DNS name; write the xn-- form") from None
    # The codec may turn a character into a dot (U+2024) or a slash (U+2100).
    if len(host.split(".")) != len(labels):
        raise _url_error(f"{text!r} has a character that turns into a dot; write the xn-- form")
    return host
