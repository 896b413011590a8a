"""The lease, one scenario at a time; test_lease_machine.py tries all orders."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import psycopg
import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries.entries import get_entry
from ladder.enums import MatchState
from ladder.ids import MatchId
from ladder.matches import history, lease, wake_up_messages, workers
from ladder.matches.records import EpisodeResult, FinishResult
from tests.integration.ladder.contest import Contest, digest, hello, raise_contest, results

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
    _let_lapse(contest, lineup)
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


def test_a_worker_with_a_lapsed_lease_waits_for_other_workers(
    contest: Contest, lineup: MatchId
) -> None:
    contest.claim(lineup, "w1")
    _let_lapse(contest, lineup)
    assert lease.claim_match(contest.conn, lineup, "w1") is not None  # no other worker is there
    _let_lapse(contest, lineup)
    workers.register_worker(contest.conn, hello("w2"))
    assert lease.claim_match(contest.conn, lineup, "w1") is None
    wait = contest.conn.execute(
        "select extract(epoch from refused_until - now()) from matches where id = %s", (lineup,)
    ).fetchone()
    assert wait is not None
    assert 0 < wait[0] <= 10
    assert lease.claim_match(contest.conn, lineup, "w2") is not None


@pytest.mark.parametrize(
    ("lacking", "terms"),
    [
        ({"profiles": ("torch",)}, {}),
        ({"queues": ("validate",)}, {}),
        ({}, {"gpu": 1}),
        ({"gpu": 1, "queues": ("play.cpu", "play.gpu")}, {"gpu": 2}),
    ],
)
def test_a_worker_gets_only_matches_playable_on_its_node(
    contest: Contest, lacking: dict[str, object], terms: dict[str, int]
) -> None:
    match_id = contest.rated(*(contest.active() for _ in range(4)), **terms)
    workers.register_worker(contest.conn, hello("lacking", **lacking))
    assert lease.claim_match(contest.conn, match_id, "lacking") is None
    able = hello("able", gpu=2, queues=("play.cpu", "play.gpu"), profiles=("numpy", "torch"))
    workers.register_worker(contest.conn, able)
    assert lease.claim_match(contest.conn, match_id, "able") is not None


def test_a_season_goes_only_to_nodes_of_its_speed_class(conn: Connection) -> None:
    contest = raise_contest(conn, speed_class="a")
    match_id = entry_match(contest)
    workers.register_worker(conn, hello("slow", speed_class="b"))
    workers.register_worker(conn, hello("fast", speed_class="a"))
    assert lease.claim_match(conn, match_id, "slow") is None
    assert lease.claim_match(conn, match_id, "fast") is not None


def entry_match(contest: Contest) -> MatchId:
    """The validation match of a new entry."""
    contest.pending()
    return history.list_matches(contest.conn, kind="validation")[0].id


def test_an_unregistered_worker_is_refused(contest: Contest, lineup: MatchId) -> None:
    with pytest.raises(lease.ProtocolError, match="is unknown: register it"):
        lease.claim_match(contest.conn, lineup, "stranger")
    assert workers.record_heartbeat(contest.conn, "stranger") is None


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


def test_a_worker_of_the_previous_version_stays_live(contest: Contest) -> None:
    conn = contest.conn
    workers.register_worker(conn, hello("w1"))
    conn.execute("update workers set live_until = now()")
    assert conn.execute("select lease_heartbeat('w1')").fetchone() == (True,)
    assert [worker.id for worker in workers.live_workers(conn)] == ["w1"]
    assert conn.execute("select lease_heartbeat('stranger')").fetchone() == (False,)


def test_a_heartbeat_does_not_wait_for_the_disk(contest: Contest) -> None:
    conn = contest.conn
    conn.execute("set synchronous_commit = on")
    workers.register_worker(conn, hello("w1"))
    with conn.transaction():
        assert workers.record_heartbeat(conn, "w1")
        assert conn.execute("show synchronous_commit").fetchone() == ("off",)
    assert conn.execute("show synchronous_commit").fetchone() == ("on",)


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
        assert lease.fail_attempt(contest.conn, lineup, attempt, f"w{attempt}", "host", "disk full")
        assert not lease.fail_attempt(contest.conn, lineup, attempt, f"w{attempt}", "host", "again")
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


def test_wake_up_messages_go_to_the_oldest_matches(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    queued = [contest.rated(*entries) for _ in range(3)]
    first = wake_up_messages.mark_matches_woken(contest.conn, {"play.cpu": 2})
    assert first == [("play.cpu", match_id) for match_id in queued[:2]]
    assert wake_up_messages.mark_matches_woken(contest.conn, {"play.cpu": 2}) == []
    wake_up_messages.mark_matches_due_again(contest.conn, [queued[0]])
    assert wake_up_messages.mark_matches_woken(contest.conn, {"play.cpu": 2}) == [
        ("play.cpu", queued[0])
    ]
    assert wake_up_messages.mark_matches_woken(contest.conn, {"play.cpu": 3}) == [
        ("play.cpu", queued[2])
    ]


def test_a_first_match_is_claimed_before_the_match_of_the_message(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    queued = [contest.rated(*entries, goes_first=place > 1) for place in range(4)]
    wake_up_messages.mark_matches_woken(contest.conn, {"play.cpu": 4})
    assert contest.claim(queued[0]).match_id == queued[2]
    assert wake_up_messages.mark_matches_woken(contest.conn, {"play.cpu": 9}) == [
        ("play.cpu", queued[0])
    ]
    assert contest.claim(queued[0]).match_id == queued[0]  # of the two slots one plays it
    assert lease.claim_match(contest.conn, queued[2], "w1") is None
    contest.finish(queued[2], 1, [1, 2, 3, 4])
    assert contest.claim(queued[1]).match_id == queued[3]


def test_validations_take_half_of_the_slots_while_other_matches_wait(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    slow, other = (_validation(contest) for _ in range(2))
    queued = [contest.rated(*entries) for _ in range(2)]
    assert contest.claim(slow).match_id == slow
    wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4})
    assert contest.claim(other).match_id == queued[0]  # of the two slots one validates
    due = wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4})
    assert due == [("validate", other)]
    contest.finish(slow, 1, [1, 1, 1, 1])
    assert contest.claim(other).match_id == other


def test_validations_take_every_slot_that_no_other_match_wants(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    waiting = [_validation(contest) for _ in range(2)]
    contest.claim(contest.rated(*entries))
    assert [contest.claim(one).match_id for one in waiting] == waiting


def test_a_first_match_takes_its_turn_while_validations_have_half_of_the_slots(
    contest: Contest,
) -> None:
    entries = [contest.active() for _ in range(4)]
    slow = _validation(contest)
    queued = [contest.rated(*entries, goes_first=place == 1) for place in range(2)]
    contest.claim(slow)
    assert contest.claim(queued[0]).match_id == queued[0]
    contest.finish(slow, 1, [1, 1, 1, 1])
    assert contest.claim(queued[1]).match_id == queued[1]


def test_the_next_match_has_the_lowest_turn_without_a_message(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    queued = [contest.rated(*entries) for _ in range(4)]
    contest.conn.execute("update matches set turn = 1 where id = %s", (queued[2],))
    wake_up_messages.mark_matches_woken(contest.conn, {"play.cpu": 1})
    contest.play(queued[0], [1, 2, 3, 4])
    claimed = [lease.claim_next_match(contest.conn, queued[0], "w1") for _ in range(4)]
    found = [order and order.match_id for order in claimed]
    assert found == [queued[1], queued[3], queued[2], None]


def test_the_next_match_is_of_the_same_queue_and_fits_the_worker(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    played, other = contest.rated(*entries), contest.rated(*entries)
    contest.play(played, [1, 2, 3, 4])
    contest.conn.execute("update matches set queue = 'play.gpu' where id = %s", (other,))
    assert lease.claim_next_match(contest.conn, played, "w1") is None
    contest.conn.execute(
        "update matches set queue = 'play.cpu', profiles = '{torch}' where id = %s", (other,)
    )
    assert lease.claim_next_match(contest.conn, played, "w1") is None
    contest.conn.execute("update matches set profiles = '{numpy}' where id = %s", (other,))
    assert lease.claim_next_match(contest.conn, played, "w1") is not None


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
        assert not lease.fail_attempt(worker, lineup, 2, "w1", "host", "not mine")
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
            "select lease_void(array['x'], 'x')",
            "select lease_requeue_or_void(array['x'], 'lapsed', null, 'x', true)",
            "select lease_reap(1)",
            "create table mine (a int)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                worker.execute(forbidden)


def _let_lapse(contest: Contest, match_id: MatchId) -> None:
    contest.conn.execute(
        "update matches set lease_until = now() - interval '1 s' where id = %s", (match_id,)
    )
    assert lease.reap_lapsed_leases(contest.conn).requeued == 1


def _validation(contest: Contest) -> MatchId:
    match_id = get_entry(contest.conn, contest.pending()).validation_match_id
    assert match_id is not None
    return match_id
