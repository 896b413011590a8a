"""The leader's jobs in a real database."""

from __future__ import annotations

import pytest

from ladder.database import idempotency
from ladder.database.db import Connection
from ladder.leagues import seasons
from ladder.matches import history, wake_up_messages, workers
from ladder.moderation import rejudgements
from ladder.people import one_time_links, passkeys, users
from ladder.people.one_time_links import LinkPurpose
from ladder.people.passkeys import StepPurpose
from ladder.ratings import fitting, live_ratings
from services.scheduler import jobs
from services.scheduler.wake_messages import WakeMessages
from tests.integration.ladder.contest import Contest, hello
from tests.integration.six_entries import conn as conn
from tests.integration.six_entries import contest as contest
from tests.integration.six_entries import one, silence_workers
from tests.integration.six_entries import six as six
from workers.broker import WakeError


class Sender:
    """A sender of wake-up messages that only counts, or fails."""

    def __init__(self) -> None:
        self.woken: list[tuple[str, str, str]] = []
        self.away = False

    def __call__(self, queue: str, kind: str, identifier: str) -> None:
        if self.away:
            raise WakeError("Redis is away")
        self.woken.append((queue, kind, identifier))


def test_a_rejudge_waits_for_a_node_with_the_profile(contest: Contest) -> None:
    conn, (first, *others) = contest.conn, contest.entries
    contest.play(contest.rated(*others[:4]), [1, 2, 3, 4])
    contest.play(contest.rated(first, *others[:3]), [1, 2, 3, 4])
    conn.execute("alter table seats disable trigger seats_written")
    conn.execute("update seats set profile = 'torch' where entry_id = %s", (first,))
    everything = rejudgements.Predicate(node="node")
    rejudgements.create_rejudgement(
        conn, contest.season.id, everything, by=None, reason="a bad node"
    )
    silence_workers(conn)
    assert jobs.queue_rejudged_matches(conn) == {"rejudges_queued": 0}
    workers.register_worker(conn, hello("w1"))
    assert jobs.queue_rejudged_matches(conn) == {"rejudges_queued": 1}
    assert jobs.queue_rejudged_matches(conn) == {"rejudges_queued": 0}
    workers.register_worker(conn, hello("w2", profiles=("numpy", "torch")))
    assert jobs.queue_rejudged_matches(conn) == {"rejudges_queued": 1}


def test_a_rejudge_without_a_node_ends_after_a_while(contest: Contest) -> None:
    conn, season = contest.conn, contest.season.id
    contest.play(contest.rated(*contest.entries[:4]), [1, 2, 3, 4])
    assert live_ratings.rate_season(conn, season)
    seasons.set_season_state(conn, season, "finished")
    conn.execute("alter table seats disable trigger seats_written")
    conn.execute("update seats set profile = 'torch'")
    act = rejudgements.create_rejudgement(
        conn, season, rejudgements.Predicate(node="node"), by=None, reason="a bad node"
    )
    workers.register_worker(conn, hello("w1"))
    conn.execute("update workers set started_at = now() - interval '2 hours'")
    assert jobs.refuse_unserved_matches(conn) == {"rejudges_refused": 0}  # a node may start
    conn.execute("update rejudgements set created_at = now() - interval '2 hours'")
    workers.register_worker(conn, hello("w2", profiles=("torch",)))
    assert jobs.refuse_unserved_matches(conn) == {"rejudges_refused": 0}  # w2 may come back
    assert fitting.seasons_to_fit(conn) == []
    conn.execute("update workers set seen_at = now() - interval '70 minutes' where id = 'w2'")
    assert jobs.refuse_unserved_matches(conn) == {"rejudges_refused": 1}
    assert jobs.queue_rejudged_matches(conn) == {"rejudges_queued": 0}
    ended = rejudgements.get_rejudgement(conn, act.id)
    assert (ended.state, ended.refused) == (rejudgements.RejudgementState.VOID, 1)
    assert fitting.seasons_to_fit(conn) == [season]


def test_wake_up_messages_are_limited_by_the_slots(
    contest: Contest,
) -> None:
    conn, sender = contest.conn, Sender()
    for _ in range(20):
        contest.rated(*contest.entries[:4])
    silence_workers(conn)
    workers.register_worker(conn, hello("w2", slots=3))
    wakes = WakeMessages(sender)
    assert wakes.send_play_messages(conn) == {"woken": 3 * wake_up_messages.WAKES_PER_SLOT}
    assert wakes.send_play_messages(conn) == {"woken": 0}
    assert {(queue, kind) for queue, kind, _ in sender.woken} == {("play.cpu", "play")}


