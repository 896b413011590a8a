"""Makes one HTTP request through the guard, and bounds everything that comes back.

It follows no redirect, keeps no connection and unpacks nothing. The deadline covers the resolver,
TLS and the whole answer. Uses the standard library only.
"""

from __future__ import annotations

import http.client
import io
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Final

from egress import guarded_connections
from egress.address import Address, AddressError, parse
from egress.guarded_connections import Rules

MOST_BYTES: Final = 512 << 10
"""Highest number of bytes of a whole answer."""
MOST_SECONDS: Final = 10.0
PIECE_BYTES: Final = 64 << 10
QUERY: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/?%-]*")
TOKEN: Final = re.compile(r"[A-Za-z0-9-]+")
VALUE: Final = re.compile(r"[\x20-\x7e]*")


class AnswerError(OSError):
    """The server's answer is not HTTP/1.1, too long or cut off."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request. The URL may have a query."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def send_call(
    call: Call, rules: Rules, *, seconds: float = MOST_SECONDS, most_bytes: int = MOST_BYTES
) -> Answer:
    """Sends the request; returns the answer.

    Raises AddressError for a URL in another spelling than the accepted one, Forbidden if the guard
    refuses, AnswerError for a broken or long answer, another OSError if the connection fails.
    """
    until = time.monotonic() + seconds
    address, target = split_url(call.url)
    lines = [f"{call.method} {target} HTTP/1.1"]
    headers = {
        **call.headers,
        "Host": address.host_header,
        "User-Agent": "pecking-order",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    if call.body or call.method == "POST":
        headers["Content-Length"] = str(len(call.body))
    for name, value in headers.items():
        if not TOKEN.fullmatch(name) or not VALUE.fullmatch(value):
            raise ValueError(f"{name}: no header of HTTP")
        lines.append(f"{name}: {value}")
    head = "\r\n".join([*lines, "", ""]).encode("ascii")
    with guarded_connections.connect(address, rules, until) as line:
        line.sendall(head + call.body)
        data = _read_all(line, until, most_bytes, address)
    return _parse_answer(data, call.method, address)


def split_url(url: str) -> tuple[Address, str]:
    """Splits a URL into its address and the target of the request. Raises AddressError."""
    base, mark, query = url.partition("?")
    if not QUERY.fullmatch(query):
        raise AddressError("url", "the query may contain only letters, digits and punctuation")
    address = parse(base)
    path = address.path or "/"
    if address.path and base.endswith("/"):
        path += "/"
    return address, path + mark + query


def _read_all(line: socket.socket, until: float, most_bytes: int, address: Address) -> bytes:
    """Everything until the server closes the connection."""
    data = bytearray()
    while True:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"{address.host}:{address.port} did not answer in time")
        line.settimeout(left)
        try:
            piece = line.recv(PIECE_BYTES)
        except TimeoutError:
            raise TimeoutError(f"{address.host}:{address.port} did not answer in time") from None
        if not piece:
            return bytes(data)
        data += piece
        if len(data) > most_bytes:
            raise AnswerError(f"the answer of {address.host} is longer than {most_bytes} bytes")


class StoredAnswer:
    """Gives stored bytes to http.client, which asks a socket for a file."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def makefile(self, *_: object, **__: object) -> io.BytesIO:
        return self._file


def _parse_answer(data: bytes, method: str, address: Address) -> Answer:
    answer = http.client.HTTPResponse(StoredAnswer(data), method=method)  # type: ignore[arg-type]
    try:
        answer.begin()
        body = answer.read()
    except (http.client.HTTPException, ValueError) as error:
        kind = type(error).__name__
        raise AnswerError(f"the answer of {address.host} cannot be read ({kind})") from None
    fields: Message = answer.headers
    return Answer(answer.status, {name.lower(): value for name, value in fields.items()}, body)
