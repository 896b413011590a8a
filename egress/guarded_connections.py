"""Opens every connection from the instance to an address that a person gave.

``connect`` resolves the name once, checks every address of the name, and connects to a checked
address by number. No later step resolves the name again, so DNS rebinding gains nothing. One
forbidden address refuses the whole name. Redirects and proxies are not supported.

The guard refuses networks that are not public, IPv4 addresses embedded in IPv6 addresses, and this
machine's own addresses. The operator's deny list comes first. The allow list permits anything else.
The port rules apply to both.

The messages are for owners of agents. For a name, a message gives the kind of a forbidden address,
not the address. It gives the kind only if the name has a public address too, because our resolver
may know private names.

Uses the standard library only. ``address`` has the list and its sources.

Every wait of a TLS connection is bounded. OpenSSL keeps reading while records without content
arrive, such as session tickets and key changes. Python's SSLSocket checks its timeout only when no
data is left. So a server that sends such records without pause could block a read, and one core,
without limit. ``TlsSocket`` passes bytes to OpenSSL in small pieces. Between the pieces it checks
the time and counts the bytes.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from egress import address
from egress.address import IP, Address, AddressError, Network, parse

MOST_SILENT_BYTES = 256 << 10
"""Highest number of bytes before a byte of content. A handshake needs about 100 KiB at most."""
_PIECE_BYTES = 16 << 10
T = TypeVar("T")


class TlsSocket(socket.socket):
    """A connected socket with TLS, limited to what an HTTP client needs.

    The timeout bounds a whole ``recv``, ``sendall`` or handshake, however many records arrive.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str) -> None:
        """Takes over the socket and its timeout, and does the handshake.

        Raises the OSError that SSLSocket would raise.
        """
        timeout_seconds = sock.gettimeout()
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._coming, self._going, server_hostname=host)
        super().__init__(sock.family, sock.type, sock.proto, fileno=sock.detach())
        self.settimeout(timeout_seconds)
        self._silent_bytes = 0
        try:
            self._run_tls_step(self._tls.do_handshake)
        except BaseException:
            self.close()
            raise
        self._silent_bytes = 0

    def version(self) -> str | None:
        """The protocol, such as ``TLSv1.3``."""
        return self._tls.version()

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Returns some content, or nothing after the other side has closed."""
        try:
            content = self._run_tls_step(lambda: self._tls.read(size))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        self._silent_bytes = 0
        return content

    def sendall(self, data: Any, flags: int = 0) -> None:
        left = memoryview(data)
        while left:
            left = left[self._run_tls_step(functools.partial(self._tls.write, left)) :]

    def _run_tls_step(self, step: Callable[[], T]) -> T:
        """Runs an OpenSSL step, and moves the bytes that the step needs and produces."""
        timeout_seconds = self.gettimeout()
        until = time.monotonic() + (timeout_seconds or 0.0)

        def wait() -> None:
            if not timeout_seconds:  # no timeout, or non-blocking
                return
            if (left := until - time.monotonic()) <= 0:
                raise TimeoutError("timed out")
            self.settimeout(left)

        try:
            while True:
                with contextlib.suppress(ssl.SSLWantReadError):
                    made = step()
                    self._send_pending_bytes(timeout_seconds, wait)
                    return made
                self._send_pending_bytes(timeout_seconds, wait)
                wait()
                self._feed_received_bytes(super().recv(_PIECE_BYTES))
        except ssl.SSLError:
            with contextlib.suppress(OSError):  # sends the alert to the other side if possible
                self._send_pending_bytes(timeout_seconds, wait)
            raise
        finally:
            self.settimeout(timeout_seconds)

    def _send_pending_bytes(self, timeout_seconds: float | None, wait: Callable[[], None]) -> None:
        """Sends the bytes that OpenSSL has ready; a non-blocking read sends nothing."""
        if self._going.pending and timeout_seconds != 0:
            wait()
            super().sendall(self._going.read())

    def _feed_received_bytes(self, piece: bytes) -> None:
        if not piece:
            self._coming.write_eof()
            return
        self._silent_bytes += len(piece)
        if self._silent_bytes > MOST_SILENT_BYTES:
            raise OSError(f"the server sent {MOST_SILENT_BYTES} bytes of TLS without any content")
        self._coming.write(piece)

    def _refuse_tls_bypass(self, *_: Any) -> NoReturn:
        """Refuses a method that would bypass TLS."""
        raise NotImplementedError

    send = sendto = sendmsg = sendfile = _refuse_tls_bypass  # type: ignore[assignment]
    recv_into = recvfrom = recvfrom_into = recvmsg = recvmsg_into = _refuse_tls_bypass  # type: ignore[assignment]


REMEDY = "give a public address, or ask this ladder's operator to allow it"
DEFAULT_PORTS = ((80, 80), (443, 443), (8000, 8999))
MOST_ADDRESSES_TRIED = 4
"""Highest number of addresses of one name that are tried; all are checked."""
MOST_ADDRESSES = 64
"""Highest number of addresses of one name. A check takes 0.1 ms; DNS can return thousands."""
MOST_CONCURRENT_LOOKUPS = 16
"""Resolver calls at a time. A call that hangs cannot be cancelled, so it keeps its slot."""

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_slots = {
    has_own_lookups: threading.BoundedSemaphore(MOST_CONCURRENT_LOOKUPS)
    for has_own_lookups in (False, True)
}


class Forbidden(OSError):
    """The guard refuses the connection; the message is for the agent's owner."""


