"""The lease, one scenario at a time; test_lease_machine.py tries all orders."""

from __future__ import annotations

import psycopg
import pytest

from ladder.database import db
from ladder.enums import MatchState
from ladder.ids import MatchId
from ladder.matches import history, lease, workers
from ladder.matches.records import AttemptFault, EpisodeResult, FinishResult
from tests.integration.ladder.contest import Contest, digest, hello, results
from tests.integration.ladder.queued_lineup import let_lapse, meanwhile
from tests.integration.ladder.queued_lineup import lineup as lineup


def test_an_order_holds_all_a_worker_needs(contest: Contest, lineup: MatchId) -> None:
    order = contest.claim(lineup)
    match = history.get_match(contest.conn, lineup)
    assert (order.match_id, order.attempt, order.kind) == (lineup, 1, "rated")
    assert order.configuration == {"rows": 7}
    assert order.clock == {"act_seconds": 1.0, "bank_seconds": 60.0}
    assert order.seed == match.seed
    assert len(order.seed) == 16
    assert len(order.digests) == 4
    assert order.profiles == ("numpy",) * 4
    assert match.state is MatchState.RUNNING


def test_only_one_of_two_workers_claims_the_match(
    database_url: str, contest: Contest, lineup: MatchId
) -> None:
    for worker in ("w1", "w2"):
        workers.register_worker(contest.conn, hello(worker))
    with db.connect(database_url) as first:
        assert lease.claim_match(first, lineup, "w1") is not None
        second = meanwhile(
            database_url, lambda conn: lease.claim_match(conn, lineup, "w2"), first.commit
        )
    assert second is None
    assert history.get_match(contest.conn, lineup).attempt == 1


def test_only_one_of_two_results_is_accepted(
    database_url: str, contest: Contest, lineup: MatchId
) -> None:
    order = contest.claim(lineup)
    with db.connect(database_url) as first:
        done = contest.finish(lineup, order.attempt, [1, 2, 3, 4], conn=first)
        again = meanwhile(
            database_url,
            lambda conn: contest.finish(lineup, order.attempt, [4, 3, 2, 1], conn=conn),
            first.commit,
        )
    assert (done, again) == (FinishResult.ACCEPTED, FinishResult.LATE)
    placements = [seat.placement for seat in history.get_match(contest.conn, lineup).seats]
    assert placements == [1, 2, 3, 4]


def test_a_late_result_of_an_expired_attempt_is_refused(contest: Contest, lineup: MatchId) -> None:
    first = contest.claim(lineup)
    let_lapse(contest, lineup)
    second = contest.claim(lineup, "w2")
    assert contest.finish(lineup, first.attempt, [1, 2, 3, 4]) is FinishResult.LATE
    assert (
        contest.finish(lineup, second.attempt, [4, 3, 2, 1], worker="w2") is FinishResult.ACCEPTED
    )
    match = history.get_match(contest.conn, lineup)
    assert [seat.placement for seat in match.seats] == [4, 3, 2, 1]
    assert (match.attempt, match.accepted_no) == (2, 1)


