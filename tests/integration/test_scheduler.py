"""The leader's jobs in a real database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import psycopg
import pytest

from ladder.database import db, idempotency
from ladder.database.db import Connection
from ladder.errors import Conflict, Invalid
from ladder.ids import EntryId, MatchId
from ladder.leagues import leagues, seasons
from ladder.matches import history, lease, matches, wake_up_messages, workers
from ladder.matches.pairing import Proposal
from ladder.moderation import rejudgements, result_search
from ladder.people import one_time_links, sign_in_steps, users
from ladder.people.one_time_links import LinkPurpose
from ladder.people.sign_in_steps import StepPurpose
from ladder.reports import season_health
from ladder.scheduling import pairing_round
from ladder.scheduling.season_cache import SeasonCache
from sandbox.errors import HostTooSlow
from services.scheduler import jobs
from tests.integration.ladder.contest import Contest, hello, raise_contest
from tests.integration.ladder.contest_copies import KeptContest, copied, kept
from workers.broker import WakeError


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def six(postgres_url: str, migrated_template: str) -> Iterator[KeptContest]:
    """A season with six active entries."""

    def make(conn: Connection) -> Contest:
        made = raise_contest(conn)
        for _ in range(6):
            made.active()
        return made

    with kept(postgres_url, migrated_template, make) as found:
        yield found


@pytest.fixture
def contest(postgres_url: str, six: KeptContest) -> Iterator[Contest]:
    with copied(postgres_url, six) as found:
        found.conn.execute("update seasons set opens_at = now()")
        workers.record_heartbeat(found.conn, "w1")
        yield found


class Sender:
    """A sender of wake-up messages that only counts, or fails."""

    def __init__(self) -> None:
        self.woken: list[tuple[str, str, str]] = []
        self.away = False

    def __call__(self, queue: str, kind: str, identifier: str) -> None:
        if self.away:
            raise WakeError("Redis is away")
        self.woken.append((queue, kind, identifier))


def one(conn: Connection, query: str) -> object:
    row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def silence_workers(conn: Connection) -> None:
    conn.execute("update workers set live_until = now()")


def test_matches_are_made_only_for_the_live_slots(contest: Contest) -> None:
    conn = contest.conn
    silence_workers(conn)
    assert pairing_round.make_rated_matches(conn, Random(1)) == {}
    workers.register_worker(conn, hello("w1", slots=2))
    assert pairing_round.make_rated_matches(conn, Random(1)) == {
        "paired": 2 * pairing_round.MATCHES_PER_SLOT
    }
    assert pairing_round.make_rated_matches(conn, Random(1)) == {"paired": 0}


def test_the_first_match_of_an_entry_is_made_above_the_share(contest: Contest) -> None:
    conn = contest.conn
    silence_workers(conn)
    workers.register_worker(conn, hello("w1", slots=2))
    pairing_round.make_rated_matches(conn, Random(1))
    newcomer = contest.active()
    assert pairing_round.make_rated_matches(conn, Random(1)) == {"paired": 1}
    assert pairing_round.make_rated_matches(conn, Random(1)) == {"paired": 0}
    first = (
        "select bool_and(m.goes_first) from seats t join matches m on m.id = t.match_id"
        f" where t.entry_id = '{newcomer}' and m.kind = 'rated'"
    )
    assert one(conn, first)


def test_first_matches_keep_to_the_limit_of_a_season(conn: Connection) -> None:
    small = raise_contest(conn, max_in_flight=2)
    for _ in range(8):
        small.active()
    silence_workers(conn)
    workers.register_worker(conn, hello("w1", slots=1))
    pairing_round.make_rated_matches(conn, Random(1))
    pairing_round.make_rated_matches(conn, Random(2))
    assert matches.matches_in_flight(conn, small.season.id) == 2


def test_single_seat_seasons_advance_round_by_round(contest: Contest) -> None:
    conn = contest.conn
    alone = raise_contest(conn, seats=1)
    alone.active(), alone.active()
    silence_workers(conn)
    workers.register_worker(conn, hello("w1", slots=2))
    assert pairing_round.make_rated_matches(conn, Random(1)) == {
        "paired": 2 * pairing_round.MATCHES_PER_SLOT
    }
    assert matches.matches_in_flight(conn, alone.season.id) == pairing_round.MATCHES_PER_SLOT
    rounds = "select array_agg(round order by round) from entries where season_id = '{}'"
    assert one(conn, rounds.format(alone.season.id)) == [1, 2]


def test_a_void_round_is_repeated_at_most_twice(conn: Connection) -> None:
    alone = raise_contest(conn, seats=1, max_in_flight=1)
    entry = alone.active()
    silence_workers(conn)
    workers.register_worker(conn, hello("w1", slots=1))
    queued = "select id from matches where kind = 'rated' and state = 'queued'"
    seeds = []
    for _ in range(4):
        assert pairing_round.make_rated_matches(conn, Random(1)) == {"paired": 1}
        match_id = one(conn, queued)
        assert isinstance(match_id, str)
        seeds.append(history.get_match(conn, MatchId(match_id)).seed)
        assert matches.void_matches(conn, [MatchId(match_id)], "the node burned") == 1
    assert seeds[0] == seeds[1] == seeds[2] != seeds[3]
    assert one(conn, f"select round from entries where id = '{entry}'") == 2
    pairing_round.make_rated_matches(conn, Random(1))
    conn.execute("update entries set state = 'retired'")
    assert pairing_round.make_rated_matches(conn, Random(1)) == {"paired": 0}


def test_rounds_continue_despite_unplayable_entries(conn: Connection) -> None:
    alone = raise_contest(conn, seats=1)
    able, *unable = (alone.active() for _ in range(1 + pairing_round.MATCHES_PER_SLOT))
    conn.execute("update entries set profile = 'torch-gpu' where id = any (%s)", (unable,))
    silence_workers(conn)
    # This worker has the profile but no GPU: GPU entries wait for another node.
    workers.register_worker(conn, hello("w1", slots=1, profiles=("numpy", "torch-gpu")))
    assert pairing_round.make_rated_matches(conn, Random(1)) == {
        "paired": pairing_round.MATCHES_PER_SLOT
    }
    rounds = "select round from entries where id = '{}'"
    assert one(conn, rounds.format(able)) == pairing_round.MATCHES_PER_SLOT


def test_a_rejudge_waits_for_a_node_with_the_profile(contest: Contest) -> None:
    conn, (first, *others) = contest.conn, contest.entries
    contest.play(contest.rated(*others[:4]), [1, 2, 3, 4])
    contest.play(contest.rated(first, *others[:3]), [1, 2, 3, 4])
    conn.execute("alter table seats disable trigger seats_written")
    conn.execute("update seats set profile = 'torch' where entry_id = %s", (first,))
    everything = result_search.Predicate(node="node")
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


def test_an_entry_with_an_unserved_profile_is_not_paired(
    contest: Contest,
) -> None:
    conn = contest.conn
    silence_workers(conn)
    idle, *others = contest.entries
    conn.execute("update entries set profile = 'torch' where id = %s", (idle,))
    workers.register_worker(conn, hello("w1", slots=2))
    assert pairing_round.make_rated_matches(conn, Random(1)) == {
        "paired": 2 * pairing_round.MATCHES_PER_SLOT
    }
    lineups = (
        "select count(*) from seats t join matches m on m.id = t.match_id"
        " where m.kind = 'rated' and t.profile = 'torch'"
    )
    assert one(conn, lineups) == 0
    workers.register_worker(conn, hello("w2", slots=1, profiles=("numpy", "torch")))
    assert pairing_round.make_rated_matches(conn, Random(1)) == {
        "paired": pairing_round.MATCHES_PER_SLOT
    }
    assert one(conn, lineups) != 0
    assert others


def test_a_lineup_never_needs_more_gpus_than_a_node_has(contest: Contest) -> None:
    conn = contest.conn
    silence_workers(conn)
    conn.execute(
        "update entries set profile = 'torch-gpu' where id = any (%s)", (contest.entries[:2],)
    )
    able = hello("w1", slots=4, gpu=1, profiles=("numpy", "torch-gpu"), queues=matches.QUEUES)
    workers.register_worker(conn, able)
    for seed in range(4):
        pairing_round.make_rated_matches(conn, Random(seed))
    assert one(conn, "select max(gpu) from matches where kind = 'rated'") == 1
    wrong = (
        "select count(*) from matches where kind = 'rated' and (gpu > 0) <> (queue = 'play.gpu')"
    )
    assert one(conn, wrong) == 0


def test_unplayable_seasons_take_no_slots_from_other_seasons(contest: Contest) -> None:
    conn = contest.conn
    silence_workers(conn)
    workers.register_worker(conn, hello("w1", slots=2))
    for _ in range(9):
        raise_contest(conn)
    assert len(seasons.playing_seasons(conn)) == 10
    assert pairing_round.make_rated_matches(conn, Random(1)) == {
        "paired": 2 * pairing_round.MATCHES_PER_SLOT
    }
    assert matches.matches_in_flight(conn, contest.season.id) == 2 * pairing_round.MATCHES_PER_SLOT


def test_extra_seasons_give_a_league_maker_no_more_matches(contest: Contest) -> None:
    conn = contest.conn
    greedy = raise_contest(conn)
    for _ in range(6):
        season = seasons.create_season(
            conn,
            greedy.league.id,
            seasons.SeasonColumns(
                configuration={}, configuration_digest="", clock={}, seats=4, daily_limit=1000
            ),
        )
        each = Contest(conn, greedy.host, greedy.league, season, made=greedy.made)
        for _ in range(4):
            each.active()
        greedy.made = each.made
    silence_workers(conn)
    workers.register_worker(conn, hello("w1", slots=2))
    assert pairing_round.make_rated_matches(conn, Random(1)) == {"paired": 3 + 6}
    woken = [match_id for _, match_id in wake_up_messages.mark_matches_woken(conn, {"play.cpu": 6})]
    ours = [history.get_match(conn, each).season_id == contest.season.id for each in woken]
    assert sum(ours) == 3


def test_a_season_of_long_matches_has_fewer_in_flight(
    contest: Contest,
) -> None:
    conn = contest.conn
    quick = raise_contest(conn)
    for _ in range(4):
        quick.active()
    for made, seconds in ((contest, 8000), (quick, 1000)):
        match_id = made.rated(*made.entries[:4])
        order = made.claim(match_id)
        conn.execute(
            "update matches set claimed_at = now() - make_interval(secs => %s) where id = %s",
            (seconds, match_id),
        )
        made.finish(match_id, order.attempt, [1, 2, 3, 4])
    silence_workers(conn)
    workers.register_worker(conn, hello("w1", slots=10))
    pairing_round.make_rated_matches(conn, Random(1))
    assert matches.matches_in_flight(conn, contest.season.id) == 4
    assert matches.matches_in_flight(conn, quick.season.id) == 27


def test_newer_matches_do_not_overtake_a_waiting_match_forever(contest: Contest) -> None:
    conn, fields, rng = contest.conn, SeasonCache(), Random(1)
    other = raise_contest(conn)
    for _ in range(4):
        other.active()
    silence_workers(conn)
    conn.execute("update entries set games = 1")  # none of its matches goes first
    workers.register_worker(conn, hello("w1", slots=2))
    pairing_round.make_rated_matches(conn, rng, fields)
    last = one(conn, "select id from matches where state = 'queued' order by turn desc limit 1")
    passed: list[MatchId] = []
    while len(passed) < 20:
        ((_, first),) = wake_up_messages.mark_matches_woken(conn, {"play.cpu": 1}, wake_seconds=0.0)
        passed.append(first)
        if first == last:
            break
        contest.play(first, [1, 2, 3, 4])
        workers.register_worker(conn, hello("w1", slots=2))
        pairing_round.make_rated_matches(conn, rng, fields)
    assert len(passed) <= 2 * pairing_round.MATCHES_PER_SLOT


class RetiringCache(SeasonCache):
    """Retires the entry in the first seat of the first lineup right after the proposal."""

    def __init__(self, conn: Connection) -> None:
        super().__init__()
        self._conn = conn
        self.proposal = Proposal((), None)

    @property
    def retired(self) -> EntryId | None:
        return self.proposal.lineups[0][0].entry_id

    def propose_lineups(self, *args: Any, **terms: Any) -> Proposal:
        self.proposal = super().propose_lineups(*args, **terms)
        self._conn.execute("update entries set state = 'retired' where id = %s", (self.retired,))
        return self.proposal


def test_an_entry_that_retires_during_a_round_loses_only_its_own_matches(contest: Contest) -> None:
    conn = contest.conn
    for _ in range(6):
        contest.active()
    silence_workers(conn)
    workers.register_worker(conn, hello("w1", slots=4))
    fields = RetiringCache(conn)
    pairing_round.make_rated_matches(conn, Random(1), fields)
    possible = {
        tuple(seat.entry_id for seat in lineup)
        for lineup in fields.proposal.lineups
        if all(seat.entry_id != fields.retired for seat in lineup)
    }
    made = conn.execute(
        "select array_agg(t.entry_id order by t.seat) from matches m"
        " join seats t on t.match_id = m.id where m.kind = 'rated' group by m.id"
    ).fetchall()
    assert {tuple(lineup) for (lineup,) in made} == possible
    assert 0 < len(made) < len(fields.proposal.lineups)
    wrong = conn.execute(
        "select e.id from entries e where in_flight <> (select count(*) from seats t join matches m"
        " on m.id = t.match_id where t.entry_id = e.id and m.kind = 'rated')"
    ).fetchall()
    assert wrong == []


def test_rated_matches_made_together_have_the_rows_of_single_ones(contest: Contest) -> None:
    conn, columns = (
        contest.conn,
        (
            "kind, season_id, scrim_id, rejudges, state, queue, turn, goes_first, profiles, gpu,"
            " speed_class, length(seed), max_attempts, lease_seconds, deadline_at - created_at"
        ),
    )
    lineup = contest.seats(contest.entries[:4])
    with conn.transaction():
        assert matches.lock_active_entries(conn, [lineup]) == set(contest.entries[:4])
        made = matches.create_rated_matches(
            conn, contest.season, 2 * [matches.RatedMatch(lineup, turn=3, goes_first=True)]
        )
    made.append(contest.rated(*contest.entries[:4], turn=3, goes_first=True))
    rows = conn.execute(f"select {columns} from matches where id = any (%s)", (made,)).fetchall()
    assert len(rows) == 3
    assert rows[0] == rows[1] == rows[2]
    assert [matches.lineup_of(conn, each) for each in made] == 3 * [lineup]
    seeds = conn.execute("select distinct seed from matches where id = any (%s)", (made,))
    assert len(seeds.fetchall()) == 3
    meetings = conn.execute(
        "select count(*) from meetings where match_id = any (%s) group by match_id", (made,)
    ).fetchall()
    assert meetings == 3 * [(6,)]


def test_rated_matches_need_the_number_of_seats_of_the_season(contest: Contest) -> None:
    lineup = contest.seats(contest.entries[:3])
    with pytest.raises(Invalid, match="3 seats, this season plays 4"):
        matches.create_rated_matches(contest.conn, contest.season, [matches.RatedMatch(lineup)])


def test_rated_matches_made_together_need_active_entries(contest: Contest) -> None:
    conn = contest.conn
    lineup = contest.seats(contest.entries[:4])
    conn.execute("update entries set state = 'retired' where id = %s", (contest.entries[0],))
    with pytest.raises(Conflict, match="active entries"):
        matches.create_rated_matches(conn, contest.season, [matches.RatedMatch(lineup)])
    assert one(conn, "select sum(in_flight) from entries") == 0


def test_a_paused_league_gets_no_matches(contest: Contest) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    leagues.set_league_state(contest.conn, contest.league.id, "paused")
    assert pairing_round.make_rated_matches(contest.conn, Random(1)) == {}


def test_a_season_never_exceeds_its_limit_of_matches_in_flight(conn: Connection) -> None:
    contest = raise_contest(conn, max_in_flight=1)
    for _ in range(4):
        contest.active()
    assert pairing_round.make_rated_matches(conn, Random(1)) == {"paired": 1}


def test_wake_up_messages_are_limited_by_the_slots(
    contest: Contest,
) -> None:
    conn, sender = contest.conn, Sender()
    for _ in range(20):
        contest.rated(*contest.entries[:4])
    silence_workers(conn)
    workers.register_worker(conn, hello("w2", slots=3))
    wakes = jobs.WakeMessages(sender)
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
    wakes = jobs.WakeMessages(sender)
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
    wakes = jobs.WakeMessages(sender)
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


def paused(contest: Contest) -> None:
    leagues.set_league_state(contest.conn, contest.league.id, "paused")


def no_workers(contest: Contest) -> None:
    silence_workers(contest.conn)


def results_unrated(contest: Contest) -> None:
    contest.play(contest.rated(*contest.entries[:4]), [1, 2, 3, 4])
    contest.conn.execute("update entries set last_match_at = null")


def nothing_made(contest: Contest) -> None:
    assert contest.entries


def too_few(contest: Contest) -> None:
    contest.conn.execute(
        "update entries set state = 'retired' where id <> %s", (contest.entries[0],)
    )


def one_agent_and_two_anchors(contest: Contest) -> None:
    contest.conn.execute(
        "update entries set state = 'retired' where not id = any (%s)", (contest.entries[:3],)
    )
    contest.conn.execute(
        "update entries set is_anchor = true where id = any (%s)", (contest.entries[:2],)
    )


def no_wake(contest: Contest) -> None:
    contest.rated(*contest.entries[:4])


def not_taken(contest: Contest) -> None:
    contest.rated(*contest.entries[:4])
    contest.conn.execute("update matches set woken_at = now() where state = 'queued'")


def not_served(contest: Contest) -> None:
    contest.rated(*contest.entries[:4])
    contest.conn.execute("update matches set profiles = '{torch}' where state = 'queued'")


def hardly_served(contest: Contest) -> None:
    contest.conn.execute(
        "update entries set profile = 'torch' where id = any (%s)", (contest.entries[:3],)
    )


def slow(contest: Contest) -> None:
    contest.claim(contest.rated(*contest.entries[:4]))


@pytest.mark.parametrize(
    ("situation", "cause", "reason"),
    [
        (paused, "paused", "the league is paused"),
        (no_workers, "no_capacity", "no worker that serves play.cpu"),
        (results_unrated, "error", "1 accepted results wait to be rated"),
        (nothing_made, "error", "no match is made although 4 of 4 seats can be filled"),
        (too_few, "nothing_to_pair", "1 of 4 seats can be filled: add an agent or an anchor"),
        (one_agent_and_two_anchors, "nothing_to_pair", "3 of 4 seats can be filled: add an agent"),
        (no_wake, "error", "no wake-up message gets through"),
        (not_taken, "error", "1 matches wait and no worker takes them"),
        (
            not_served,
            "no_capacity",
            "its matches cannot be played: no node serves profile torch now",
        ),
        (
            hardly_served,
            "no_capacity",
            "3 active entries wait for a node that serves profile torch",
        ),
        (slow, "error", "1 matches are being played and none has finished"),
    ],
)
def test_a_silent_season_raises_an_alarm_with_the_reason(
    contest: Contest, situation: Callable[[Contest], None], cause: str, reason: str
) -> None:
    assert season_health.season_alarms(contest.conn) == []
    contest.conn.execute("update seasons set opens_at = now() - interval '1 hour'")
    situation(contest)
    (alarm,) = season_health.season_alarms(contest.conn)
    assert reason in alarm.reason
    assert alarm.cause == cause
    assert alarm.league == contest.league.slug
    assert alarm.silent_seconds > alarm.expected_seconds


def test_an_alarm_is_raised_after_three_silent_intervals(contest: Contest) -> None:
    conn = contest.conn
    silent = "update seasons set opens_at = now() - cadence_seconds * interval '1 second' * %s"
    for intervals, count in ((1.0, 0), (2.9, 0), (3.1, 1)):
        conn.execute(silent, (intervals,))
        assert len(season_health.season_alarms(conn)) == count
    conn.execute("update entries set is_anchor = true")  # nobody has entered
    assert season_health.season_alarms(conn) == []
    conn.execute("update entries set is_anchor = false")
    seasons.set_season_state(conn, contest.season.id, "finished")
    assert season_health.season_alarms(conn) == []


def test_more_silent_seasons_need_no_more_queries(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, asked = contest.conn, []
    execute = psycopg.Cursor.execute

    def counted(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(query)
        return execute(self, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    counts = []
    for more in (0, 3):
        others = [raise_contest(conn) for _ in range(more)]
        for other in others:
            other.active()
        hardly_served(contest)
        conn.execute("update seasons set opens_at = now() - interval '1 hour'")
        asked.clear()
        reasons = {alarm.season_id: alarm.reason for alarm in season_health.season_alarms(conn)}
        counts.append(len(asked))
        assert len(reasons) == 1 + more
    assert counts[0] == counts[1]
    assert "a node that serves profile torch" in reasons[contest.season.id]
    assert all("seats can be filled" in reasons[other.season.id] for other in others)


def test_a_host_too_slow_for_a_season_raises_an_alarm(
    contest: Contest, capsys: pytest.CaptureFixture[str]
) -> None:
    conn = contest.conn
    order = contest.claim(contest.rated(*contest.entries[:4]))
    detail = f"{HostTooSlow.__name__}: seat 0 waited 310.0 s for a core"
    assert season_health.season_alarms(conn) == []
    lease.fail_attempt(conn, order.match_id, order.attempt, "w1", "host", detail)
    (alarm,) = season_health.season_alarms(conn)
    assert alarm.cause == "slow_host"
    assert "too slow for this season: w1 (1 attempts)" in alarm.reason
    looking = jobs.AlarmLog()
    looking.log_alarm_changes(conn)
    looking.log_alarm_changes(conn)
    assert capsys.readouterr().err.count("host_too_slow") == 1


def test_an_alarm_is_logged_once(contest: Contest, capsys: pytest.CaptureFixture[str]) -> None:
    conn, looking = contest.conn, jobs.AlarmLog()
    conn.execute("update seasons set opens_at = now() - interval '1 hour'")
    looking.log_alarm_changes(conn)
    looking.log_alarm_changes(conn)
    assert capsys.readouterr().err.count("season_silent") == 1
    conn.execute("update seasons set opens_at = now()")
    looking.log_alarm_changes(conn)
    assert "season_alarm_cleared" in capsys.readouterr().err


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
        sign_in_steps.begin_step(conn, purpose, purpose.encode(), b"a browser", user.id)
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
        "machine_samples_given_up": 0,
        "standings_dropped": 0,
        "notices_forgotten": 0,
    }
    assert workers.record_heartbeat(conn, "here")
    assert not workers.record_heartbeat(conn, "long gone")
    rows = conn.execute("select key from idempotency_keys").fetchall()
    assert [row[0] for row in rows] == ["new"]
