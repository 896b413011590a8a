"""A contest of remote agents, which tests make unreachable."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import agents, entries, remote_agents
from ladder.entries.records import EntryState
from ladder.enums import VoidCause
from ladder.ids import AgentId, EntryId, MatchId
from ladder.matches import lease, matches, workers
from ladder.matches.records import FinishResult
from tests.integration.ladder.contest import Contest, digest, hello, make_contest
from tests.servers import cloned

AWAY = "GET / at its address: no connection"


@pytest.fixture(scope="module")
def conn(postgres_url: str, migrated_template: str) -> Iterator[Connection]:
    """One database for all tests of the file; each test has its own contest in it."""
    with cloned(postgres_url, migrated_template) as url, db.connect(url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def contest(conn: Connection) -> Contest:
    # Claims choose among all matches, so what other tests left must not wait or play.
    old = conn.execute("select id from matches where state in ('queued', 'running')").fetchall()
    matches.void_matches(conn, [row[0] for row in old], VoidCause.NOT_NEEDED, "the test is over")
    made = make_contest(conn, seats=2, remote_agents=True)
    workers.register_worker(conn, hello("w1", profiles=("numpy", "remote")))
    return made


def entered(contest: Contest, agent: AgentId | None = None, path: str = "") -> EntryId:
    """A remote submission before its validation."""
    contest.made += 1
    url = f"https://snake.example/{path or contest.made}"
    submission, _ = agents.add_submission(
        contest.conn, agent or contest.agent(), digest(url), 60, "url", "", None, url=url
    )
    return entries.enter_season(contest.conn, contest.season.id, submission.id)[0].id


def active(contest: Contest, agent: AgentId | None = None) -> EntryId:
    entry = entered(contest, agent)
    judge(contest, entry)
    assert state(contest, entry) is EntryState.ACTIVE
    return entry


def judge(contest: Contest, entry: EntryId, verdict: str = "DONE") -> None:
    """Play the validation match of the entry."""
    match_id = contest.validation(entry)
    assert play(contest, match_id, verdicts=[verdict] * 2) is FinishResult.ACCEPTED


def play(
    contest: Contest,
    match_id: MatchId,
    *,
    answered: bool = True,
    verdicts: list[str] | None = None,
) -> FinishResult:
    order = lease.claim_match(contest.conn, match_id, "w1")
    assert order is not None
    return contest.finish(match_id, order.attempt, [1, 2], verdicts, answered=answered)


def be_away(contest: Contest, entry: EntryId, other: EntryId, times: int = 1) -> MatchId:
    """Make the entry in seat 0 unreachable in that many rated matches, each after its rest."""
    for _ in range(times):
        rested(contest, entry)
        match_id = contest.rated(entry, other)
        order = lease.claim_match(contest.conn, match_id, "w1")
        assert order is not None
        assert 0 in order.excused_seats
        assert remote_agents.void_for_unreachable_agents(
            contest.conn, match_id, order.attempt, "w1", {0: AWAY}
        )
    return match_id


def state(contest: Contest, entry: EntryId) -> EntryState:
    return entries.get_entry(contest.conn, entry).state


def earlier(contest: Contest, entry: EntryId, **span: float) -> None:
    """Move the times that the entry waits for into the past."""
    contest.conn.execute(
        "update entries set paused_at = paused_at - %(by)s, next_try_at = next_try_at - %(by)s,"
        " deadline_at = deadline_at - %(by)s where id = %(entry)s",
        {"by": timedelta(**span), "entry": entry},
    )


def rested(contest: Contest, entry: EntryId) -> None:
    """Let a minute pass since the last strike."""
    contest.conn.execute(
        "update entries set struck_at = struck_at - interval '1 minute' where id = %s", (entry,)
    )


def lose_unanswered(contest: Contest, entry: EntryId, other: EntryId) -> None:
    """Make the entry in seat 0, which has no strikes left, lose a rated match by being away."""
    match_id = contest.rated(entry, other)
    order = lease.claim_match(contest.conn, match_id, "w1")
    assert order is not None
    assert order.excused_seats == frozenset()
    verdicts = ["ERROR", "DONE"]
    accepted = contest.finish(match_id, order.attempt, [2, 1], verdicts, answered=False)
    assert accepted is FinishResult.ACCEPTED


def wait_seconds(contest: Contest, entry: EntryId) -> float:
    row = contest.conn.execute(
        "select extract(epoch from next_try_at - clock_timestamp()) from entries where id = %s",
        (entry,),
    ).fetchone()
    assert row is not None
    return float(row[0])


def paused(contest: Contest, agent: AgentId | None = None) -> EntryId:
    entry = active(contest, agent)
    be_away(contest, entry, contest.entries[0] if contest.entries else contest.active(), times=3)
    assert state(contest, entry) is EntryState.PAUSED
    return entry