@dataclass(frozen=True)
class Rules:
    """The operator's rules for outbound connections. Deny wins over allow; ports limit both."""

    allow: tuple[Network, ...] = ()
    deny: tuple[Network, ...] = ()
    ports: tuple[tuple[int, int], ...] = DEFAULT_PORTS
    """First and last port of each range."""
    has_own_lookups: bool = False
    """Whether the resolver's calls have slots apart from those for addresses that people type."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Rules:
        """Reads ``PECK_EGRESS_ALLOW``, ``_DENY`` (networks) and ``_PORTS``, separated by commas.

        An empty variable means its default. Raises ValueError, which names the variable.
        """
        return cls(
            _networks_from_environment("PECK_EGRESS_ALLOW", environ),
            _networks_from_environment("PECK_EGRESS_DENY", environ),
            _ports_from_environment("PECK_EGRESS_PORTS", environ) or DEFAULT_PORTS,
        )


def refuse_forbidden_ip(ip: IP, rules: Rules) -> None:
    """Raises Forbidden unless a connection to this address is permitted."""
    if reason := _reason_to_refuse(ip, rules):
        raise Forbidden(f"{ip} {reason}")


def connect(
    address: Address, rules: Rules, until: float, context: ssl.SSLContext | None = None
) -> socket.socket:
    """Returns a socket connected to the address, with TLS for https.

    ``until`` (``time.monotonic``) bounds everything, including the resolver. The socket's timeout
    is the time that is left. ``context`` replaces the default TLS context; it must verify
    certificates.

    Raises Forbidden if the guard refuses, another OSError (such as TimeoutError) if the connection
    fails. The agent's owner may read all these messages.
    """
    if context and not (context.check_hostname and context.verify_mode is ssl.CERT_REQUIRED):
        raise ValueError("context: must verify certificates and names")
    _refuse_address(address, rules)
    # Load the certificates before connecting: it is slow, and the other side would wait.
    trust = (context or tls_context()) if address.scheme == "https" else None
    sock = _connect_to_first(address, _permitted_addresses(address, rules, until), until)
    try:
        if trust:
            sock = _wrap_in_tls(sock, address, until, trust)
        sock.settimeout(_seconds_left(until, address))
    except BaseException:
        sock.close()
        raise
    return sock


def refuse_forbidden_address(address: Address, rules: Rules, until: float) -> None:
    """Raises Forbidden if ``connect`` would refuse this address now, another OSError if DNS fails.

    It connects to nothing. A later answer of DNS can differ, so ``connect`` checks again.
    """
    _refuse_address(address, rules)
    _permitted_addresses(address, rules, until)


def _refuse_address(address: Address, rules: Rules) -> None:
    """Refuses ports that the rules do not permit, and an Address that the parser did not make."""
    _refuse_unparsed_address(address)
    if not any(first <= address.port <= last for first, last in rules.ports):
        shown = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in rules.ports)
        raise Forbidden(f"port {address.port} is not permitted; use one of {shown}")


def _refuse_unparsed_address(address: Address) -> None:
    """Refuses an Address that the parser did not make; the class itself checks nothing."""
    try:
        if parse(str(address)) == address:
            return
    except AddressError as error:
        raise Forbidden(str(error)) from None
    raise Forbidden("url: must be in canonical form")


def _reason_to_refuse(ip: IP, rules: Rules) -> str | None:
    """Returns why the address is refused, as the end of a sentence; None if permitted."""
    forms = (ip, *address.embedded_ipv4(ip), address.as_ipv6(ip))
    if any(form in network for form in forms for network in rules.deny):
        return "is in a network that the operator of this ladder denies"
    if any(ip in network for network in rules.allow):
        return None
    if purpose := address.special_purpose(ip):
        return f"is {purpose}; {REMEDY}"
    if address.is_own_address(ip):
        return f"is this ladder's own machine; {REMEDY}"
    return None


def _permitted_addresses(address: Address, rules: Rules, until: float) -> list[IP]:
    """Resolves the host and checks all its addresses; returns them in the order to try."""
    try:
        literal = ipaddress.ip_address(address.host)
    except ValueError:
        pass
    else:
        refuse_forbidden_ip(literal, rules)
        return [literal]
    addresses = _resolve(address, until, _slots[rules.has_own_lookups])
    refusals = [_reason_to_refuse(ip, rules) for ip in addresses]
    if all(
        refusals
    ):  # answer as for an unknown name, so nobody learns whether our resolver knows it
        raise Forbidden(_no_permitted_address_message(address.host))
    for reason in filter(None, refusals):
        raise Forbidden(f"{address.host} has an address that {reason}")
    # Alternate between IPv4 and IPv6 (RFC 8305, section 4): one of them may not work.
    turns: list[tuple[int, IP]] = []
    for version in dict.fromkeys(ip.version for ip in addresses):
        turns += enumerate(ip for ip in addresses if ip.version == version)
    turns.sort(key=lambda turn: turn[0])
    return [ip for _, ip in turns][:MOST_ADDRESSES_TRIED]


def _resolve(address: Address, until: float, slots: threading.BoundedSemaphore) -> list[IP]:
    """Asks the system's resolver once; returns each address once.

    The resolver blocks without a timeout. So a thread asks, and a late thread is abandoned.
    """
    late = f"DNS did not answer for {address.host} in time"
    answers: queue.SimpleQueue[list[IP] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            # The final dot prevents use of our own search list and of /etc/hosts.
            name = address.host.encode() + b"."
            answers_of_dns = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
            texts = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers_of_dns))
            if len(texts) > MOST_ADDRESSES:
                why = f"{address.host} has {len(texts)} addresses; give it at most {MOST_ADDRESSES}"
                answers.put(Forbidden(why))
            else:
                answers.put([ipaddress.ip_address(text) for text in texts])
        except socket.gaierror as error:
            answers.put(_unknown_host_error(address.host, error))
        except (OSError, ValueError) as error:
            answers.put(OSError(f"DNS failed for {address.host}: {error}"))
        finally:
            slots.release()

    if not slots.acquire(blocking=False):
        raise TimeoutError(late)
    try:
        threading.Thread(target=ask, name="egress-lookup", daemon=True).start()
    except RuntimeError:  # a limit on processes
        slots.release()
        raise OSError("the ladder cannot start its resolver: tell its host") from None
    try:
        answer = answers.get(timeout=max(0.0, until - time.monotonic()))
    except queue.Empty:
        raise TimeoutError(late) from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _unknown_host_error(host: str, error: socket.gaierror) -> OSError:
    if error.errno == socket.EAI_AGAIN:
        return OSError(f"DNS servers do not answer for {host} now")
    return OSError(_no_permitted_address_message(host))


def _no_permitted_address_message(host: str) -> str:
    return f"DNS has no permitted address for {host}; {REMEDY}"


def _connect_to_first(address: Address, ips: list[IP], until: float) -> socket.socket:
    """Connects to the first address that answers; each gets its share of the time."""
    failure = OSError(f"{address.host} cannot be reached")
    for turn, ip in enumerate(ips):
        left = _seconds_left(until, address)
        try:
            return _open_connection(ip, address.port, left / (len(ips) - turn))
        except Forbidden:
            raise
        except TimeoutError:
            failure = TimeoutError(f"{address.host}:{address.port} did not answer in time")
        except ConnectionRefusedError:
            failure = ConnectionRefusedError(
                f"nothing listens at {address.host}:{address.port} (connection refused)"
            )
        except OSError as error:
            why = error.strerror or "no way there"
            failure = OSError(f"{address.host}:{address.port} cannot be reached: {why.lower()}")
    raise failure


def _open_connection(ip: IP, port: int, timeout_seconds: float) -> socket.socket:
    """Connects to exactly this checked address."""
    sock = socket.socket(socket.AF_INET if ip.version == 4 else socket.AF_INET6)
    try:
        sock.settimeout(timeout_seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect((str(ip), port))
        peer = sock.getpeername()
        if (ipaddress.ip_address(peer[0]), peer[1]) != (ip, port):
            raise Forbidden("the connection reached another address than the requested one")
    except BaseException:
        sock.close()
        raise
    return sock


def _wrap_in_tls(
    sock: socket.socket, address: Address, until: float, context: ssl.SSLContext
) -> TlsSocket:
    """Starts TLS on the socket and verifies the certificate for the host."""
    sock.settimeout(_seconds_left(until, address))
    where = f"{address.host}:{address.port}"
    try:
        return TlsSocket(sock, context, address.host)
    except ssl.SSLCertVerificationError as error:
        why = error.verify_message
        raise OSError(f"the certificate of {where} is not accepted: {why}") from None
    except TimeoutError:
        raise TimeoutError(f"{where} did not finish the TLS handshake in time") from None
    except OSError as error:  # ssl.SSLError among them
        why = (getattr(error, "reason", None) or error.strerror or "closed").lower()
        why = why.replace("_", " ")
        raise OSError(f"no TLS with {where}: {why}; does it serve https at this port?") from None


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Returns the TLS context: the system's authorities, TLS 1.2 or later."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies certificate and name
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    folder = ssl.get_default_verify_paths().capath
    if not context.cert_store_stats()["x509_ca"] and not (folder and any(Path(folder).iterdir())):
        raise OSError("the ladder has no certificate authorities: tell its host")
    return context


def _seconds_left(until: float, address: Address) -> float:
    """Returns the seconds until then. Raises TimeoutError if none are left."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"{address.host}:{address.port} did not answer in time")
    return left


def _networks_from_environment(name: str, environ: Mapping[str, str]) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(text) for text in _split_commas(environ.get(name, "")))
    except ValueError as error:
        raise ValueError(f"{name}: {error}; write networks as 10.20.0.0/16,fd00::/8") from None


def _ports_from_environment(name: str, environ: Mapping[str, str]) -> tuple[tuple[int, int], ...]:
    ranges = []
    for text in _split_commas(environ.get(name, "")):
        match = _RANGE.fullmatch(text)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= 65535:
            raise ValueError(f"{name}: {text!r}; write ports as 80,443,8000-8999")
        ranges.append((first, last))
    return tuple(ranges)


def _split_commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
