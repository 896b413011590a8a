"""The Celery task of the notifier: sends what is due until nothing is left.

A message only wakes the task. Postgres says what is due (``ladder.notices.deliveries``).
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from egress.guarded_connections import Rules
from ladder import mail
from ladder.database.db import Connection
from ladder.mail import MailError, MailServer
from ladder.notices import deliveries, payloads
from ladder.notices.deliveries import AttemptResult, ClaimedChannel, Outcome
from ladder.notices.kinds import Form
from ladder.telemetry import log_event, traceback_text
from workers.broker import app
from workers.liveness import record_answer
from workers.webhook_calls import call_webhook

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
    """Number of tasks that run now in this process."""
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
    """Makes one call to a claimed channel."""
    if all(due.is_unreadable for due in claimed.deliveries):
        return AttemptResult(Outcome.DROPPED, problem="this site cannot read its own notice")
    if all(due.notice is None and not due.is_test for due in claimed.deliveries):
        return AttemptResult(Outcome.DROPPED, problem="you may no longer see what it tells")
    if claimed.form is Form.MAIL:
        return send_digest(notifier, claimed)
    request = payloads.make_request(claimed, notifier.base_url, datetime.now(UTC))
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
            notifier.mail, payloads.build_digest(notifier.mail, claimed, notifier.base_url)
        )
    except MailError as error:
        seconds = time.monotonic() - began
        if error.is_temporary:
            pause = MAIL_PAUSE_SECONDS
            return AttemptResult(Outcome.LIMITED, seconds, problem=str(error), wait_seconds=pause)
        return AttemptResult(Outcome.FAILED, seconds, problem=str(error))
    return AttemptResult(Outcome.SENT, time.monotonic() - began)
