"""A worker plays no more matches at a time than it has slots, also beside its standby."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis

from ladder.database.blobs import Blobs
from ladder.ids import MatchId
from ladder.machines.connections import with_login
from tests.integration.ladder.contest import Contest
from tests.integration.real_node import RealNode
from tests.integration.worker_stage import blobs as blobs
from tests.integration.worker_stage import conn as conn
from tests.integration.worker_stage import contest as contest
from tests.waiting import wait_until
from workers import redis_clients
from workers.broker import make_celery_app
from workers.lease_renewal import held_leases

CHECKOUT = Path(__file__).resolve().parents[2]
SLOW = "import time\ndef agent(observation):\n    time.sleep(0.1)\n    return 'EAST'\n"

pytestmark = pytest.mark.bubblewrap


def two_slow_matches(contest: Contest, blobs: Blobs) -> list[MatchId]:
    uploads = [f"{SLOW}# {number}" for number in range(4)]
    for upload in uploads:
        blobs.put_bytes(upload.encode())
    lineup = [contest.active(content=upload) for upload in uploads]
    contest.conn.execute("update entries set profile = 'python'")
    return [contest.rated(*lineup) for _ in range(2)]


@pytest.mark.parametrize("place", ["site", "machine"])
def test_standby_and_messages_together_fill_no_more_than_the_slots(
    node: RealNode,
    contest: Contest,
    blobs: Blobs,
    worker_database_url: str,
    redis_url: str,
    tmp_path: Path,
    place: str,
) -> None:
    matches = two_slow_matches(contest, blobs)
    client = Redis.from_url(redis_url)
    login, secret = f"{redis_clients.PREFIX}slots", "secret"
    redis_clients.set_user(client, login, hashlib.sha256(secret.encode()).hexdigest(), trusted=True)
    run_dir = tmp_path / "run"
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PECK_")},
        "PYTHONPATH": str(CHECKOUT),
        "PECK_WORKER_DATABASE_URL": worker_database_url,
        "PECK_REDIS_URL": redis_url if place == "site" else with_login(redis_url, login, secret),
        "PECK_BLOBS_URL": (tmp_path / "blobs").as_uri(),
        "PECK_RUN_DIR": str(run_dir),
        "PECK_NODE_SOCKET": str(node.socket),
        "PECK_MAX_PARALLEL_SEATS": "4",
    }
    if place == "site":  # a machine asks Postgres while no message comes
        client.config_set("maxmemory", "1")
    command = [sys.executable, "-P", "-m", "workers.main", "--queues", "play.cpu", "--slots", "1"]
    worker = subprocess.Popen(command, env=environment, cwd=CHECKOUT)
    try:
        wait_until(lambda: len(held_leases(run_dir)) == 1, "the standby plays a match")
        client.config_set("maxmemory", "0")
        with make_celery_app(redis_url) as app:
            for match_id in matches:
                app.send_task("peck.play", args=(match_id,), queue="play.cpu", retry=False)
        finished = "select count(*) from matches where id = any (%s) and state = 'finished'"

        def all_finished() -> bool:
            return contest.conn.execute(finished, (matches,)).fetchone() == (2,)

        wait_until(all_finished, "both matches are played")
        times = contest.conn.execute(
            "select started_at, ended_at from attempts where match_id = any (%s)"
            " order by started_at",
            (matches,),
        ).fetchall()
        assert len(times) == 2
        assert times[0][1] <= times[1][0]
    finally:
        client.config_set("maxmemory", "0")
        worker.kill()
        worker.wait()
        client.flushall()
        redis_clients.delete_user(client, login)
