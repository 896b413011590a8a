"""The scheduler process: ``python -m services.scheduler``. Of several processes, one leads."""

from __future__ import annotations

import _thread
import gc
import signal
import sys
import threading
from types import FrameType

from ladder.database.blobs import open_blobs
from ladder.settings import Settings
from ladder.telemetry import log_event
from services.scheduler import leader
from services.scheduler.jobs import all_jobs
from workers.broker import send_wake_up


def main() -> None:
    """Leads until SIGTERM or SIGINT, then releases the lead."""
    settings = Settings()
    for name, value in (
        ("PECK_DATABASE_URL", settings.database_url),
        ("PECK_REDIS_URL", settings.redis_url),
        ("PECK_BLOBS_URL", settings.blobs_url),
    ):
        if not value:
            sys.exit(f"set {name}: the scheduler needs it")
    stopping = threading.Event()

    def stop(signal_number: int, frame: FrameType | None) -> None:
        # In another thread, because this one may hold the event's lock.
        _thread.start_new_thread(stopping.set, ())

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    jobs = all_jobs(send_wake_up, open_blobs(settings.blobs_url), redis_url=settings.redis_url)
    gc.freeze()  # modules live as long as the process, so the collector skips them
    leader.lead(settings.database_url, jobs, stopping)
    log_event("scheduler_stopped")


if __name__ == "__main__":
    main()
