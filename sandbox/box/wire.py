"""Sends length-prefixed JSON over unix sockets, with file descriptors if needed.

Four bytes, big-endian, give the length of the UTF-8 JSON that follows. Worker and node, node and
supervisor, supervisor and zygote use it. Standard library only: it also runs inside the box.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
import time
from typing import Any

HEADER = struct.Struct(">I")
CONTROL_CAP = 8 << 20
_MAX_FDS = 128  # sixteen seats with eight descriptors each


class WireError(Exception):
    """The other side broke the framing, sent too much or was too slow."""


class ConnectionClosed(WireError):
    """The other side closed the connection between two frames."""


def encode_frame(message: dict[str, Any]) -> bytes:
    """Encode one frame. Raises WireError if its body is longer than CONTROL_CAP bytes."""
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    body = text.encode("utf-8", "replace")
    if len(body) > CONTROL_CAP:
        raise WireError(f"a frame of {len(body)} bytes is over the limit of {CONTROL_CAP}")
    return HEADER.pack(len(body)) + body


def send_frame(
    sock: socket.socket,
    message: dict[str, Any],
    fds: tuple[int, ...] = (),
    *,
    deadline: float | None = None,
) -> None:
    """Write one frame; descriptors go with its first byte. ``deadline`` is monotonic."""
    data = encode_frame(message)
    try:
        _set_timeout(sock, deadline)
        if fds:
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))
            data = data[sock.sendmsg([data], [rights]) :]
        if data:  # even an empty write fails if the other side has answered and gone
            sock.sendall(data)
    except TimeoutError:
        raise WireError("the other side did not take the frame in time") from None
    except (BrokenPipeError, ConnectionError):
        raise ConnectionClosed("the other side has closed the connection") from None


def receive_frame(
    sock: socket.socket,
    *,
    cap: int = CONTROL_CAP,
    max_fds: int = 0,
    deadline: float | None = None,
) -> tuple[dict[str, Any], list[int]]:
    """Read one frame and its descriptors; never reads past the frame's last byte.

    The caller owns the descriptors (close-on-exec). More than ``max_fds`` of them is an error.
    """
    fds: list[int] = []
    try:
        header = _read_exactly(sock, HEADER.size, deadline, fds if max_fds else None)
        (length,) = HEADER.unpack(header)
        if length > cap:
            raise WireError(f"a frame of {length} bytes is over the limit of {cap}")
        message = json.loads(_read_exactly(sock, length, deadline, None))
        if not isinstance(message, dict):
            raise WireError("a frame must be a JSON object")
        if len(fds) > max_fds:
            raise WireError(f"{len(fds)} descriptors came, at most {max_fds} were expected")
        return message, fds
    except (ValueError, RecursionError) as error:
        close_all(fds)
        raise WireError(f"a frame that is no JSON: {error}") from None
    except BaseException:
        close_all(fds)
        raise


def has_closed(line: socket.socket) -> bool:
    """Whether the other side is closed. The connection does not block any more."""
    line.setblocking(False)  # otherwise the last time-out applies, even with MSG_DONTWAIT
    try:
        return line.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def close_all(fds: list[int]) -> None:
    while fds:
        os.close(fds.pop())


def _read_exactly(
    sock: socket.socket, count: int, deadline: float | None, fds: list[int] | None
) -> bytes:
    data = bytearray()
    while len(data) < count:
        try:
            _set_timeout(sock, deadline)
            if fds is None or fds:
                chunk = sock.recv(min(count - len(data), 1 << 20))
            else:
                chunk = _recv_with_fds(sock, count - len(data), fds)
        except TimeoutError:
            raise WireError("the other side did not answer in time") from None
        except ConnectionError:
            raise ConnectionClosed("the other side has closed the connection") from None
        if not chunk:
            if data:
                raise WireError("the connection closed inside a frame")
            raise ConnectionClosed("the other side has closed the connection")
        data += chunk
    return bytes(data)


def _recv_with_fds(sock: socket.socket, count: int, fds: list[int]) -> bytes:
    space = socket.CMSG_SPACE(_MAX_FDS * array.array("i").itemsize)
    chunk, ancillary, flags, _ = sock.recvmsg(count, space, socket.MSG_CMSG_CLOEXEC)
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            received = array.array("i")
            received.frombytes(payload[: len(payload) - len(payload) % received.itemsize])
            fds.extend(received)
    if flags & socket.MSG_CTRUNC:
        raise WireError("too many descriptors came with a frame")
    return chunk


def _set_timeout(sock: socket.socket, deadline: float | None) -> None:
    if deadline is None:
        if sock.gettimeout() is not None:  # each change is a system call
            sock.settimeout(None)
        return
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    sock.settimeout(left)
