"""Entries: the daily limit, validation, repeats, the queue, the candidates."""

from __future__ import annotations

import threading
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import candidates, daily_uploads, declared_entry, entries, validations
from ladder.entries.records import EntryState, Newcomers
from ladder.enums import FaultCause, LeagueRole, MatchState, VoidCause
from ladder.errors import Conflict, LadderError
from ladder.ids import EntryId, MatchId
from ladder.leagues import seasons
from ladder.matches import history, lease, matches, wake_up_messages, workers
from ladder.matches.records import AttemptFault, FinishResult
from ladder.people import users
from ladder.people.records import STRANGER, Viewer
from tests.integration.ladder.contest import Contest, digest, hello, raise_contest, results


def test_a_repeated_entry_uses_one_upload_of_the_daily_limit(conn: Connection) -> None:
    contest = raise_contest(conn, daily_limit=2)
    submission = contest.submission()
    entry, limits, created = entries.enter_season(conn, contest.season.id, submission.id)
    assert created
    assert (limits.used, limits.allowed, limits.left) == (1, 2, 1)
    assert limits.resets_at - datetime.now(UTC) <= timedelta(days=1)
    assert limits.resets_at.timetz().isoformat() == "00:00:00+00:00"
    again, limits, created = entries.enter_season(conn, contest.season.id, submission.id)
    assert (again.id, limits.used, created) == (entry.id, 1, False)


