"""A real worker with a dead pool ends itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from redis import Redis

from tests.waiting import wait_until
from workers.broker import make_celery_app
from workers.liveness import STALLED_STATUS

CHECKOUT = Path(__file__).resolve().parents[2]
IMPATIENT = """
from workers import liveness, main
liveness.StallMonitor.__init__.__kwdefaults__["stalled_seconds"] = 1.0
main.main()
"""
"""A worker that counts as stalled after a second, not after ten."""


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def environment_of(database_url: str, redis_url: str) -> dict[str, str]:
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("PECK_")},
        "PYTHONPATH": str(CHECKOUT),
        "PECK_DATABASE_URL": database_url,
        "PECK_REDIS_URL": redis_url,
    }


def test_a_worker_without_its_standby_exits(database_url: str, redis_url: str) -> None:
    command = [sys.executable, "-P", "-m", "workers.main", "--queues", "rate", "--slots", "1"]
    environment = environment_of(database_url, redis_url)
    with subprocess.Popen(
        command, env=environment, cwd=CHECKOUT, stderr=subprocess.PIPE, text=True
    ) as worker:
        try:
            wait_until(lambda: len(children(worker.pid)) > 1, "the worker has a pool and a standby")
            standby = children(worker.pid)[0]  # forked before the pool
            os.kill(standby, signal.SIGKILL)
            assert worker.wait(300) == STALLED_STATUS
        finally:
            worker.kill()
        assert worker.stderr is not None
        assert '"standby_died"' in worker.stderr.read()


def test_a_worker_with_a_stalled_pool_exits(database_url: str, redis_url: str) -> None:
    Redis.from_url(redis_url).flushall()
    environment = environment_of(database_url, redis_url)
    command = [sys.executable, "-P", "-c", IMPATIENT, "--queues", "rate", "--slots", "1"]
    worker, pool = subprocess.Popen(command, env=environment, cwd=CHECKOUT), list[int]()
    try:
        wait_until(lambda: len(children(worker.pid)) > 1, "the worker has a pool and a standby")
        pool = children(worker.pid)
        for child in pool:
            os.kill(child, signal.SIGSTOP)
        with make_celery_app(redis_url) as app:
            for number in range(3):
                app.send_task("peck.rate", args=(str(number),), queue="rate", retry=False)
        assert worker.wait(300) == STALLED_STATUS
    finally:
        worker.kill()
        worker.wait()
        for child in pool:  # a stopped process ends only with SIGKILL
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        Redis.from_url(redis_url).flushall()
