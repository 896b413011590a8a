"""A real worker draws what is wanted when the scheduler wakes it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from redis import Redis

from ladder.database import db
from ladder.ids import MatchId
from ladder.reports import pictures
from services.scheduler.wake_messages import WakeMessages
from workers.broker import make_celery_app

CHECKOUT = Path(__file__).resolve().parents[2]
NOBODY = MatchId("mat_00000000000000000000000000")


def test_a_wanted_picture_wakes_the_drawing_worker(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    Redis.from_url(redis_url).flushall()
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PECK_")},
        "PYTHONPATH": str(CHECKOUT),
        "PECK_DATABASE_URL": database_url,
        "PECK_REDIS_URL": redis_url,
        "PECK_BLOBS_URL": tmp_path.as_uri(),
    }
    command = [sys.executable, "-P", "-m", "workers.main", "--queues", "draw", "--slots", "1"]
    with (
        make_celery_app(redis_url) as app,
        db.connect(database_url, autocommit=True) as conn,
        subprocess.Popen(command, env=environment, cwd=CHECKOUT) as worker,
    ):
        wakes = WakeMessages(
            lambda queue, kind, key: app.send_task(f"peck.{kind}", args=(key,), queue=queue)
        )
        try:
            assert wakes.send_draw_messages(conn) == {"drawers_woken": 1}  # to judge matches
            assert wakes.send_draw_messages(conn) == {}
            assert pictures.ask_for_picture(conn, pictures.match_subject(NOBODY)) is None
            # The match is missing, so the worker deletes the row.
            until = time.monotonic() + 60
            while conn.execute("select 1 from pictures").fetchone():
                assert time.monotonic() < until
                wakes.send_draw_messages(conn)
                time.sleep(0.1)
        finally:
            worker.terminate()