def test_failed_wake_up_messages_are_repeated_after_a_pause(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, sender = contest.conn, Sender()
    contest.rated(*contest.entries[:4])
    contest.rated(*contest.entries[:4])
    sender.away = True
    wakes = WakeMessages(sender)
    assert wakes.send_play_messages(conn) == {"woken": 0, "wake_ups_failed": 2}
    assert one(conn, "select count(*) from matches where woken_at is not null") == 0
    sender.away = False
    assert wakes.send_play_messages(conn) == {}, "Redis gets a moment before the next try"
    monkeypatch.setattr(wakes, "_quiet_until", 0.0)
    assert wakes.send_play_messages(conn) == {"woken": 2}


def test_a_lapsed_lease_is_queued_again(contest: Contest) -> None:
    conn = contest.conn
    match_id = contest.rated(*contest.entries[:4])
    contest.claim(match_id)
    conn.execute(
        "update matches set lease_until = now() - interval '1 second' where state = 'running'"
    )
    assert jobs.reap_leases(conn) == {"requeued": 1, "voided": 0}
    assert history.get_match(conn, match_id).state == "queued"


def test_overdue_matches_and_validations_expire(contest: Contest) -> None:
    conn = contest.conn
    contest.rated(*contest.entries[:4])
    contest.pending()
    conn.execute("update matches set deadline_at = now() - interval '1 s' where state = 'queued'")
    conn.execute("update entries set deadline_at = now() where state = 'pending'")
    assert jobs.expire_overdue(conn) == {
        "expired": 2,
        "validations_renewed": 1,
        "paused_tried": 0,
        "requests_expired": 0,
        "scrim_requests_expired": 0,
        "blocks_applied": 0,
    }


def test_the_rater_is_woken_once_for_waiting_results(contest: Contest) -> None:
    conn, sender = contest.conn, Sender()
    contest.play(contest.rated(*contest.entries[:4]), [1, 2, 3, 4])
    wakes = WakeMessages(sender)
    assert wakes.send_rate_messages(conn) == {"raters_woken": 1}
    assert wakes.send_rate_messages(conn) == {"raters_woken": 0}
    assert sender.woken == [("rate", "rate", contest.season.id)]


def test_seasons_change_state_at_their_dates(contest: Contest) -> None:
    conn = contest.conn
    conn.execute("update seasons set closes_at = now() - interval '1 second'")
    assert jobs.close_due_seasons(conn) == {"seasons_turned": 1}
    assert seasons.get_season(conn, contest.season.id).state == "locked"
    conn.execute("update seasons set ends_at = now() - interval '1 second'")
    assert jobs.close_due_seasons(conn) == {"seasons_turned": 1}
    assert seasons.get_season(conn, contest.season.id).state == "finished"
    assert jobs.close_due_seasons(conn) == {"seasons_turned": 0}


def test_old_idempotency_answers_are_dropped(conn: Connection) -> None:
    user = users.create_user(conn, "repeats")
    for key in ("old", "new"):
        idempotency.begin_request(conn, user.id, key, "digest")
        idempotency.store_answer(conn, user.id, key, 201, {})
    conn.execute(
        "update idempotency_keys set created_at = now() - interval '1 month' where key = 'old'"
    )
    workers.register_worker(conn, hello("here"))
    workers.register_worker(conn, hello("long gone"))
    conn.execute("update workers set seen_at = now() - interval '2 days' where id = 'long gone'")
    for purpose, minutes in ((StepPurpose.ADD_PASSKEY, 0), (StepPurpose.PROVIDER, 11)):
        passkeys.begin_step(conn, purpose, purpose.encode(), b"a browser", user.id)
        conn.execute(
            "update sign_in_steps set expires_at = expires_at - make_interval(mins => %s)"
            " where purpose = %s",
            (minutes, purpose),
        )
    for age in ("8 days", "6 days"):
        one_time_links.create_link(conn, LinkPurpose.RECOVERY, user_id=user.id)
        conn.execute(
            "update one_time_links set created_at = now() - %s::interval"
            " where created_at > now() - interval '1 hour'",
            (age,),
        )
    assert jobs.delete_old_rows(conn) == {
        "sign_in_steps_forgotten": 1,
        "links_forgotten": 1,
        "shows_forgotten": 0,
        "answers_forgotten": 1,
        "workers_forgotten": 1,
        "machine_uploads_forgotten": 0,
        "second_plays_given_up": 0,
        "standings_dropped": 0,
        "notices_forgotten": 0,
    }
    assert workers.record_heartbeat(conn, "here")
    assert not workers.record_heartbeat(conn, "long gone")
    rows = conn.execute("select key from idempotency_keys").fetchall()
    assert [row[0] for row in rows] == ["new"]
