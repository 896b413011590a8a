"""Wake-up messages: Celery on Redis, set up so that lost or doubled messages do no harm.

A message has a task's name and one id. Postgres is the queue; a message only asks a worker to read
a row. Messages are acknowledged early, not prefetched, and have no results. So a worker takes only
the match it plays, and the scheduler sends a lost message again.

Celery marks each message in Redis until it was acknowledged, and puts unacknowledged ones back.
Ours need neither, so our consumer only takes messages. So a Redis that refuses writes does not end
a worker, and the login of a machine that joined may only take messages.
"""

from __future__ import annotations

import os
import ssl
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import parse_qs, urlsplit

from celery import Celery
from celery.exceptions import CeleryError
from kombu.entity import Exchange, Queue
from kombu.exceptions import KombuError
from kombu.transport.redis import Channel
from kombu.transport.virtual import base
from redis.exceptions import RedisError

from ladder.ids import MatchId
from ladder.settings import Settings
from workers import redis_clients


class _TakenMessages(base.QoS):
    restore_at_shutdown = False

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        self.ack(delivery_tag)  # type: ignore[no-untyped-call]


Channel.QoS = _TakenMessages  # type: ignore[assignment]


def undeclared_queues(names: tuple[str, ...]) -> list[Queue]:
    """Queues that processes use without a declaration in Redis."""
    return [
        Queue(name, Exchange(name), routing_key=name, no_declare=True)  # type: ignore[no-untyped-call]
        for name in names
    ]


QUEUES: Final = ("play.cpu", "play.gpu", "scrim", "validate", "open", "rate", "notices", "draw")
KINDS: Final = ("play", "rate", "notify", "draw")
BACKSTOP_SECONDS: Final = 10_800  # the referee ends a match long before


class WakeError(Exception):
    """The wake-up message was not sent, because Redis does not answer. The scheduler sends it
    again."""


def broker_url(redis_url: str) -> str:
    """Celery's form of a Redis address: ``unix:///path?db=0`` becomes ``redis+socket:``."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"redis+socket://{login}{parts.path}?virtual_host={database}"


def machine_login(redis_url: str) -> str | None:
    """The login of a machine that joined; None: a process of the site."""
    login = urlsplit(redis_url).username or ""
    return login if login.startswith(redis_clients.PREFIX) else None


def _tls(redis_url: str) -> dict[str, object] | None:
    """Celery's options for ``rediss:``, with a file of authorities if the address names one.
    redis-py also checks the name in the certificate."""
    parts = urlsplit(redis_url)
    if parts.scheme != "rediss":
        return None
    named = parse_qs(parts.query).get("ssl_ca_certs", [])
    return {
        "ssl_cert_reqs": ssl.CERT_REQUIRED,
        "ssl_check_hostname": True,
        **({"ssl_ca_certs": named[0]} if named else {}),
    }


def make_celery_app(redis_url: str) -> Celery:
    """The Celery application for this Redis. Its tasks are in ``workers.tasks``."""
    app = Celery("peck", set_as_current=True)
    app.conf.update(
        broker_url=broker_url(redis_url),
        broker_use_ssl=_tls(redis_url),
        include=["workers.tasks"],
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        result_backend=None,
        task_acks_late=False,
        task_publish_retry=False,
        task_default_queue="play.cpu",
        task_time_limit=BACKSTOP_SECONDS,
        task_send_sent_event=False,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a Redis that refuses commands must not end a worker
        broker_connection_timeout=5,
        broker_transport_options={
            "socket_timeout": 5,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 10,
            "retry_on_timeout": False,
            # Sending fails at once; only a worker's consumer waits for Redis.
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0,
            "interval_max": 0,
        },
        task_queues=undeclared_queues(QUEUES),
    )
    return app


_redis_url: Final = Settings().redis_url
app: Final = make_celery_app(_redis_url)


def send_wake_up(queue: str, kind: str, identifier: str) -> None:
    """Puts one wake-up message into a queue. Raises WakeError within seconds if Redis does not
    answer."""
    if queue not in QUEUES or kind not in KINDS:
        raise ValueError(f"no queue {queue!r} or no kind {kind!r}")
    with _wake_errors():
        app.send_task(
            f"peck.{kind}", args=(identifier,), queue=queue, ignore_result=True, retry=False
        )


def wake_rater(match_id: MatchId) -> None:
    """Sends the raters a message about this accepted result, unless one waits in the queue: whoever
    takes that one finds this result too. A machine that joined sends none, because the scheduler
    does. Raises WakeError like ``send_wake_up``."""
    if machine_login(_redis_url) is not None:
        return
    with _wake_errors(), app.producer_or_acquire() as producer:
        if producer.channel.client.llen("rate"):
            return
    send_wake_up("rate", "rate", match_id)


def run_worker(pool: str, queues: Sequence[str], slots: int, *options: str) -> None:
    """Answers messages of these queues in this process until SIGTERM."""
    # Celery warns root about pickled messages; ours are JSON with one id.
    warnings.filterwarnings("ignore", message=".*superuser privileges.*")
    app.worker_main(
        [
            *("--quiet", "worker", "--pool", pool, "--concurrency", str(slots)),
            *("--queues", ",".join(queues), "--loglevel", "WARNING", *options),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            *("--hostname", f"{queues[0]}-{os.getpid()}@%h"),
        ]
    )


def require_setting(value: str, name: str) -> str:
    """The setting. Ends the process with a sentence if it is empty."""
    if not value:
        sys.exit(f"set {name}: this worker needs it")
    return value


@contextmanager
def _wake_errors() -> Iterator[None]:
    try:
        yield
    except (KombuError, CeleryError, RedisError, OSError) as error:
        raise WakeError(f"{type(error).__name__}: {error}") from error
