"""The heartbeats of workers, and how long a worker is live."""

from __future__ import annotations

import pytest

from ladder.matches import workers
from tests.integration.ladder.contest import Contest, hello


@pytest.mark.parametrize(("count", "seconds"), [(1, 5), (5000, 10), (50_000, 20)])
def test_heartbeats_are_rarer_with_many_workers(
    contest: Contest, count: int, seconds: float
) -> None:
    conn = contest.conn
    workers.register_worker(conn, hello("w1"))
    conn.execute(
        "insert into workers select (jsonb_populate_record(w, jsonb_build_object('id', n))).*"
        " from workers w, generate_series(2, %s) as n",
        (count,),
    )
    conn.execute("vacuum analyze workers")
    assert workers.record_heartbeat(conn, "w1") == pytest.approx(seconds, rel=0.1)
    live = conn.execute("select live_until - seen_at from workers where id = 'w1'").fetchone()
    assert live is not None
    assert live[0].total_seconds() == pytest.approx(3 * seconds, rel=0.1)


def test_a_worker_without_heartbeats_is_live_for_a_limited_time(contest: Contest) -> None:
    conn = contest.conn
    for worker in ("w1", "w2"):
        workers.register_worker(conn, hello(worker))
        assert workers.record_heartbeat(conn, worker)
    conn.execute("update workers set live_until = now() - interval '1 ms' where id = 'w1'")
    assert [worker.id for worker in workers.live_workers(conn)] == ["w2"]
    assert workers.record_heartbeat(conn, "w1")
    assert [worker.id for worker in workers.live_workers(conn)] == ["w1", "w2"]


def test_a_heartbeat_does_not_wait_for_the_disk(contest: Contest) -> None:
    conn = contest.conn
    conn.execute("set synchronous_commit = on")
    workers.register_worker(conn, hello("w1"))
    with conn.transaction():
        assert workers.record_heartbeat(conn, "w1")
        assert conn.execute("show synchronous_commit").fetchone() == ("off",)
    assert conn.execute("show synchronous_commit").fetchone() == ("on",)
