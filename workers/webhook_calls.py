"""Calls a webhook through the guard, and judges the answer.

Redirects are not followed. Of the answer only its head is read, and the start of its body if it is
no success.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Final

from egress import guarded_connections
from egress.address import Address, AddressError, parse
from egress.guarded_connections import Rules
from ladder.notices.deliveries import AttemptResult, Outcome
from ladder.notices.payloads import Request

CALL_SECONDS: Final = 10.0
"""Limit for name, connection, TLS and answer together."""
BODY_SECONDS: Final = 1.0
"""Further wait for the start of the body of a refusal."""
MOST_HEAD_BYTES: Final = 16 << 10
MOST_BODY_BYTES: Final = 1 << 10
MOST_WAIT_SECONDS: Final = 3600.0


class _Received:
    """Gives received bytes to http.client, which asks a socket for a file."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def makefile(self, *_: object, **__: object) -> io.BytesIO:
        return self._file


def call_webhook(url: str, request: Request, rules: Rules) -> AttemptResult:
    """Sends one request; returns how it went. Raises nothing that the receiver can cause."""
    began = time.monotonic()
    try:
        status, wait, excerpt = _send(parse(url), request, rules, began + CALL_SECONDS)
    except (OSError, AddressError, http.client.HTTPException, ValueError) as error:
        seconds = time.monotonic() - began
        return AttemptResult(Outcome.FAILED, seconds, problem=_problem_text(error))
    seconds = time.monotonic() - began
    if 200 <= status < 300:
        return AttemptResult(Outcome.SENT, seconds, status)
    if status == 410:
        return AttemptResult(Outcome.GONE, seconds, status, "the answer was 410 Gone", excerpt)
    if status in (429, 503) and wait is not None:
        problem = f"the answer was status {status} with a pause of {wait:g} s"
        return AttemptResult(Outcome.LIMITED, seconds, status, problem, excerpt, wait)
    problem = f"the answer was status {status}"
    if 300 <= status < 400:
        problem += ", a redirect; give the final address, because redirects are not followed"
    return AttemptResult(Outcome.FAILED, seconds, status, problem, excerpt)


def _send(
    address: Address, request: Request, rules: Rules, until: float
) -> tuple[int, float | None, str]:
    """Status, the pause that the receiver asks for, and the start of the body of a refusal."""
    fields = {
        "Host": address.host_header,
        "User-Agent": "pecking-order",
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Content-Length": str(len(request.body)),
        **request.headers,
    }
    head = f"POST {address.path or '/'} HTTP/1.1\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in fields.items()
    )
    with guarded_connections.connect(address, rules, until) as line:
        line.sendall(f"{head}\r\n".encode("ascii") + request.body)
        data = _read_until_head(line, until)
        answer = http.client.HTTPResponse(_Received(data))  # type: ignore[arg-type]
        answer.begin()
        if 200 <= answer.status < 300:
            return answer.status, None, ""
        data += _read_some(line, min(until, time.monotonic() + BODY_SECONDS))
    answer = http.client.HTTPResponse(_Received(data))  # type: ignore[arg-type]
    answer.begin()
    try:
        body = answer.read(MOST_BODY_BYTES)
    except http.client.HTTPException:
        body = b""
    wait = answer.headers.get("Retry-After", "")
    pause = min(MOST_WAIT_SECONDS, float(wait)) if wait.isdigit() and len(wait) < 9 else None
    return answer.status, pause, body.decode("utf-8", "replace")


def _read_until_head(line: socket.socket, until: float) -> bytes:
    """The answer's head and what came with it. Raises OSError if it is long, late or missing."""
    data = b""
    while b"\r\n\r\n" not in data and b"\n\n" not in data:
        if len(data) > MOST_HEAD_BYTES:
            raise OSError(f"the head of the answer is longer than {MOST_HEAD_BYTES} bytes")
        piece = _receive(line, until)
        if not piece:
            raise OSError("the connection ended before an answer")
        data += piece
    return data


def _read_some(line: socket.socket, until: float) -> bytes:
    """At most MOST_BODY_BYTES more of the answer, as far as it comes in time."""
    data = b""
    try:
        while len(data) < MOST_BODY_BYTES and (piece := _receive(line, until)):
            data += piece
    except OSError:
        pass
    return data


def _receive(line: socket.socket, until: float) -> bytes:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"there was no answer within {CALL_SECONDS:g} s")
    line.settimeout(left)
    try:
        return line.recv(4096)
    except TimeoutError:
        raise TimeoutError(f"there was no answer within {CALL_SECONDS:g} s") from None


def _problem_text(error: Exception) -> str:
    if isinstance(error, http.client.HTTPException | ValueError) and not isinstance(
        error, AddressError
    ):
        return "the answer is not HTTP/1.1"
    return str(error) or type(error).__name__
