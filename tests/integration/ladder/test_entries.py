"""Entries: the daily limit, validation, repeats, the queue, the candidates."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import entries, validations
from ladder.entries.records import EntryState
from ladder.errors import Conflict, LadderError
from ladder.ids import EntryId, MatchId
from ladder.kinds import MatchState
from ladder.leagues import seasons
from ladder.matches import history, lease, matches, waking, workers
from ladder.matches.records import Finish
from tests.integration.ladder.contest import Contest, hello, raise_contest


def test_an_entry_takes_one_upload_and_a_repeat_takes_nothing(conn: Connection) -> None:
    contest = raise_contest(conn, daily_limit=2)
    submission = contest.submission()
    entry, limits, created = entries.enter(conn, contest.season.id, submission.id)
    assert created
    assert (limits.used, limits.allowed, limits.left) == (1, 2, 1)
    assert limits.resets_at - datetime.now(UTC) <= timedelta(days=1)
    assert limits.resets_at.timetz().isoformat() == "00:00:00+00:00"
    again, limits, created = entries.enter(conn, contest.season.id, submission.id)
    assert (again.id, limits.used, created) == (entry.id, 1, False)


def test_the_limit_counts_a_team_in_a_season_and_tells_its_figures(conn: Connection) -> None:
    contest = raise_contest(conn, daily_limit=2)
    agent = contest.agent()
    contest.pending(agent)
    contest.pending(agent)
    told = r"2 of 2 used, 0 left; resets at .*:\d\d UTC$"
    with pytest.raises(entries.DailyLimitReached, match=told) as caught:
        contest.pending(agent)
    assert caught.value.limits.left == 0
    contest.pending()  # another team
    contest.pending(agent, count_limit=False)
    other = raise_contest(conn, daily_limit=1)
    other.pending(agent)  # the same team in another season


def test_uploads_at_the_same_moment_never_pass_the_limit(
    database_url: str, conn: Connection
) -> None:
    contest = raise_contest(conn, daily_limit=3)
    agent = contest.agent()
    submissions = [contest.submission(agent) for _ in range(8)]
    outcomes: list[bool] = []

    def enter(number: int) -> None:
        try:
            with db.connect(database_url) as own:
                entries.enter(own, contest.season.id, submissions[number].id)
            outcomes.append(True)
        except entries.DailyLimitReached:
            outcomes.append(False)

    threads = [threading.Thread(target=enter, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == [False] * 5 + [True] * 3
    assert len(entries.list_entries(conn, season_id=contest.season.id)) == 3


def test_an_upload_that_is_rolled_back_takes_nothing(database_url: str, contest: Contest) -> None:
    submission = contest.submission()
    with db.connect(database_url) as own:
        entries.enter(own, contest.season.id, submission.id)
        own.rollback()
    assert entries.limits(contest.conn, contest.season.id, submission.team_id).used == 0


def test_a_bundle_that_is_too_large_and_a_locked_season_are_refused(conn: Connection) -> None:
    small = raise_contest(conn, max_bundle_bytes=999)
    with pytest.raises(LadderError, match="1000 bytes, this season allows 999"):
        small.pending()
    seasons.set_season_state(conn, small.season.id, "locked")
    with pytest.raises(Conflict, match="locked"):
        small.pending()
    past = raise_contest(conn, closes_at=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(Conflict, match="locked"):
        past.pending()


def test_validation_plays_copies_and_makes_the_entry_active(contest: Contest) -> None:
    entry_id = contest.pending()
    match_id = _validation(contest, entry_id)
    seats = history.get_match(contest.conn, match_id).seats
    assert {seat.entry_id for seat in seats} == {entry_id}
    assert len(seats) == contest.season.seats
    before = seasons.get_season(contest.conn, contest.season.id).revision
    contest.play(match_id, [1, 1, 1, 1])
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.ACTIVE
    assert (entry.mu, entry.games, entry.in_flight) == (600.0, 0, 0)
    assert seasons.get_season(contest.conn, contest.season.id).revision == before + 1


def test_any_seat_at_fault_rejects_the_entry_with_reason_and_step(contest: Contest) -> None:
    entry_id = contest.pending()
    contest.play(_validation(contest, entry_id), [1, 2, 2, 4], ["DONE", "DONE", "DONE", "TIMEOUT"])
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert entry.reason == "TIMEOUT at step 7: it broke"
    assert entries.limits(contest.conn, contest.season.id, entry.team_id).used == 1


def test_a_void_validation_is_made_again_and_at_last_is_our_fault(contest: Contest) -> None:
    entry_id = contest.pending()
    seen = set()
    for _ in range(entries.VALIDATIONS):
        match_id = _validation(contest, entry_id)
        seen.add(match_id)
        assert entries.expire(contest.conn) == []
        matches.void(contest.conn, [match_id], "the node burned")
        assert entries.expire(contest.conn) == [entry_id]
    assert len(seen) == entries.VALIDATIONS
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert entry.reason is not None
    assert entry.reason.startswith("our fault")
    assert entries.limits(contest.conn, contest.season.id, entry.team_id).used == 0
    assert entries.expire(contest.conn) == []


def test_an_entry_past_its_deadline_gets_a_new_match_and_the_old_result_is_late(
    contest: Contest,
) -> None:
    entry_id = contest.pending()
    old = _validation(contest, entry_id)
    order = contest.claim(old)
    contest.conn.execute(
        "update entries set deadline_at = now() - interval '1 s' where id = %s", (entry_id,)
    )
    assert entries.expire(contest.conn) == [entry_id]
    assert contest.finish(old, order.attempt, [1, 1, 1, 1]) is Finish.LATE
    new = _validation(contest, entry_id)
    assert new != old
    assert history.get_match(contest.conn, old).state is MatchState.VOID
    contest.play(new, [1, 1, 1, 1])
    assert entries.get_entry(contest.conn, entry_id).state is EntryState.ACTIVE


def test_only_the_newest_entries_of_an_agent_stay_active_where_the_season_says_so(
    conn: Connection,
) -> None:
    contest = raise_contest(conn, active_limit=2)
    agent = contest.agent()
    made = [contest.active(agent) for _ in range(3)]
    states = [entries.get_entry(conn, entry_id).state for entry_id in made]
    assert states == [EntryState.RETIRED, EntryState.ACTIVE, EntryState.ACTIVE]


def test_a_retired_entry_plays_no_more_and_keeps_what_is_under_way(contest: Contest) -> None:
    four = [contest.active() for _ in range(4)]
    running = contest.rated(*four)
    entries.retire(contest.conn, four[0])
    assert four[0] not in {c.entry_id for c in entries.candidates(contest.conn, contest.season.id)}
    with pytest.raises(Conflict, match="active"):
        contest.rated(*four)
    assert [entries.get_entry(contest.conn, e).in_flight for e in four] == [1, 1, 1, 1]
    contest.play(running, [1, 2, 3, 4])
    assert entries.get_entry(contest.conn, four[0]).in_flight == 0
    waiting = contest.pending()
    entries.retire(contest.conn, waiting)
    assert entries.expire(contest.conn) == []
    assert entries.get_entry(contest.conn, waiting).state is EntryState.RETIRED


def test_the_place_in_the_queue_tells_position_and_time(contest: Contest) -> None:
    contest.active()
    first, second, third = (contest.pending() for _ in range(3))
    place = validations.place_in_queue(contest.conn, third)
    assert place is not None
    assert place.position == 2
    assert place.eta_seconds is not None
    contest.claim(_validation(contest, first))
    moved = validations.place_in_queue(contest.conn, third)
    assert moved is not None
    assert moved.position == 1
    contest.conn.execute("update workers set seen_at = now() - interval '1 hour'")
    silent = validations.place_in_queue(contest.conn, second)
    assert silent is not None
    assert silent.eta_seconds is None
    workers.register_worker(contest.conn, hello("w2"))
    contest.play(_validation(contest, second), [1, 1, 1, 1])
    assert validations.place_in_queue(contest.conn, second) is None


def test_a_validation_that_runs_for_minutes_is_not_said_to_end_in_a_second(
    contest: Contest,
) -> None:
    contest.active()  # the sample: its validation took no time
    entry = contest.pending()
    match_id = _validation(contest, entry)
    contest.claim(match_id)
    for ran in (60, 240):
        contest.conn.execute(
            "update matches set claimed_at = now() - make_interval(secs => %s) where id = %s",
            (ran, match_id),
        )
        place = validations.place_in_queue(contest.conn, entry)
        assert place is not None
        assert place.eta_seconds is not None
        assert place.eta_seconds >= ran / 2


def test_a_seasons_first_validation_is_not_said_to_end_in_a_second(contest: Contest) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    entry = contest.pending()
    place = validations.place_in_queue(contest.conn, entry)
    assert place is not None
    assert place.eta_seconds == validations.FIRST_SECONDS
    match_id = _validation(contest, entry)
    contest.claim(match_id)
    contest.conn.execute(
        "update matches set claimed_at = now() - interval '59 s' where id = %s", (match_id,)
    )
    place = validations.place_in_queue(contest.conn, entry)
    assert place is not None
    assert place.eta_seconds is not None
    assert place.eta_seconds >= 29.5


def test_a_seasons_first_validation_is_said_to_take_as_long_as_those_of_others(
    contest: Contest,
) -> None:
    first = _validation(contest, contest.pending())
    order = contest.claim(first)
    contest.conn.execute(
        "update matches set claimed_at = now() - interval '100 s' where id = %s", (first,)
    )
    contest.finish(first, order.attempt, [1, 1, 1, 1])
    place = validations.place_in_queue(contest.conn, raise_contest(contest.conn).pending())
    assert place is not None
    assert place.eta_seconds is not None
    assert place.eta_seconds >= 100.0


def test_owner_sees_why_a_validation_is_tried_again(contest: Contest) -> None:
    entry = contest.pending()
    match_id = _validation(contest, entry)
    order = contest.claim(match_id)
    late = "BoxLate: no box of torch was ready in time; 2 are being started at /secret"
    assert lease.fail(contest.conn, match_id, order.attempt, "w1", "host", late)
    place = validations.place_in_queue(contest.conn, entry)
    assert place is not None
    assert place.reason is not None
    assert "no box was ready in time" in place.reason
    assert "/secret" not in place.reason


def test_a_team_with_many_uploads_does_not_keep_others_waiting(contest: Contest) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    crowd = contest.agent()
    heap = [contest.pending(crowd) for _ in range(3)]
    late = contest.pending()
    place = validations.place_in_queue(contest.conn, late)
    assert place is not None
    assert place.position == 1
    woken = waking.take(contest.conn, {"validate": 4})
    in_order = [heap[0], late, heap[1], heap[2]]
    assert woken == [("validate", _validation(contest, entry)) for entry in in_order]


def test_a_new_entry_remembers_its_agents_last_one(contest: Contest) -> None:
    agent = contest.agent()
    parent = contest.active(agent)
    child = contest.pending(agent)
    row = contest.conn.execute(
        "select parent_entry_id from entries where id = %s", (child,)
    ).fetchone()
    assert row == (parent,)


def _validation(contest: Contest, entry_id: EntryId) -> MatchId:
    match_id = entries.get_entry(contest.conn, entry_id).validation_match_id
    assert match_id is not None
    return match_id
