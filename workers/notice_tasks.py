"""The Celery task of the notifier: sends what is due until nothing is left.

A message only wakes the task. Postgres says what is due (``ladder.notices.deliveries``).
A webhook is called through the guard. Redirects are not followed. Of the answer only its head is
read, and the start of its body if it is no success.
"""

from __future__ import annotations

import http.client
import secrets
import socket
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from egress import guarded_connections
from egress.address import Address, AddressError, parse
from egress.guarded_connections import Rules
from egress.http_calls import StoredAnswer
from ladder import mail
from ladder.database.db import Connection
from ladder.mail import MailError, MailServer
from ladder.notices import deliveries
from ladder.notices.deliveries import AttemptResult, ClaimedChannel, Outcome, Request
from ladder.notices.kinds import Form
from ladder.telemetry import log_event, traceback_text
from workers.broker import app
from workers.liveness import record_answer

CALL_SECONDS: Final = 10.0
"""Limit for name, connection, TLS and answer together."""
BODY_SECONDS: Final = 1.0
"""Further wait for the start of the body of a refusal."""
MOST_HEAD_BYTES: Final = 16 << 10
MOST_BODY_BYTES: Final = 1 << 10
MOST_WAIT_SECONDS: Final = 3600.0


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
        answer = http.client.HTTPResponse(StoredAnswer(data))  # type: ignore[arg-type]
        answer.begin()
        if 200 <= answer.status < 300:
            return answer.status, None, ""
        data += _read_some(line, min(until, time.monotonic() + BODY_SECONDS))
    answer = http.client.HTTPResponse(StoredAnswer(data))  # type: ignore[arg-type]
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


ROUND_SECONDS: Final = 60.0
"""Seconds after which a task ends although more is due. The scheduler sends another message."""
MAIL_PAUSE_SECONDS: Final = 300.0
"""Pause of a mail channel while the operator's mail server does not answer."""
OUR_FAULT_SECONDS: Final = 60.0
"""Pause of a channel after a fault of this program."""


@dataclass(frozen=True, slots=True)
class NotifierContext:
    """What a notifier needs; set by ``workers.notifier`` before the first message."""

    pool: ConnectionPool[Connection]
    rules: Rules
    base_url: str
    mail: MailServer | None = None
    """None: this site sends no mail."""


context: NotifierContext | None = None
_lock = threading.Lock()
_running = 0


def running_tasks() -> int:
    return _running


@app.task(name="peck.notify")  # type: ignore[untyped-decorator]
def send_due_notices(channel_id: str) -> None:
    """Sends what is due, whichever channel the message names."""
    global _running
    record_answer()
    if context is None:
        raise RuntimeError("start this worker with workers.notifier; it cannot send otherwise")
    with _lock:
        _running += 1
    try:
        send_until(context, time.monotonic() + ROUND_SECONDS)
    except (psycopg.Error, PoolTimeout) as error:  # the scheduler sends the message again
        log_event("notices_failed", level="warning", error=str(error).strip())
    finally:
        with _lock:
            _running -= 1


def send_until(notifier: NotifierContext, ends_at: float) -> int:
    """Claims channels and calls them until nothing is due or ``ends_at``; returns how many calls.

    A fault of this program is logged, costs the channel a pause, and is not blamed on its owner.
    """
    calls = 0
    while time.monotonic() < ends_at:
        worker = secrets.token_hex(8)  # the fence of one call
        with notifier.pool.connection() as conn:
            claimed = deliveries.claim_channel(conn, worker)
        if claimed is None:
            return calls
        calls += 1
        try:
            result = send_claimed(notifier, claimed)
        except Exception as error:
            log_event(
                "notice_failed",
                level="error",
                channel=claimed.channel_id,
                error=str(error),
                trace=traceback_text(error),
            )
            result = AttemptResult(
                Outcome.LIMITED, problem="this site failed", wait_seconds=OUR_FAULT_SECONDS
            )
        record_answer()
        with notifier.pool.connection() as conn:
            if deliveries.finish_attempt(conn, worker, claimed, result):
                log_event("notice_channel_off", channel=claimed.channel_id, why=result.problem)
    return calls


def send_claimed(notifier: NotifierContext, claimed: ClaimedChannel) -> AttemptResult:
    if all(due.is_unreadable for due in claimed.deliveries):
        return AttemptResult(Outcome.DROPPED, problem="this site cannot read its own notice")
    if all(due.notice is None and not due.is_test for due in claimed.deliveries):
        return AttemptResult(Outcome.DROPPED, problem="you may no longer see what it tells")
    if claimed.form is Form.MAIL:
        return send_digest(notifier, claimed)
    request = deliveries.make_request(claimed, notifier.base_url, datetime.now(UTC))
    return call_webhook(claimed.address, request, notifier.rules)


def send_digest(notifier: NotifierContext, claimed: ClaimedChannel) -> AttemptResult:
    """Sends one mail of all claimed deliveries.

    A mail server that does not answer is the operator's concern: it pauses the channel and is not
    counted as its failure.
    """
    if notifier.mail is None:
        return AttemptResult(Outcome.DROPPED, problem="this site sends no mail")
    if not claimed.address:
        return AttemptResult(Outcome.DROPPED, problem="you have no proven mail address")
    began = time.monotonic()
    try:
        mail.send_message(
            notifier.mail, deliveries.build_digest(notifier.mail, claimed, notifier.base_url)
        )
    except MailError as error:
        seconds = time.monotonic() - began
        if error.is_temporary:
            pause = MAIL_PAUSE_SECONDS
            return AttemptResult(Outcome.LIMITED, seconds, problem=str(error), wait_seconds=pause)
        return AttemptResult(Outcome.FAILED, seconds, problem=str(error))
    return AttemptResult(Outcome.SENT, time.monotonic() - began)
