"""The scheduler process: ``python -m services.scheduler``. Run as many as you like; one leads."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from types import FrameType

from ladder.settings import Settings
from ladder.telemetry import log_event
from services.scheduler import leader
from services.scheduler.jobs import all_jobs
from workers.broker import send_wake_up


def main() -> None:
    """Lead until SIGTERM or SIGINT; then give the lead up and leave."""
    settings = Settings()
    for name, value in (
        ("PECK_DATABASE_URL", settings.database_url),
        ("PECK_REDIS_URL", settings.redis_url),
    ):
        if not value:
            sys.exit(f"{name} is not set; the scheduler cannot do without it")
    stopping = threading.Event()

    def stop(signal_number: int, frame: FrameType | None) -> None:
        # By another thread: this one may hold the event's own lock just now.
        _thread.start_new_thread(stopping.set, ())

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    leader.lead(settings.database_url, all_jobs(send_wake_up), stopping)
    log_event("scheduler_stopped")


if __name__ == "__main__":
    main()
