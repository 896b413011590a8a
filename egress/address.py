"""Parses a URL that a person gave, in one accepted spelling.

Programs read unusual URLs differently, and attackers use such differences to pass a guard. So this
module accepts one spelling. For any other spelling the error says what to write instead. The
result, ``Address``, is stored and called; no other code parses the person's text.

``guarded_connections`` judges at each connection where the address leads. This module uses the
standard library only, no network and no clock.

It also recognizes addresses that are not public, that embed another address, or that are our own.
Source: IANA's registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890 and its updates),
as of 2025. The table is our own because Python's ``ipaddress`` differs between releases; it is only
an additional check. Any IPv6 address outside global unicast (2000::/3, RFC 4291) is refused.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
import struct
import unicodedata
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

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


IP = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))  # RFC 6052, RFC 8215
_LOW_32 = (
    IPv6Network("::ffff:0:0/96"),  # mapped, RFC 4291
    IPv6Network("::ffff:0:0:0/96"),  # translated, RFC 2765
    IPv6Network("::/96"),  # compatible, RFC 4291
    *_NAT64,
)
_6TO4 = IPv6Network("2002::/16")  # RFC 3056
_TEREDO = IPv6Network("2001::/32")  # RFC 4380
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # RFC 5214, section 6.1

# From linux/netlink.h and linux/rtnetlink.h.
_NLM_F_REQUEST, _NLMSG_ERROR, _RTM_GETROUTE, _RTA_DST = 1, 2, 26, 1
_LOCALHOST = frozenset({2, 3, 4})  # RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST
_NO_ROUTE = frozenset(  # no such family, no route, a forbidden route, a black hole
    {errno.EAFNOSUPPORT, errno.EOPNOTSUPP, errno.ENETUNREACH, errno.EHOSTUNREACH}
    | {errno.EACCES, errno.EINVAL}
)

_SPECIAL: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(network), what)
    for network, what in (
        # Metadata services of clouds come first, as most lie in the networks below.
        ("169.254.169.254/32", "a cloud's metadata service"),
        ("169.254.170.2/32", "a cloud's metadata service"),
        ("100.100.100.200/32", "a cloud's metadata service"),
        ("192.0.0.192/32", "a cloud's metadata service"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("fd00:ec2::254/128", "a cloud's metadata service"),
        ("fd20:ce::254/128", "a cloud's metadata service"),
        ("0.0.0.0/8", "unspecified (RFC 791)"),
        ("10.0.0.0/8", "private (RFC 1918)"),
        ("100.64.0.0/10", "shared behind a carrier's NAT (RFC 6598)"),
        ("127.0.0.0/8", "loopback (RFC 1122)"),
        ("169.254.0.0/16", "link-local (RFC 3927)"),
        ("172.16.0.0/12", "private (RFC 1918)"),
        ("192.0.0.0/24", "reserved for protocols (RFC 6890)"),
        ("192.0.2.0/24", "for documentation (RFC 5737)"),
        ("192.31.196.0/24", "an AS112 sink (RFC 7535)"),
        ("192.52.193.0/24", "for multicast tunnels (RFC 7450)"),
        ("192.88.99.0/24", "a 6to4 relay (RFC 7526)"),
        ("192.168.0.0/16", "private (RFC 1918)"),
        ("192.175.48.0/24", "an AS112 sink (RFC 7534)"),
        ("198.18.0.0/15", "for benchmarks (RFC 2544)"),
        ("198.51.100.0/24", "for documentation (RFC 5737)"),
        ("203.0.113.0/24", "for documentation (RFC 5737)"),
        ("224.0.0.0/4", "multicast (RFC 5771)"),
        ("255.255.255.255/32", "broadcast (RFC 919)"),
        ("240.0.0.0/4", "reserved (RFC 1112)"),
        ("::/128", "unspecified (RFC 4291)"),
        ("::1/128", "loopback (RFC 4291)"),
        ("100::/64", "a sink (RFC 6666)"),
        ("fc00::/7", "private (RFC 4193)"),
        ("fe80::/10", "link-local (RFC 4291)"),
        ("fec0::/10", "site-local (RFC 3879)"),
        ("ff00::/8", "multicast (RFC 4291)"),
        # Special networks inside global unicast.
        ("2001:db8::/32", "for documentation (RFC 3849)"),
        ("3fff::/20", "for documentation (RFC 9637)"),
        ("2001:2::/48", "for benchmarks (RFC 5180)"),
        ("2001::/23", "reserved for protocols (RFC 2928)"),
        ("2620:4f:8000::/48", "an AS112 sink (RFC 7534)"),
        ("3ffe::/16", "of the former 6bone (RFC 3701)"),
    )
)


def special_purpose(ip: IP) -> str | None:
    """Returns what a non-public address is, such as "private (RFC 1918)"; None if public."""
    if isinstance(ip, IPv6Address) and ip.scope_id is not None:
        return "bound to a link (RFC 4007)"
    # The unspecified and the loopback address look like IPv4-compatible addresses.
    if embedded_ipv4(ip) and int(ip) > 1:
        return "an IPv6 address that embeds an IPv4 address"
    for network, purpose in _SPECIAL:
        if ip in network:
            return purpose
    if ip.version == 6 and ip not in _GLOBAL_UNICAST:
        return "not global unicast (RFC 4291)"
    return None if ip.is_global and not ip.is_multicast else "not a public address"


def embedded_ipv4(ip: IP) -> tuple[IPv4Address, ...]:
    """Returns the IPv4 addresses that tunnels or translators read from this IPv6 address."""
    if isinstance(ip, IPv4Address):
        return ()
    value = int(ip)
    parts = []
    if any(ip in network for network in _LOW_32) or value >> 32 & 0xFFFF_FFFF in _ISATAP:
        parts.append(value)
    if ip in _NAT64[1]:  # RFC 6052, section 2.2: around the octet of bits 64 to 71
        parts.append((value >> 64 & 0xFFFF) << 16 | value >> 40 & 0xFFFF)
    if ip in _6TO4:
        parts.append(value >> 80)
    if ip in _TEREDO:  # the server, and the client's address with inverted bits
        parts += [value >> 64, ~value]
    return tuple(IPv4Address(part & 0xFFFF_FFFF) for part in parts)


def as_ipv6(ip: IP) -> IPv6Address:
    """Returns the address as IPv6; an IPv4 address is mapped (RFC 4291, section 2.5.5.2)."""
    return IPv6Address(0xFFFF << 32 | int(ip)) if isinstance(ip, IPv4Address) else ip


def is_own_address(ip: IP) -> bool:
    """Whether the address belongs to this machine; a public address may, too.

    Two checks ask the kernel at each connection: its route to the address, and whether a socket can
    bind to the address. Each check alone misses cases. IPv6 cannot bind to addresses of a network
    that is ours only by a route. Some routing tables do not apply to connections.

    Raises OSError if the kernel permits binding to any address, since the check is then impossible.
    """
    if _routes_to_this_machine(ip):
        return True
    if not _can_bind(ip):
        return False
    # Addresses for documentation (RFC 5737, RFC 3849), which no machine has.
    nobody = "192.0.2.1" if ip.version == 4 else "2001:db8::1"
    if _can_bind(ip_address(nobody)):
        setting = f"net.ipv{ip.version}.ip_nonlocal_bind"
        raise OSError(
            f"the ladder cannot recognize its own addresses ({setting} is 1): tell its host"
        )
    return True


def _routes_to_this_machine(ip: IP) -> bool:
    """Whether the kernel's route to the address ends in this machine (rtnetlink(7))."""
    family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
    question = struct.pack("=BBBB4xI", family, ip.max_prefixlen, 0, 0, 0)
    question += struct.pack("=HH", 4 + len(ip.packed), _RTA_DST) + ip.packed
    head = struct.pack("=IHHII", 16 + len(question), _RTM_GETROUTE, _NLM_F_REQUEST, 1, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
            kernel.settimeout(1.0)
            kernel.send(head + question)
            said = kernel.recv(1 << 16)
    except OSError as error:
        why = f"the kernel returns no routes: {error.strerror or error}"
        raise OSError(
            f"the ladder cannot recognize its own addresses ({why}): tell its host"
        ) from None
    (kind,) = struct.unpack_from("=H", said, 4)
    if kind == _NLMSG_ERROR:
        (code,) = struct.unpack_from("=i", said, 16)
        if -code in _NO_ROUTE:
            return False
        why = f"the kernel returns no route: {os.strerror(-code)}"
        raise OSError(f"the ladder cannot recognize its own addresses ({why}): tell its host")
    return said[16 + 7] in _LOCALHOST


def _can_bind(ip: IP) -> bool:
    family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(ip), 0))
    except OSError as error:
        # Without this family the address is unreachable too. Other errors leave the answer open.
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return False
        raise
    return True
