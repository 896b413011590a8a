"""Lets a Python server listen on a unix socket instead of a port.

A box refuses internet sockets. So in a program of contract http ``socket.socket`` makes a unix
socket for each TCP one and reports the addresses that a server expects. A UDP socket reaches
nobody; frameworks make one to find their own address. This is a convenience, not a protection: the
kernel refuses code that avoids the class.
"""

from __future__ import annotations

import errno
import socket
from typing import Any

SOCKET_NAME_VARIABLE = "PECK_NAME"
"""The variable with the abstract name of the first socket that is bound to a port."""
_HERE = "127.0.0.1"
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_NAMES = frozenset({"", "localhost", "0.0.0.0", "::", "::1", _HERE})  # noqa: S104  nothing is bound
_real = socket.socket
_address = ""
_port = 0


class PatchedSocket(_real):
    """A standard socket whose internet sockets are replaced."""

    __slots__ = ("_is_datagram", "_is_worn", "_told")

    def __init__(
        self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None
    ) -> None:
        kind = socket.SOCK_STREAM if type == -1 else type & 0xF
        asked = socket.AF_INET if family == -1 and fileno is None else family
        self._is_datagram = kind == socket.SOCK_DGRAM
        self._is_worn = asked in _INTERNET and (kind == socket.SOCK_STREAM or self._is_datagram)
        self._told: tuple[str, int] = (_HERE, 0)
        if self._is_worn:
            super().__init__(socket.AF_UNIX, kind, 0, fileno)
        else:
            super().__init__(family, type, proto, fileno)

    @property
    def family(self) -> Any:
        return socket.AF_INET if self._is_worn else super().family

    def bind(self, address: Any) -> None:
        global _port
        if not self._is_worn:
            return super().bind(address)
        self._told = (str(address[0]) or "0.0.0.0", int(address[1]) or 8000)  # noqa: S104
        if self._is_datagram:
            return None  # no packet ever arrives
        try:
            super().bind(f"\0{_address}")
            _port = self._told[1]
        except OSError as error:
            if error.errno != errno.EADDRINUSE or self._told[1] == _port:
                raise
            super().bind("")  # a second port of the program; nobody calls it
        return None

    def accept(self) -> tuple[socket.socket, Any]:
        accepted, address = super().accept()
        if isinstance(accepted, PatchedSocket) and self._is_worn:
            accepted._told = self._told
            address = (_HERE, 1)
        return accepted, address

    def connect(self, address: Any) -> None:
        if not self._is_worn:
            return super().connect(address)
        if self._is_datagram:
            raise _unreachable_error()
        if address[0] not in _NAMES or not _port or address[1] != _port:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "there is no network in a box")
        return super().connect(f"\0{_address}")

    def connect_ex(self, address: Any) -> int:
        try:
            self.connect(address)
        except OSError as error:
            return error.errno or errno.ECONNREFUSED
        return 0

    def sendto(self, *words: Any) -> int:
        if self._is_worn and self._is_datagram:
            raise _unreachable_error()
        return super().sendto(*words)

    def getsockname(self) -> Any:
        return self._told if self._is_worn else super().getsockname()

    def getpeername(self) -> Any:
        return (_HERE, 1) if self._is_worn else super().getpeername()

    def setsockopt(self, level: int, option: int, *value: Any) -> None:
        if not self._is_worn:
            return super().setsockopt(level, option, *value)
        if level == socket.SOL_SOCKET:
            try:
                super().setsockopt(level, option, *value)
            except OSError:
                pass  # an option of TCP, or refused; no server depends on it
        return None

    def getsockopt(self, level: int, option: int, *size: Any) -> Any:
        if self._is_worn and level != socket.SOL_SOCKET:
            return 0
        return super().getsockopt(level, option, *size)

    def sendmsg(self, buffers: Any, *more: Any) -> int:
        if more and more[0]:
            return super().sendmsg(buffers, *more)
        return self.send(b"".join(buffers))  # a box refuses the call itself


def patch_sockets(name: str) -> None:
    """Replace sockets and host names in this process from now on."""
    global _address
    _address = name
    socket.socket = PatchedSocket  # type: ignore[misc]
    socket.SocketType = PatchedSocket  # type: ignore[assignment]
    socket.getaddrinfo = _getaddrinfo
    socket.gethostbyname = lambda name: _resolve_local(name)
    socket.getfqdn = lambda name="": "localhost"
    socket.has_dualstack_ipv6 = lambda: False


def _unreachable_error() -> OSError:
    return OSError(errno.ENETUNREACH, "Network is unreachable")


def _getaddrinfo(host: Any, port: Any, *_: Any, **__: Any) -> list[Any]:
    number = int(port or 0)
    kind, protocol = socket.SOCK_STREAM, socket.IPPROTO_TCP
    return [(socket.AF_INET, kind, protocol, "", (_resolve_local(host), number))]


def _resolve_local(host: Any) -> str:
    name = host.decode() if isinstance(host, bytes) else host or ""
    if name not in _NAMES:
        raise socket.gaierror(socket.EAI_NONAME, f"{name!r} is unknown: a box has no network")
    return "0.0.0.0" if name in ("", "0.0.0.0", "::") else _HERE  # noqa: S104
