"""The process that sends notices: ``python -m workers.notifier``.

A Celery worker of the queue ``notices``, with threads, because a call mostly waits. Its database
role may execute two functions and read no table. Of the contest's processes only this one and the
site have a way out.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from celery.signals import worker_ready, worker_shutting_down
from redis import Redis

from ladder.database import db
from ladder.mail import MailServer
from ladder.notices.webhook_address import rules_of
from ladder.settings import Settings
from workers import notice_tasks
from workers.broker import app
from workers.liveness import StallMonitor
from workers.notice_tasks import NotifierContext

QUEUE = "notices"


def main() -> None:
    """Serves until SIGTERM, which lets calls end first."""
    settings = Settings()
    url = _require_setting(settings.notifier_database_url, "PECK_NOTIFIER_DATABASE_URL")
    redis_url = _require_setting(settings.redis_url, "PECK_REDIS_URL")
    try:
        rules = rules_of(settings)
        mail_server = MailServer.of(settings)
    except ValueError as error:
        sys.exit(str(error))
    app.conf.include = ["workers.notice_tasks"]
    # Celery warns root about pickled messages; ours are JSON with one id.
    warnings.filterwarnings("ignore", message=".*superuser privileges.*")
    with db.pool(url, settings.notice_slots) as pool:
        base_url = settings.base_url.rstrip("/")
        notice_tasks.context = NotifierContext(pool, rules, base_url, mail_server)
        _start_stall_monitor(redis_url, settings.notice_slots)
        app.worker_main(
            [
                *("--quiet", "worker", "--pool", "threads"),
                *("--concurrency", str(settings.notice_slots), "--queues", QUEUE),
                *("--loglevel", "WARNING"),
                *("--without-gossip", "--without-mingle", "--without-heartbeat"),
                *("--hostname", f"{QUEUE}-{os.getpid()}@%h"),
            ]
        )


def _require_setting(value: str, name: str) -> str:
    if not value:
        sys.exit(f"set {name}: the notifier needs it")
    return value


def _start_stall_monitor(redis_url: str, slots: int) -> None:
    """Starts the check that the notifier gets its messages, until it stops."""
    wakes = Redis.from_url(redis_url, socket_timeout=2.0, socket_connect_timeout=2.0)
    watch = StallMonitor(
        waiting=lambda: int(wakes.llen(QUEUE)), busy=notice_tasks.running_tasks, slots=slots
    )

    def start(**_: Any) -> None:
        watch.start()

    def stop(**_: Any) -> None:
        watch.stop()  # another notifier answers messages that still wait

    worker_ready.connect(start, weak=False)
    worker_shutting_down.connect(stop, weak=False)


if __name__ == "__main__":
    main()