def test_the_daily_limit_counts_per_team_and_season(conn: Connection) -> None:
    contest = raise_contest(conn, daily_limit=2)
    agent = contest.agent()
    contest.pending(agent)
    contest.pending(agent)
    told = r"2 of 2 used, 0 left; resets at .*:\d\d UTC$"
    with pytest.raises(daily_uploads.DailyLimitReached, match=told) as caught:
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
                entries.enter_season(own, contest.season.id, submissions[number].id)
            outcomes.append(True)
        except daily_uploads.DailyLimitReached:
            outcomes.append(False)

    threads = [threading.Thread(target=enter, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(outcomes) == [False] * 5 + [True] * 3
    assert len(entries.list_entries(conn, season_id=contest.season.id)) == 3


def test_a_rolled_back_upload_uses_no_daily_limit(database_url: str, contest: Contest) -> None:
    submission = contest.submission()
    with db.connect(database_url) as own:
        entries.enter_season(own, contest.season.id, submission.id)
        own.rollback()
    assert (
        daily_uploads.upload_limits(contest.conn, contest.season.id, submission.team_id).used == 0
    )


def test_an_entry_is_refused_for_bundle_size_or_a_locked_season(conn: Connection) -> None:
    small = raise_contest(conn, max_bundle_bytes=999)
    with pytest.raises(LadderError, match="this season allows 999 B"):
        small.pending()
    seasons.set_season_state(conn, small.season.id, "locked")
    with pytest.raises(Conflict, match="locked"):
        small.pending()
    past = raise_contest(conn, closes_at=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(Conflict, match="locked"):
        past.pending()


def test_a_passed_validation_activates_the_entry(contest: Contest) -> None:
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


def test_a_fault_of_any_validation_seat_rejects_the_entry(contest: Contest) -> None:
    entry_id = contest.pending()
    contest.play(_validation(contest, entry_id), [1, 2, 2, 4], ["DONE", "DONE", "DONE", "TIMEOUT"])
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert entry.reason == "TIMEOUT at step 7: it broke"
    assert daily_uploads.upload_limits(contest.conn, contest.season.id, entry.team_id).used == 1


@pytest.mark.parametrize(
    ("told", "reason", "used"),
    [
        ({"bundle_refused": True}, "no main.py", 0),
        ({"bundle_refused": False}, "The bundle was refused: no main.py", 1),
        ({}, "The bundle was refused: no main.py", 1),
    ],
    ids=["refused", "only its text", "worker of the version before"],
)
def test_an_upload_that_is_reported_as_refused_does_not_count(
    contest: Contest, told: dict[str, bool], reason: str, used: int
) -> None:
    entry_id = contest.pending()
    order = contest.claim(_validation(contest, entry_id))
    seats: list[dict[str, Any]] = []
    for seat in results([1, 1, 1, 1], ["ERROR"] * 4):
        report = {**asdict(seat), "reason": reason, "failed_step": 0}
        del report["bundle_refused"]
        seats.append({**report, **told})
    contest.conn.execute(
        "select lease_finish(%s, %s, 'w1', %s, %s, 'node', 'image', 'rules')",
        (
            order.match_id,
            order.attempt,
            Jsonb(seats),
            Jsonb([{"id": "epi_1", "position": 0, "steps": 1, "replay_digest": digest("replay")}]),
        ),
    )
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert daily_uploads.upload_limits(contest.conn, contest.season.id, entry.team_id).used == used
    assert ("the upload does not count" in str(entry.reason)) is (used == 0)


def test_a_void_validation_is_repeated(contest: Contest) -> None:
    entry_id = contest.pending()
    seen = set()
    for _ in range(entries.VALIDATIONS):
        match_id = _validation(contest, entry_id)
        seen.add(match_id)
        assert entries.expire_pending(contest.conn) == []
        matches.void_matches(
            contest.conn, [match_id], VoidCause.ATTEMPTS_USED_UP, "the node burned"
        )
        assert entries.expire_pending(contest.conn) == [entry_id]
    assert len(seen) == entries.VALIDATIONS
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert entry.reason is not None
    assert entry.reason.startswith("our fault")
    assert daily_uploads.upload_limits(contest.conn, contest.season.id, entry.team_id).used == 0
    assert entries.expire_pending(contest.conn) == []


def test_an_overdue_validation_gets_a_new_match(
    contest: Contest,
) -> None:
    entry_id = contest.pending()
    old = _validation(contest, entry_id)
    order = contest.claim(old)
    contest.conn.execute(
        "update entries set deadline_at = now() - interval '1 s' where id = %s", (entry_id,)
    )
    assert entries.expire_pending(contest.conn) == [entry_id]
    assert contest.finish(old, order.attempt, [1, 1, 1, 1]) is FinishResult.LATE
    new = _validation(contest, entry_id)
    assert new != old
    assert history.get_match(contest.conn, old).state is MatchState.VOID
    contest.play(new, [1, 1, 1, 1])
    assert entries.get_entry(contest.conn, entry_id).state is EntryState.ACTIVE


def test_only_the_newest_entries_of_an_agent_stay_active(
    conn: Connection,
) -> None:
    contest = raise_contest(conn, active_limit=2)
    agent = contest.agent()
    made = [contest.active(agent) for _ in range(3)]
    states = [entries.get_entry(conn, entry_id).state for entry_id in made]
    assert states == [EntryState.RETIRED, EntryState.ACTIVE, EntryState.ACTIVE]
    reason = entries.get_entry(conn, made[0]).reason
    assert reason == "newer submissions of its agent play instead"
    assert _told_retired(conn) == []


def test_only_the_newest_entries_of_a_team_stay_active(conn: Connection) -> None:
    contest = raise_contest(conn, team_active_limit=2)
    team = contest.team()[1]
    agents = [contest.agent(team) for _ in range(4)]
    made = [contest.active(agent) for agent in agents[:2]]
    declared_entry.declare_entry(conn, contest.season.id, team, made[1], None)
    anchor = contest.active(contest.agent(team), is_anchor=True)
    made += [contest.active(agent) for agent in agents[2:]]
    states = [entries.get_entry(conn, entry_id).state for entry_id in (*made, anchor)]
    retired, active = EntryState.RETIRED, EntryState.ACTIVE
    assert states == [retired, retired, active, active, active]
    reasons = {entries.get_entry(conn, entry_id).reason for entry_id in made[:2]}
    assert reasons == {"newer submissions of its team play instead"}
    assert _told_retired(conn) == made[:2]


def _told_retired(conn: Connection) -> list[EntryId]:
    """The entries of the events that tell a team of a retired agent."""
    rows = conn.execute(
        "select entry_id from notice_events where kind = 'agent_retired' order by id"
    )
    return [EntryId(row[0]) for row in rows]


def test_a_retired_entry_is_not_paired_again(contest: Contest) -> None:
    four = [contest.active() for _ in range(4)]
    running = contest.rated(*four)
    entries.retire_entry(contest.conn, four[0])
    assert four[0] not in {
        c.entry_id for c in candidates.pairing_candidates(contest.conn, contest.season.id)
    }
    with pytest.raises(Conflict, match="active"):
        contest.rated(*four)
    assert [entries.get_entry(contest.conn, e).in_flight for e in four] == [1, 1, 1, 1]
    contest.play(running, [1, 2, 3, 4])
    assert entries.get_entry(contest.conn, four[0]).in_flight == 0
    waiting = contest.pending()
    entries.retire_entry(contest.conn, waiting)
    assert entries.expire_pending(contest.conn) == []
    assert entries.get_entry(contest.conn, waiting).state is EntryState.RETIRED


def test_the_place_in_the_queue_tells_position_and_time(contest: Contest) -> None:
    contest.active()
    first, second, third = (contest.pending() for _ in range(3))
    place = validations.queue_place_of(contest.conn, third)
    assert place is not None
    assert place.position == 2
    assert place.eta_seconds is not None
    contest.claim(_validation(contest, first))
    moved = validations.queue_place_of(contest.conn, third)
    assert moved is not None
    assert moved.position == 1
    contest.conn.execute("update workers set live_until = now() - interval '1 hour'")
    silent = validations.queue_place_of(contest.conn, second)
    assert silent is not None
    assert silent.eta_seconds is None
    workers.register_worker(contest.conn, hello("w2"))
    contest.play(_validation(contest, second), [1, 1, 1, 1])
    assert validations.queue_place_of(contest.conn, second) is None


def _took(contest: Contest, match_id: MatchId, seconds: float) -> None:
    """Lets a validation have begun so long ago."""
    contest.conn.execute(
        "update matches set claimed_at = now() - make_interval(secs => %s) where id = %s",
        (seconds, match_id),
    )


def _eta(contest: Contest, entry: EntryId) -> float | None:
    place = validations.queue_place_of(contest.conn, entry)
    assert place is not None
    return place.eta_seconds


def _validated_in(contest: Contest, seconds: float) -> None:
    match_id = _validation(contest, contest.pending())
    order = contest.claim(match_id)
    _took(contest, match_id, seconds)
    contest.finish(match_id, order.attempt, [1, 1, 1, 1])


def test_a_validation_that_takes_longer_than_usual_has_no_estimate(contest: Contest) -> None:
    _validated_in(contest, 100)
    entry = contest.pending()
    contest.claim(_validation(contest, entry))
    _took(contest, _validation(contest, entry), 60)
    assert _eta(contest, entry) == pytest.approx(40, abs=20)
    _took(contest, _validation(contest, entry), 400)
    assert _eta(contest, entry) is None


def test_the_wait_is_the_sum_of_what_comes_before(contest: Contest) -> None:
    _validated_in(contest, 1000)
    first, second, third = (contest.pending() for _ in range(3))
    contest.claim(_validation(contest, first))
    _took(contest, _validation(contest, first), 300)
    assert _eta(contest, second) == pytest.approx(1700, abs=50)
    assert _eta(contest, third) == pytest.approx(2700, abs=50)
    _took(contest, _validation(contest, first), 1100)  # now nobody knows when it ends
    assert _eta(contest, second) is None


def test_nobody_knows_when_a_validation_begins_that_waits_although_no_other_runs(
    contest: Contest,
) -> None:
    _validated_in(contest, 100)
    entry = contest.pending()
    contest.conn.execute(
        "update matches set created_at = now() - interval '30 s' where id = %s",
        (_validation(contest, entry),),
    )
    assert _eta(contest, entry) is None


def test_before_the_first_validation_there_is_no_estimate(contest: Contest) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    entry = contest.pending()
    assert _eta(contest, entry) is None
    contest.claim(_validation(contest, entry))
    assert _eta(contest, entry) is None


def test_others_may_pass_a_further_upload_of_a_team(contest: Contest) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    agent = contest.agent()
    places = [validations.queue_place_of(contest.conn, contest.pending(agent)) for _ in range(2)]
    assert [place and place.others_may_pass for place in places] == [False, True]


def test_the_first_validation_estimate_uses_other_seasons(
    contest: Contest,
) -> None:
    first = _validation(contest, contest.pending())
    order = contest.claim(first)
    contest.conn.execute(
        "update matches set claimed_at = now() - interval '100 s' where id = %s", (first,)
    )
    contest.finish(first, order.attempt, [1, 1, 1, 1])
    place = validations.queue_place_of(contest.conn, raise_contest(contest.conn).pending())
    assert place is not None
    assert place.eta_seconds is not None
    assert place.eta_seconds >= 100.0


def test_owner_sees_why_a_validation_is_tried_again(contest: Contest) -> None:
    entry = contest.pending()
    match_id = _validation(contest, entry)
    order = contest.claim(match_id)
    detail = "no box of torch was ready in time; 2 are being started at /secret"
    late = AttemptFault("host", detail, FaultCause.NO_BOX)
    assert lease.fail_attempt(contest.conn, match_id, order.attempt, "w1", late)
    place = validations.queue_place_of(contest.conn, entry)
    assert place is not None
    assert place.reason is not None
    assert "no box was ready in time" in place.reason
    assert "/secret" not in place.reason


def test_a_team_with_many_uploads_does_not_keep_others_waiting(contest: Contest) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    crowd = contest.agent()
    heap = [contest.pending(crowd) for _ in range(3)]
    late = contest.pending()
    place = validations.queue_place_of(contest.conn, late)
    assert place is not None
    assert place.position == 1
    woken = wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4})
    in_order = [heap[0], late, heap[1], heap[2]]
    assert woken == [("validate", _validation(contest, entry)) for entry in in_order]


def _without_people(contest: Contest) -> EntryId:
    """A waiting upload of a new team without members, as the operator enters it."""
    team = users.create_own_team(contest.conn, f"Demo {contest.made}", None)
    return contest.pending(contest.agent(team.id))


def test_an_upload_of_a_person_goes_before_those_of_teams_without_people(contest: Contest) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    demo = [_without_people(contest) for _ in range(2)]
    upload = contest.pending()
    places = [validations.queue_place_of(contest.conn, one) for one in (upload, *demo)]
    assert [(place.position, place.others_may_pass) for place in places if place] == [
        (0, False),
        (1, True),
        (2, True),
    ]
    woken = wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4})
    assert [match_id for _, match_id in woken] == [
        _validation(contest, one) for one in (upload, *demo)
    ]


