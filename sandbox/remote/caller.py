"""Calls one remote agent in one match: our own process between referee and hostile server.

To the referee it behaves like a box's child (``box/harness``). It calls the server by HTTP through
the egress guard. It has only its sockets and its log, so a server can harm only its own seat. The
log has one line per request and is for the agent's owner.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import time
from typing import Final

from egress import guarded_connections
from egress.address import Address
from sandbox.box import harness
from sandbox.box.agent_program import ContractBroken, printable
from sandbox.box.bundle_manifest import Contract
from sandbox.box.http_contract import BattlesnakeConversation, HttpClient

HEALTH_SECONDS: Final = 3.0
"""Limit for name, connection, TLS and the answer to GET / together."""
CALL_SECONDS: Final = 5.0
"""Limit for a request that the referee does not wait for."""
SHOWN_BYTES: Final = 200
LOG_FD, AGENT_FD, REPORT_FD = 1, 3, 4
_HEAD: Final = (
    "User-Agent: pecking-order\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n"
)
_NOTHING_YET: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def run_caller(address: Address, api: str, rules: guarded_connections.Rules, mark: bytes) -> None:
    """Report whether the agent answers. If so, play its match until the referee goes away."""
    server = RemoteServer(address, rules)
    away = None
    try:
        server.check_health(api)
    except ContractBroken as broken:
        away = broken.why
    word = {"away": away, "reached": server.is_reached}
    os.write(REPORT_FD, json.dumps(word).encode() + b"\n")
    if away is None:
        agent = socket.socket(fileno=AGENT_FD)
        conversation = BattlesnakeConversation(api, server.call)
        harness.serve_program(agent, Contract.HTTP, conversation, mark)


class RemoteServer:
    """The agent's server, called through the guard. Each call writes a line of the log."""

    def __init__(self, address: Address, rules: guarded_connections.Rules) -> None:
        self.is_reached = False
        """Whether the host accepted or refused a connection, or the guard refused it."""

        def connect(until: float | None) -> socket.socket:
            latest = time.monotonic() + CALL_SECONDS
            try:
                line = guarded_connections.connect(
                    address, rules, latest if until is None else until
                )
            except (guarded_connections.Forbidden, ConnectionRefusedError):
                self.is_reached = True
                raise
            self.is_reached = True
            return line

        self._path = address.path
        self._caller = HttpClient(
            connect,
            host=address.host_header,
            more_head=_HEAD,
            nothing_yet=_NOTHING_YET,
            given_up=(ConnectionError, ssl.SSLError),
        )

    def check_health(self, api: str) -> None:
        """Raise ContractBroken with the remedy unless the agent answers. The match uses the same
        connection.

        Like Battlesnake's own engine it calls the address itself, without a slash at the end.
        """
        path = "" if self._path else "/"
        status, text = self.call("GET", path, "", HEALTH_SECONDS)
        if api == "2017":
            if status >= 500:
                raise ContractBroken(
                    f"GET / was answered with status {status}; answer one below 500"
                )
            return
        answer: object = None
        if status == 200:
            answer = _parse_json(text)
        if not isinstance(answer, dict) or answer.get("apiversion") != "1":
            raise ContractBroken(
                f"GET / was answered with status {status} and {printable(text)};"
                " answer 200 and a JSON "
                'object with "apiversion": "1"'
            )

    def call(self, method: str, path: str, body: str, seconds: float | None) -> tuple[int, bytes]:
        """Send a request and return the answer's status and body.

        Raises ContractBroken with the remedy for everything else.
        """
        began = time.monotonic()
        request = f"{method} {path or '/'}"
        try:
            status, text = self._called(request, method, path, body, seconds or CALL_SECONDS)
        except ContractBroken as broken:
            _log_call(f"{request}: {broken.why}", began)
            raise
        wrong = "" if status == 200 and (path != "/move" or _has_move(text)) else _quote_start(text)
        _log_call(f"{request}: status {status}", began, wrong)
        return status, text

    def _called(
        self, request: str, method: str, path: str, body: str, seconds: float
    ) -> tuple[int, bytes]:
        try:
            status, text = self._caller.call(method, self._path + path, body, seconds)
        except OSError as error:
            is_late = isinstance(error, TimeoutError)
            raise ContractBroken(f"{request}: {_error_text(error)}", is_late=is_late) from None
        if 300 <= status < 400:
            where = printable(self._caller.fields.get(b"location", b""))
            raise ContractBroken(
                f"{request} was answered with a redirect (status {status}) to {where}; redirects"
                " are not followed: submit the final address"
            )
        packed = self._caller.fields.get(b"content-encoding", b"identity").lower()
        if packed != b"identity":
            raise ContractBroken(
                f"{request} was answered in the encoding {printable(packed)};"
                " answer plain bytes, as the "
                "request's Accept-Encoding asks"
            )
        return status, text


def _error_text(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or 'the connection ended'})"
    return error.strerror or str(error) or "there was no connection in time"


def _parse_json(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _has_move(text: bytes) -> bool:
    answer = _parse_json(text)
    return isinstance(answer, dict) and "move" in answer


def _quote_start(text: bytes) -> str:
    return f", {text[:SHOWN_BYTES].decode('utf-8', 'replace')!r}"


def _log_call(call: str, began: float, more: str = "") -> None:
    """Write a line of the log. If the log is full, the match goes on without it."""
    line = f"{call} after {1000 * (time.monotonic() - began):.0f} ms{more}\n"
    with contextlib.suppress(OSError):
        os.write(LOG_FD, line.encode("utf-8", "replace"))
