"""The queue of validations: places, estimates and turns."""

from __future__ import annotations

import pytest

from ladder.entries import entries, validations
from ladder.enums import FaultCause
from ladder.ids import EntryId, MatchId
from ladder.matches import lease, matches, wake_up_messages, workers
from ladder.matches.records import AttemptFault
from ladder.people import users
from tests.integration.ladder.contest import Contest, hello, make_contest


def test_the_place_in_the_queue_tells_position_and_time(contest: Contest) -> None:
    contest.active()
    first, second, third = (contest.pending() for _ in range(3))
    place = validations.queue_place_of(contest.conn, third)
    assert place is not None
    assert place.position == 2
    assert place.eta_seconds is not None
    contest.claim(contest.validation(first))
    moved = validations.queue_place_of(contest.conn, third)
    assert moved is not None
    assert moved.position == 1
    contest.conn.execute("update workers set live_until = now() - interval '1 hour'")
    silent = validations.queue_place_of(contest.conn, second)
    assert silent is not None
    assert silent.eta_seconds is None
    workers.register_worker(contest.conn, hello("w2"))
    contest.play(contest.validation(second), [1, 1, 1, 1])
    assert validations.queue_place_of(contest.conn, second) is None


def _began_before(contest: Contest, match_id: MatchId, seconds: float) -> None:
    """Sets the beginning of a running validation to so many seconds ago."""
    contest.conn.execute(
        "update matches set claimed_at = now() - make_interval(secs => %s) where id = %s",
        (seconds, match_id),
    )


def _eta_seconds(contest: Contest, entry: EntryId) -> float | None:
    place = validations.queue_place_of(contest.conn, entry)
    assert place is not None
    return place.eta_seconds


def _validated_in(contest: Contest, seconds: float) -> None:
    """Plays a validation that takes so long."""
    match_id = contest.validation(contest.pending())
    order = contest.claim(match_id)
    _began_before(contest, match_id, seconds)
    contest.finish(match_id, order.attempt, [1, 1, 1, 1])


def test_a_validation_that_takes_longer_than_usual_has_no_estimate(contest: Contest) -> None:
    _validated_in(contest, 100)
    entry = contest.pending()
    contest.claim(contest.validation(entry))
    _began_before(contest, contest.validation(entry), 60)
    assert _eta_seconds(contest, entry) == pytest.approx(40, abs=20)
    _began_before(contest, contest.validation(entry), 400)
    assert _eta_seconds(contest, entry) is None


def test_the_wait_is_the_sum_of_what_comes_before(contest: Contest) -> None:
    _validated_in(contest, 1000)
    entries = [contest.pending() for _ in range(4)]
    for entry in entries[:2]:
        contest.claim(contest.validation(entry))
        _began_before(contest, contest.validation(entry), 300)
    workers.register_worker(contest.conn, hello("w1", slots=4))
    assert _eta_seconds(contest, entries[2]) == pytest.approx(1700, abs=50)
    assert _eta_seconds(contest, entries[3]) == pytest.approx(1700, abs=50)
    _began_before(contest, contest.validation(entries[0]), 1100)  # longer than usual
    assert _eta_seconds(contest, entries[3]) == pytest.approx(2700, abs=50)
    _began_before(contest, contest.validation(entries[1]), 1100)
    assert _eta_seconds(contest, entries[2]) is None


@pytest.mark.parametrize(("slots", "begins"), [(1, None), (2, 20.0), (3, 20.0)])
def test_estimated_wait_includes_a_second_validation_beside_a_slow_one(
    contest: Contest, slots: int, begins: float | None
) -> None:
    _validated_in(contest, 5)
    slow, second, third = (contest.pending() for _ in range(3))
    contest.claim(contest.validation(slow))
    workers.register_worker(contest.conn, hello("w1", slots=slots))
    _began_before(contest, contest.validation(slow), 10)
    estimates = [_eta_seconds(contest, entry) for entry in (second, third)]
    if begins is None:
        assert estimates == [None, None]
    else:
        assert estimates == pytest.approx([begins + 5, begins + 10], abs=3)
    _began_before(contest, contest.validation(slow), 600)
    assert _eta_seconds(contest, second) == (None if begins is None else pytest.approx(5, abs=3))


def test_waiting_validation_without_running_ones_has_no_estimate(
    contest: Contest,
) -> None:
    _validated_in(contest, 100)
    entry = contest.pending()
    contest.conn.execute(
        "update matches set created_at = now() - interval '30 s' where id = %s",
        (contest.validation(entry),),
    )
    assert _eta_seconds(contest, entry) is None


def test_before_the_first_validation_there_is_no_estimate(contest: Contest) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    entry = contest.pending()
    assert _eta_seconds(contest, entry) is None
    contest.claim(contest.validation(entry))
    assert _eta_seconds(contest, entry) is None


def test_others_may_pass_a_further_upload_of_a_team(contest: Contest) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    agent = contest.agent()
    places = [validations.queue_place_of(contest.conn, contest.pending(agent)) for _ in range(2)]
    assert [place and place.others_may_pass for place in places] == [False, True]


def test_the_first_validation_estimate_uses_other_seasons(
    contest: Contest,
) -> None:
    _validated_in(contest, 100)
    place = validations.queue_place_of(contest.conn, make_contest(contest.conn).pending())
    assert place is not None
    assert place.eta_seconds is not None
    assert place.eta_seconds >= 100.0


def test_owner_sees_why_a_validation_is_tried_again(contest: Contest) -> None:
    entry = contest.pending()
    match_id = contest.validation(entry)
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
    assert woken == [("validate", contest.validation(entry)) for entry in in_order]


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
        contest.validation(one) for one in (upload, *demo)
    ]


@pytest.mark.parametrize(
    ("has_people", "order"),
    [(False, ["waited", "waited", "later"]), (True, ["later", "waited", "waited"])],
)
def test_overdue_uploads_without_people_precede_later_uploads(
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
    names = {contest.validation(one): "waited" for one in waited}
    names[contest.validation(later)] = "later"
    woken = wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4})
    assert [names[match_id] for _, match_id in woken] == order