def test_log_numbers_follow_the_commits_without_gaps(database_url: str, contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    one, two, three = (contest.rated(*entries) for _ in range(3))
    orders = {match_id: contest.claim(match_id) for match_id in (one, two, three)}
    with db.connect(database_url) as early:
        # The first report commits last, and one more report never commits.
        contest.finish(one, orders[one].attempt, [1, 2, 3, 4], conn=early)
        early.rollback()
        contest.finish(three, orders[three].attempt, [1, 2, 3, 4], conn=early)
        blocked = meanwhile(
            database_url,
            lambda conn: contest.finish(two, orders[two].attempt, [1, 2, 3, 4], conn=conn),
            early.commit,
        )
    assert blocked is FinishResult.ACCEPTED
    assert contest.finish(one, orders[one].attempt, [1, 2, 3, 4]) is FinishResult.ACCEPTED
    log = contest.conn.execute("select no, match_id from acceptances order by no").fetchall()
    assert log == [(1, three), (2, two), (3, one)]


@pytest.mark.parametrize("placements", [[1, 2, 3], [1, 2, 3, 5], [1, 2, 3, 0], [1, 2, 3, 4, 5]])
def test_an_invalid_result_is_refused(
    contest: Contest, lineup: MatchId, placements: list[int]
) -> None:
    order = contest.claim(lineup)
    with pytest.raises(lease.ProtocolError, match="each of its 4 seats"):
        contest.finish(lineup, order.attempt, placements)
    assert history.get_match(contest.conn, lineup).state is MatchState.RUNNING
    assert contest.finish(lineup, order.attempt, [1, 1, 3, 3]) is FinishResult.ACCEPTED


def test_a_failed_match_is_repeated_until_no_attempt_is_left(
    contest: Contest, lineup: MatchId
) -> None:
    for attempt in (1, 2, 3):
        order = contest.claim(lineup, f"w{attempt}")
        assert order.attempt == attempt
        assert lease.fail_attempt(
            contest.conn, lineup, attempt, f"w{attempt}", AttemptFault("host", "disk full")
        )
        assert not lease.fail_attempt(
            contest.conn, lineup, attempt, f"w{attempt}", AttemptFault("host", "again")
        )
    match = history.get_match(contest.conn, lineup)
    assert match.state is MatchState.VOID
    assert match.void_reason == "3 attempts used up; the last: disk full"
    tries = contest.conn.execute(
        "select attempt, ended, fault, detail from attempts where match_id = %s order by 1",
        (lineup,),
    ).fetchall()
    assert tries == [(n, "fault", "host", "disk full") for n in (1, 2, 3)]


def test_a_finished_match_is_never_changed(contest: Contest, lineup: MatchId) -> None:
    contest.play(lineup, [1, 2, 3, 4])
    for change in (
        "update matches set void_reason = 'x'",
        "delete from matches",
        "update seats set placement = 1",
        "delete from seats",
        "update attempts set detail = 'x'",
        "delete from attempts",
        "update acceptances set act = 'withdraw'",
        "delete from acceptances",
        "update episodes set steps = 1",
    ):
        with pytest.raises(psycopg.errors.DatabaseError, match="never changed"):
            contest.conn.execute(change)


def test_a_rejudge_replaces_the_old_result(contest: Contest, lineup: MatchId) -> None:
    contest.play(lineup, [1, 2, 3, 4])
    old = history.get_match(contest.conn, lineup)
    entries = [seat.entry_id for seat in old.seats]
    again = contest.rated(*[e for e in entries if e is not None], rejudges=lineup)
    assert history.get_match(contest.conn, again).seed == old.seed
    contest.play(again, [4, 3, 2, 1])
    log = contest.conn.execute("select no, match_id, act from acceptances order by no").fetchall()
    assert log == [(1, lineup, "accept"), (2, lineup, "withdraw"), (3, again, "accept")]
    assert history.get_match(contest.conn, lineup) == old


def test_a_finished_match_notifies_listeners(
    database_url: str, contest: Contest, lineup: MatchId
) -> None:
    heard = db.listen(database_url, ["peck_finished"], poll_seconds=0.1)
    assert next(heard) is None
    contest.play(lineup, [1, 2, 3, 4])
    woken = next(note for note in heard if note is not None)
    assert (woken.channel, woken.payload) == ("peck_finished", lineup)
    heard.close()  # type: ignore[attr-defined]


def test_the_workers_role_may_only_play(
    database_url: str, contest: Contest, lineup: MatchId, worker_role: None
) -> None:
    db.set_worker_login(contest.conn, None)
    with db.connect(database_url, autocommit=True) as worker:
        worker.execute("set role peck_worker")
        workers.register_worker(worker, hello("w1"))
        order = lease.claim_match(worker, lineup, "w1")
        assert order is not None
        assert lease.renew_leases(worker, [(lineup, 1), (lineup, 2)]) == [(lineup, 1)]
        assert not lease.fail_attempt(worker, lineup, 2, "w1", AttemptFault("host", "not mine"))
        done = lease.finish_match(
            worker,
            lineup,
            order.attempt,
            "w1",
            results([1, 2, 3, 4]),
            [EpisodeResult(42, digest("replay"))],
            node="node",
            image_digest="",
            rules_digest="",
        )
        assert done is FinishResult.ACCEPTED
        for forbidden in (
            "select * from matches",
            "select hash from tokens",
            "update entries set mu = 5000",
            "select lease_void(array['x'], 'not_needed', 'x')",
            "select lease_requeue_or_void(array['x'], 'lapsed', null, null, 'x', null)",
            "select lease_reap(1)",
            "create table mine (a int)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                worker.execute(forbidden)
