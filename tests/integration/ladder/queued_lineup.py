"""A queued match, and an act that waits for another connection."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.ids import AgentId, MatchId
from ladder.matches import lease
from tests.integration.ladder.contest import Contest

T = TypeVar("T")


@pytest.fixture
def lineup(contest: Contest) -> MatchId:
    """A queued rated match of four active entries."""
    return contest.rated(*(contest.active() for _ in range(4)))


def meanwhile(url: str, act: Callable[[Connection], T], then: Callable[[], None]) -> T:
    """The answer of ``act``, which begins before ``then`` and waits for it."""
    answers: list[T] = []

    def run() -> None:
        with db.connect(url, autocommit=True) as conn:
            started.set()
            answers.append(act(conn))

    started = threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(120)
    _wait_until_blocked(url)
    then()
    thread.join(120)
    return answers[0]


def _wait_until_blocked(url: str) -> None:
    with db.connect(url, autocommit=True) as conn:
        for _ in range(6000):
            row = conn.execute(
                "select 1 from pg_stat_activity where datname = current_database()"
                " and wait_event_type = 'Lock'"
            ).fetchone()
            if row is not None:
                return
            conn.execute("select pg_sleep(0.01)")
    pytest.fail("the second connection never waited for the first")


def let_lapse(contest: Contest, match_id: MatchId) -> None:
    contest.conn.execute(
        "update matches set lease_until = now() - interval '1 s' where id = %s", (match_id,)
    )
    assert lease.reap_lapsed_leases(contest.conn).requeued == 1


def validation(contest: Contest, agent: AgentId | None = None) -> MatchId:
    match_id = contest.validation(contest.pending(agent))
    return match_id
