"""The process that sends notices: ``python -m workers.notifier``.

A Celery worker of the queue ``notices``, with threads, because a call mostly waits. Its database
role may execute two functions and read no table. Three of the contest's processes reach the
internet: this one, the site and the remote daemon.
"""

from __future__ import annotations

import sys
import threading
import time

from ladder.database import db
from ladder.mail import MailServer
from ladder.notices.channels import egress_rules
from ladder.settings import Settings
from workers import notice_tasks
from workers.broker import app, require_setting, run_worker
from workers.liveness import monitor_stalls
from workers.notice_tasks import NotifierContext
from workers.standby import ASK_SECONDS, ask_while_needed, redis_reason

QUEUE = "notices"
SLOTS = 8
"""Channels that are called at a time."""


def main() -> None:
    settings = Settings()
    url = require_setting(settings.notifier_database_url, "PECK_NOTIFIER_DATABASE_URL")
    redis_url = require_setting(settings.redis_url, "PECK_REDIS_URL")
    try:
        rules = egress_rules(settings)
        mail_server = MailServer.of(settings)
    except ValueError as error:
        sys.exit(str(error))
    app.conf.include = ["workers.notice_tasks"]
    with db.pool(url, SLOTS) as pool:
        base_url = settings.base_url.rstrip("/")
        notice_tasks.context = NotifierContext(pool, rules, base_url, mail_server)
        threading.Thread(
            target=ask_while_needed,
            args=(
                pause,
                redis_reason(redis_url),
                lambda: notice_tasks.send_due_notices("no message"),
            ),
            daemon=True,
        ).start()
        monitor_stalls(redis_url, [QUEUE], notice_tasks.running_tasks, SLOTS)
        run_worker("threads", [QUEUE], SLOTS)


def pause() -> bool:
    time.sleep(ASK_SECONDS)
    return True


if __name__ == "__main__":
    main()
