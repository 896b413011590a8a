"""The conversation between the referee and one agent: frames out, frames in, nothing unasked.

A frame is four bytes of length (big-endian) and that many bytes of UTF-8 JSON, an object with a
kind ``k``. To the child go ``start``, ``act`` and ``end``; back come ``ready``, ``reply`` and
``error``. Everything that comes back is hostile input: it is bounded before it is read, decoded
strictly (no NaN, no lone surrogates, no runaway nesting), and a broken rule is a FrameError.
"""

from __future__ import annotations

import json
import re
import select
import socket
import time
from collections.abc import Mapping
from typing import Any

from sandbox.box import wire
from sandbox.errors import FrameError, HostFault

TO_CHILD_CAP = 1 << 20
"""Most bytes of one frame to the child: observations and configuration."""
FROM_CHILD_CAP = 16 << 10
"""Most bytes of one frame from the child: an answer or the last lines of a traceback."""
KINDS_FROM_CHILD = frozenset({"ready", "reply", "error"})

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def encode(message: Mapping[str, Any], cap: int = TO_CHILD_CAP) -> bytes:
    """One frame for the child; HostFault when our own message is too long to be sent."""
    try:
        return wire.encode(dict(message), cap)
    except (wire.WireError, ValueError, TypeError) as error:
        raise HostFault(f"a frame for the agent cannot be sent: {error}") from None


def decode(body: bytes) -> dict[str, Any]:
    """The message of one frame's body from a child; FrameError when it is not a known kind."""
    try:
        message = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"the answer is no JSON: {str(error)[:200]}") from None
    if not isinstance(message, dict) or message.get("k") not in _kinds(message):
        raise FrameError("the answer is no frame of a known kind")
    if _SURROGATE.search(body):
        _refuse_lone_surrogates(message)
    return message


class FrameReader:
    """Collects bytes of one child into messages, and refuses a long frame by its header alone."""

    def __init__(self, cap: int = FROM_CHILD_CAP) -> None:
        self._cap = cap
        self._data = bytearray()

    @property
    def pending(self) -> bool:
        """True while bytes of an unfinished frame lie here."""
        return bool(self._data)

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that are complete now; FrameError on the first broken rule."""
        self._data += data
        messages = []
        while len(self._data) >= wire.HEADER.size:
            (length,) = wire.HEADER.unpack_from(self._data)
            if length > self._cap:
                raise FrameError(f"a frame of {length} bytes is over the limit of {self._cap}")
            if length == 0:
                raise FrameError("a frame of no bytes")
            end = wire.HEADER.size + length
            if len(self._data) < end:
                break
            body = bytes(self._data[wire.HEADER.size : end])
            del self._data[:end]
            messages.append(decode(body))
        return messages


def write(sock: socket.socket, message: Mapping[str, Any], deadline: float) -> None:
    """Write one frame before ``deadline`` (monotonic); TimeoutError or EOFError when it cannot."""
    data = memoryview(encode(message))
    sock.setblocking(False)
    while data:
        try:
            data = data[sock.send(data) :]
        except BlockingIOError:
            _wait(sock, deadline, for_write=True)
        except ConnectionError:
            raise EOFError("the agent's process has gone") from None


def read(sock: socket.socket, reader: FrameReader, deadline: float) -> dict[str, Any]:
    """Exactly one message before ``deadline`` (monotonic).

    TimeoutError when it does not come, EOFError when the process has gone, FrameError when more
    or something else came.
    """
    sock.setblocking(False)
    while True:
        try:
            data = sock.recv(FROM_CHILD_CAP + wire.HEADER.size)
        except BlockingIOError:
            _wait(sock, deadline, for_write=False)
            continue
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError("the agent's process has gone")
        messages = reader.feed(data)
        if len(messages) > 1 or (messages and reader.pending):
            raise FrameError("more than one answer came to one question")
        if messages:
            return messages[0]


def _wait(sock: socket.socket, deadline: float, *, for_write: bool) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    poll = select.poll()
    poll.register(sock, select.POLLOUT if for_write else select.POLLIN)
    if not poll.poll(left * 1000):
        raise TimeoutError


def _kinds(message: dict[str, Any]) -> frozenset[str]:
    return KINDS_FROM_CHILD if isinstance(message.get("k"), str) else frozenset()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _refuse_lone_surrogates(message: dict[str, Any]) -> None:
    try:
        json.dumps(message, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise FrameError("the answer holds half a character (a lone surrogate)") from None