@pytest.mark.parametrize(
    ("has_people", "order"),
    [(False, ["waited", "waited", "later"]), (True, ["later", "waited", "waited"])],
)
def test_only_teams_without_people_that_waited_too_long_go_before_later_uploads(
    contest: Contest, has_people: bool, order: list[str]
) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    first = contest.pending() if has_people else _without_people(contest)
    team = entries.get_entry(contest.conn, first).team_id
    waited = [first, contest.pending(contest.agent(team))]
    contest.conn.execute("update matches set deadline_at = now()")
    matches.expire_queued(contest.conn)
    assert sorted(entries.expire_pending(contest.conn)) == waited
    later = contest.pending()
    names = {_validation(contest, one): "waited" for one in waited}
    names[_validation(contest, later)] = "later"
    woken = wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4})
    assert [names[match_id] for _, match_id in woken] == order


def test_a_new_entry_records_the_previous_entry_of_its_agent(contest: Contest) -> None:
    agent = contest.agent()
    parent = contest.active(agent)
    child = contest.pending(agent)
    row = contest.conn.execute(
        "select parent_entry_id from entries where id = %s", (child,)
    ).fetchone()
    assert row == (parent,)


def test_pending_entries_are_counted_for_their_team_hosts_and_admins(contest: Contest) -> None:
    pending = entries.get_entry(contest.conn, contest.pending())
    host = Viewer(roles={contest.league.id: LeagueRole.HOST})
    for viewer in (host, Viewer(is_admin=True), Viewer(team_ids=frozenset({pending.team_id}))):
        assert _newcomers(contest, viewer) == Newcomers(validating=1, waiting=0, playing=0)
    rival = Viewer(team_ids=frozenset({contest.team()[1]}))
    assert _newcomers(contest, STRANGER) is _newcomers(contest, rival) is None
    contest.active()
    assert _newcomers(contest, STRANGER) == Newcomers(validating=0, waiting=1, playing=0)
    assert _newcomers(contest, host) == Newcomers(validating=1, waiting=1, playing=0)


def _newcomers(contest: Contest, viewer: Viewer) -> Newcomers | None:
    found = entries.count_newcomers(contest.conn, viewer, [contest.season.id])
    return found.get(contest.season.id)


def _validation(contest: Contest, entry_id: EntryId) -> MatchId:
    match_id = entries.get_entry(contest.conn, entry_id).validation_match_id
    assert match_id is not None
    return match_id
