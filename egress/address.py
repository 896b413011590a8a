"""An address that a person gave, in the one spelling that is read.

A URL has many spellings, and programs that read them differ; a guard is passed where two readers
differ. So one spelling is read here, every other is refused with a sentence that tells what to
write instead, and nothing reads the owner's text again: what is stored and called is ``Address``.
Where an address leads is not judged here but by ``guard``, at each connection.

Standard library only, and pure: it asks neither the network nor the clock.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from dataclasses import dataclass

DEFAULT_PORTS = {"http": 80, "https": 443}
URL_LIMIT = 500
HOST_LIMIT = 253  # RFC 1035, section 2.3.4, as text without the root's dot
PATH_LIMIT = 200

# RFC 3986, section 3.3, less percent-encoding: two spellings of one path are one too many.
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # RFC 1123, section 2.1
_PORT = re.compile(r"[1-9][0-9]{0,4}")
# WHATWG's URL standard, "ends in a number": resolvers take such a host for an IPv4 address.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DOTS = re.compile("[.\u3002\uff0e\uff61]")  # RFC 3490, section 3.1

# Names that mean something else, or nothing, depending on who asks.
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
# IDNA 2003, which the standard library has, rewrites these to other names than browsers do
# (RFC 5894, section 7.2), or drops them.
_DEVIATIONS = frozenset("\u00df\u1e9e\u03c2\u200c\u200d\u00ad")


class AddressError(ValueError):
    """What is wrong with an address, for its owner, and in which field: ``url`` or ``api``."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message = field, message


@dataclass(frozen=True, slots=True)
class Address:
    """Where an outbound call goes: a remote agent, for example."""

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
        """What the field Host says: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS.get(self.scheme) else f"{host}:{self.port}"


def parse(url: str) -> Address:
    """The address that this URL spells; AddressError tells what to write instead.

    >>> str(parse("HTTPS://Snake.Example.ORG:443/v1/"))
    'https://snake.example.org/v1'
    """
    if len(url) > URL_LIMIT:
        raise _url_error(f"at most {URL_LIMIT} characters, this has {len(url)}")
    _refuse_odd_characters(url)
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if not found or scheme not in DEFAULT_PORTS:
        raise _url_error("begin with http:// or https://")
    authority, slash, path = rest.partition("/")
    if "@" in authority:
        raise _url_error("leave out the user and password before the @; nobody is logged in")
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
    """Refuse what readers of URLs strip, turn or take for a boundary, wherever it stands."""
    for char in url:
        group = unicodedata.category(char)[0]
        if group in "CZ":
            kind = "spaces" if group == "Z" else "control or invisible characters"
            raise _url_error(f"leave out {kind} (U+{ord(char):04X})")
    for char, what in (
        ("\\", "write / and no backslash"),
        ("?", "leave out the query (from the ? on); the path is all that is called"),
        ("#", "leave out the fragment (from the # on)"),
        ("%", "leave out percent-encoding, in the host and in the path"),
    ):
        if char in url:
            raise _url_error(what)


def _split_host_and_port(authority: str) -> tuple[str, str | None]:
    """Host, with its brackets if any, and the port's text."""
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _url_error("an IPv6 address stands in brackets: http://[2001:db8::1]:8000")
        return host + bracket, rest[1:] if rest else None
    host, colon, port = authority.partition(":")
    if ":" in port:
        raise _url_error("one colon, before the port; an IPv6 address stands in brackets")
    return host, port if colon else None


def _parse_port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise _url_error(f"the port is a number from 1 to 65535, not {text!r}")
    return int(text)


def _parse_path(path: str) -> str:
    path = path.removesuffix("/")
    if len(path) > PATH_LIMIT:
        raise _url_error(f"the path has at most {PATH_LIMIT} characters")
    if "//" in path or path.endswith("/"):
        raise _url_error("the path has an empty part (//)")
    if not _PATH.fullmatch(path):
        raise _url_error(
            "the path holds letters, digits and . _ ~ ! $ & ' ( ) * + , ; = : @ - alone"
        )
    if any(part in (".", "..") for part in path.split("/")):
        raise _url_error("leave out . and .. in the path")
    return path


def _parse_ipv6(bracketed: str) -> str:
    """RFC 3986's brackets; a zone (RFC 6874) needs a %, which is refused before."""
    try:
        return str(ipaddress.IPv6Address(bracketed[1:-1]))
    except ValueError:
        raise _url_error(f"{bracketed} is no IPv6 address") from None


def _parse_host_name(text: str) -> str:
    """The host in lower-case ASCII: a name with a dot, or four plain numbers."""
    if not text:
        raise _url_error("the host is missing")
    host = text.lower() if text.isascii() else _to_idna(text)
    if len(host) > HOST_LIMIT:
        raise _url_error(f"the host has at most {HOST_LIMIT} characters")
    if host.endswith("."):
        raise _url_error("leave out the dot at the end of the host")
    labels = host.split(".")
    if "" in labels:
        raise _url_error("the host has an empty part (two dots, or one at its beginning)")
    if _NUMBER.fullmatch(labels[-1]):
        return _parse_ipv4(host, text)
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise _url_error(
                f"{label!r} in the host: letters, digits and inner hyphens, at most 63 characters"
            )
    for name, why in _LOCAL_NAMES.items():
        if host == name or host.endswith("." + name):
            raise _url_error(
                f"names under {name} are not public ({why}); give a name that all can ask"
            )
    if len(labels) == 1:
        raise _url_error("give the host's whole name, with a dot, or its IP address")
    return host


def _parse_ipv4(host: str, text: str) -> str:
    """Four decimal numbers without leading zeros; what else resolvers take is refused here."""
    try:
        if not text.isascii():
            raise ValueError
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        raise _url_error(
            f"{text!r} reads as an IPv4 address in another spelling;"
            " write four plain decimal numbers, such as 192.0.2.1"
        ) from None


def _to_idna(text: str) -> str:
    """The name by IDNA 2003 (RFC 3490). What comes out is judged as if it had been typed."""
    labels = _DOTS.split(text)
    for char in text:
        if char in _DEVIATIONS or unicodedata.ucd_3_2_0.category(char) == "Cn":
            raise _url_error(f"{char!r} in the host has more than one reading; write the xn-- form")
    if any(len(label) > 63 for label in labels):  # the codec is slow in long ones
        raise _url_error("a part of the host has more than 63 characters")
    try:
        host = text.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise _url_error(f"{text!r} is no name that DNS could hold; write the xn-- form") from None
    # A character may unfold to a dot (U+2024) or a slash (U+2100): no more parts than were typed.
    if len(host.split(".")) != len(labels):
        raise _url_error(f"{text!r} has a character that turns into a dot; write the xn-- form")
    return host
