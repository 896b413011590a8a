"""Provides TLS connections whose every wait is bounded.

OpenSSL keeps reading while records without content arrive, such as session tickets and key changes.
Python's SSLSocket checks its timeout only when no data is left. So a server that sends such records
without pause could block a read, and one core, without limit. This module passes bytes to OpenSSL
in small pieces. Between the pieces it checks the time and counts the bytes.

Uses the standard library only.
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
        """Sends all the data."""
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
