"""There is exactly one leader, whatever process stops or restarts."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.matches import workers
from services.run import embedded_servers
from services.scheduler import leader
from services.scheduler.leader import Job
from tests.integration.ladder.contest import hello, make_contest
from tests.waiting import wait_until


@contextmanager
def leading(url: str, run: Callable[[Connection], dict[str, int]]) -> Iterator[threading.Event]:
    """A scheduler in a thread, with one job."""
    stopping = threading.Event()
    thread = threading.Thread(
        target=leader.lead, args=(url, [Job("one", 0.0, run)], stopping), daemon=True
    )
    thread.start()
    try:
        yield stopping
    finally:
        stopping.set()
        thread.join(120)
        assert not thread.is_alive()


def test_a_second_leader_takes_over_when_the_first_stops(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader, "IDLE_SECONDS", leader.ROUND_SECONDS)
    rounds: list[str] = []

    def leads(name: str) -> Callable[[Connection], dict[str, int]]:
        def run(conn: Connection) -> dict[str, int]:
            rounds.append(name)
            return {}

        return run

    with leading(database_url, leads("first")) as first:
        wait_until(lambda: "first" in rounds, "the first leads")
        with leading(database_url, leads("second")):
            before = len(rounds)
            wait_until(lambda: len(rounds) > before + 8, "the first goes on")
            assert "second" not in rounds
            first.set()
            wait_until(lambda: "second" in rounds, "the second leads")


def test_a_failing_job_does_not_block_other_jobs(database_url: str) -> None:
    done = threading.Event()

    def fail(conn: Connection) -> dict[str, int]:
        raise ValueError("a bug")

    def work(conn: Connection) -> dict[str, int]:
        done.set()
        return {}

    stopping = threading.Event()
    both = [Job("fails", 0.0, fail), Job("works", 0.0, work)]
    thread = threading.Thread(target=leader.lead, args=(database_url, both, stopping), daemon=True)
    thread.start()
    assert done.wait(120)
    stopping.set()
    thread.join(120)


def test_the_leader_continues_after_a_postgres_restart() -> None:
    state = Path(tempfile.mkdtemp(prefix="peck-leader-", dir="/var/tmp"))
    state.chmod(0o711)
    server = embedded_servers.start_postgres(state, durable=False)
    rounds: list[int] = []

    def count(conn: Connection) -> dict[str, int]:
        conn.execute("select 1")
        rounds.append(1)
        return {}

    try:
        with leading(server.url, count):
            wait_until(lambda: bool(rounds), "it leads")
            server.child.process.send_signal(signal.SIGQUIT)
            server.child.process.wait()
            server = embedded_servers.start_postgres(state, durable=False)
            before = len(rounds)
            wait_until(lambda: len(rounds) > before, "it leads again")
    finally:
        server.stop()
        shutil.rmtree(state, ignore_errors=True)


@pytest.mark.parametrize("act", ["queue", "register", "finish"])
def test_a_notification_wakes_the_idle_leader(
    database_url: str, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.setattr(leader, "IDLE_SECONDS", 3600.0)
    rounds: list[int] = []

    def count(conn: Connection) -> dict[str, int]:
        rounds.append(1)
        conn.execute("notify peck_work")  # its own notifications do not wake it
        return {}

    with db.connect(database_url, autocommit=True) as conn:
        contest = make_contest(conn)
        lineup = [contest.active() for _ in range(4)]
        played = contest.rated(*lineup)
        with leading(database_url, count):
            wait_until(lambda: bool(rounds), "the first round")
            if act == "queue":
                contest.rated(*lineup)
            elif act == "register":
                workers.register_worker(conn, hello("w2"))
            else:
                contest.play(played, [1, 2, 3, 4])
            wait_until(lambda: len(rounds) > 1, "the second round")


def test_only_one_leader_holds_the_lock(database_url: str) -> None:
    stopping = threading.Event()
    with leader._hold_leadership(database_url, stopping) as conn:
        with psycopg.connect(database_url, autocommit=True) as other:
            row = other.execute("select pg_try_advisory_lock(%s)", (leader.LEADER_LOCK,)).fetchone()
            assert row == (False,)
        assert conn.execute("select 1").fetchone() == (1,)
