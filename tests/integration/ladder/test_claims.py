"""Which worker claims which match, and in which order."""

from __future__ import annotations

import pytest

from ladder.database.db import Connection
from ladder.ids import MatchId
from ladder.matches import history, lease, wake_up_messages, workers
from tests.integration.ladder.contest import Contest, hello, make_contest
from tests.integration.ladder.queued_lineup import let_lapse, validation
from tests.integration.ladder.queued_lineup import lineup as lineup


def test_a_worker_with_a_lapsed_lease_waits_for_other_workers(
    contest: Contest, lineup: MatchId
) -> None:
    contest.claim(lineup, "w1")
    let_lapse(contest, lineup)
    assert lease.claim_match(contest.conn, lineup, "w1") is not None  # no other worker is there
    let_lapse(contest, lineup)
    workers.register_worker(contest.conn, hello("w2"))
    assert lease.claim_match(contest.conn, lineup, "w1") is None
    wait = contest.conn.execute(
        "select extract(epoch from refused_until - now()) from matches where id = %s", (lineup,)
    ).fetchone()
    assert wait is not None
    assert 0 < wait[0] <= 10
    assert lease.claim_match(contest.conn, lineup, "w2") is not None


GPU_NODE: dict[str, object] = {
    "gpu": 1,
    "queues": ("play.cpu", "play.gpu"),
    "profiles": ("numpy", "torch-gpu"),
}


@pytest.mark.parametrize(
    ("lacking", "gpu_seats"),
    [
        ({"profiles": ("torch",)}, 0),
        ({"queues": ("validate",)}, 0),
        (GPU_NODE | {"gpu": 0}, 1),
        (GPU_NODE | {"gpu": 0}, 2),
        (GPU_NODE | {"queues": ("play.cpu",)}, 1),
        (GPU_NODE | {"profiles": ("numpy",)}, 1),
    ],
)
def test_a_worker_gets_only_matches_playable_on_its_node(
    contest: Contest, lacking: dict[str, object], gpu_seats: int
) -> None:
    lineup = [contest.active() for _ in range(4)]
    contest.conn.execute(
        "update entries set profile = 'torch-gpu' where id = any (%s)", (lineup[:gpu_seats],)
    )
    match_id = contest.rated(*lineup)
    workers.register_worker(contest.conn, hello("lacking", **lacking))
    assert lease.claim_match(contest.conn, match_id, "lacking") is None
    workers.register_worker(contest.conn, hello("able", **GPU_NODE))
    assert lease.claim_match(contest.conn, match_id, "able") is not None


def test_a_season_goes_only_to_nodes_of_its_speed_class(conn: Connection) -> None:
    contest = make_contest(conn, speed_class="a")
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


def test_a_worker_does_not_take_a_first_match_that_refuses_it(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    queued = [contest.rated(*entries, goes_first=place == 1) for place in range(2)]
    contest.claim(queued[1])
    let_lapse(contest, queued[1])
    assert contest.claim(queued[0]).match_id == queued[0]


def test_validations_take_half_of_the_slots_while_other_matches_wait(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    slow, other = (validation(contest) for _ in range(2))
    queued = [contest.rated(*entries) for _ in range(2)]
    assert contest.claim(slow).match_id == slow
    wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4})
    assert contest.claim(other).match_id == queued[0]  # of the two slots one validates
    due = wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4})
    assert due == [("validate", other)]
    contest.finish(slow, 1, [1, 1, 1, 1])
    assert contest.claim(other).match_id == other


def test_a_second_validation_does_not_wait_for_the_end_of_a_slow_one(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    slow, other, third = (validation(contest) for _ in range(3))
    queued = [contest.rated(*entries) for _ in range(2)]
    contest.claim(slow)
    contest.conn.execute(
        "update matches set claimed_at = now() - interval '31 s' where id = %s", (slow,)
    )
    assert contest.claim(other).match_id == other
    assert contest.claim(third).match_id == queued[0]  # neither half nor a second one
    contest.finish(other, 1, [1, 1, 1, 1])
    assert contest.claim(third).match_id == third


def test_a_validation_with_a_lower_turn_is_claimed_before_that_of_the_message(
    contest: Contest,
) -> None:
    agent = contest.agent()
    first, further = (validation(contest, agent) for _ in range(2))
    contest.claim(first)
    wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4})
    newcomer = validation(contest)
    assert contest.claim(further).match_id == newcomer
    assert wake_up_messages.mark_matches_woken(contest.conn, {"validate": 4}) == [
        ("validate", further)
    ]
    assert contest.claim(further).match_id == further


def test_validations_take_every_slot_that_no_other_match_wants(contest: Contest) -> None:
    entries = [contest.active() for _ in range(4)]
    waiting = [validation(contest) for _ in range(2)]
    contest.claim(contest.rated(*entries))
    assert [contest.claim(one).match_id for one in waiting] == waiting


def test_a_first_match_takes_its_turn_while_validations_have_half_of_the_slots(
    contest: Contest,
) -> None:
    entries = [contest.active() for _ in range(4)]
    slow = validation(contest)
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
