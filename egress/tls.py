"""TLS that its peer cannot hold up: a connection whose every wait is ours.

OpenSSL reads on while records come that carry nothing for us (session tickets, changed keys), and
Python's SSLSocket looks at its clock only when there is nothing left to read. A server that sends
such records without a pause so kept one read, and one core, for as long as it liked. Here OpenSSL
is given bytes a little at a time; between, the clock is looked at and what came is counted.

Standard library only.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

MOST_SILENT_BYTES = 256 << 10
"""That may come before a byte of content does; a handshake has at most some 100 KiB."""
_PIECE_BYTES = 16 << 10
T = TypeVar("T")


class TlsSocket(socket.socket):
    """A connected socket with TLS over it, as far as a caller of HTTP needs one.

    A timeout bounds a whole ``recv`` or ``sendall``, and the handshake, however much is said in it.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str) -> None:
        """Takes the socket over with its timeout, and shakes hands; OSError as SSLSocket has it."""
        timeout_seconds = sock.gettimeout()
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._coming, self._going, server_hostname=host)
        super().__init__(sock.family, sock.type, sock.proto, fileno=sock.detach())
        self.settimeout(timeout_seconds)
        self._silent_bytes = 0
        try:
            self._done(self._tls.do_handshake)
        except BaseException:
            self.close()
            raise
        self._silent_bytes = 0

    def version(self) -> str | None:
        """The protocol, such as ``TLSv1.3``."""
        return self._tls.version()

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Some content, or nothing when the other side has ended."""
        try:
            content = self._done(lambda: self._tls.read(size))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        self._silent_bytes = 0
        return content

    def sendall(self, data: Any, flags: int = 0) -> None:
        """All of it."""
        left = memoryview(data)
        while left:
            left = left[self._done(functools.partial(self._tls.write, left)) :]

    def _done(self, step: Callable[[], T]) -> T:
        """What OpenSSL makes of this step, with the bytes that it asks for and gives out."""
        timeout_seconds = self.gettimeout()
        until = time.monotonic() + (timeout_seconds or 0.0)

        def wait() -> None:
            if not timeout_seconds:  # for ever, or not at all
                return
            if (left := until - time.monotonic()) <= 0:
                raise TimeoutError("timed out")
            self.settimeout(left)

        try:
            while True:
                with contextlib.suppress(ssl.SSLWantReadError):
                    made = step()
                    self._give(timeout_seconds, wait)
                    return made
                self._give(timeout_seconds, wait)
                wait()
                self._take(super().recv(_PIECE_BYTES))
        except ssl.SSLError:
            with contextlib.suppress(OSError):  # the other side is told, if it listens
                self._give(timeout_seconds, wait)
            raise
        finally:
            self.settimeout(timeout_seconds)

    def _give(self, timeout_seconds: float | None, wait: Callable[[], None]) -> None:
        """Send what OpenSSL has to say; a look whether there is something to read sends nothing."""
        if self._going.pending and timeout_seconds != 0:
            wait()
            super().sendall(self._going.read())

    def _take(self, piece: bytes) -> None:
        if not piece:
            self._coming.write_eof()
            return
        self._silent_bytes += len(piece)
        if self._silent_bytes > MOST_SILENT_BYTES:
            raise OSError(f"the server sent {MOST_SILENT_BYTES} bytes of TLS without any content")
        self._coming.write(piece)

    def _not_here(self, *_: Any) -> NoReturn:
        """It would go around TLS."""
        raise NotImplementedError

    send = sendto = sendmsg = sendfile = _not_here  # type: ignore[assignment]
    recv_into = recvfrom = recvfrom_into = recvmsg = recvmsg_into = _not_here  # type: ignore[assignment]
