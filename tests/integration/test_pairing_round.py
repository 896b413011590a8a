"""The matches that a pairing round makes: for which seasons and entries, and how many."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.enums import VoidCause
from ladder.errors import Conflict, Invalid
from ladder.ids import EntryId, MatchId
from ladder.leagues import leagues, seasons
from ladder.matches import history, matches, wake_up_messages, workers
from ladder.matches.pairing import Proposal
from ladder.scheduling import pairing_round
from ladder.scheduling.season_cache import SeasonCache
from tests.integration.ladder.contest import Contest, hello, make_contest
from tests.integration.six_entries import conn as conn
from tests.integration.six_entries import contest as contest
from tests.integration.six_entries import one, silence_workers
from tests.integration.six_entries import six as six


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
    small = make_contest(conn, max_in_flight=2)
    for _ in range(8):
        small.active()
    silence_workers(conn)
    workers.register_worker(conn, hello("w1", slots=1))
    pairing_round.make_rated_matches(conn, Random(1))
    pairing_round.make_rated_matches(conn, Random(2))
    assert matches.matches_in_flight(conn, small.season.id) == 2


def test_single_seat_seasons_advance_round_by_round(contest: Contest) -> None:
    conn = contest.conn
    alone = make_contest(conn, seats=1)
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
    alone = make_contest(conn, seats=1, max_in_flight=1)
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
        assert (
            matches.void_matches(
                conn, [MatchId(match_id)], VoidCause.ATTEMPTS_USED_UP, "the node burned"
            )
            == 1
        )
    assert seeds[0] == seeds[1] == seeds[2] != seeds[3]
    assert one(conn, f"select round from entries where id = '{entry}'") == 2
    pairing_round.make_rated_matches(conn, Random(1))
    conn.execute("update entries set state = 'retired'")
    assert pairing_round.make_rated_matches(conn, Random(1)) == {"paired": 0}


def test_rounds_continue_despite_unplayable_entries(conn: Connection) -> None:
    alone = make_contest(conn, seats=1)
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
        make_contest(conn)
    assert len(seasons.playing_seasons(conn)) == 10
    assert pairing_round.make_rated_matches(conn, Random(1)) == {
        "paired": 2 * pairing_round.MATCHES_PER_SLOT
    }
    assert matches.matches_in_flight(conn, contest.season.id) == 2 * pairing_round.MATCHES_PER_SLOT


def test_extra_seasons_give_a_league_maker_no_more_matches(contest: Contest) -> None:
    conn = contest.conn
    greedy = make_contest(conn)
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
    quick = make_contest(conn)
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
    other = make_contest(conn)
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


def test_a_round_forgets_finished_seasons(contest: Contest) -> None:
    conn, fields = contest.conn, SeasonCache()
    match_id = contest.rated(*contest.entries[:4])
    contest.play(match_id, [1, 2, 3, 4])
    season = seasons.get_season(conn, contest.season.id)
    assert fields.read_log(conn, season) == 1
    pairing_round.make_rated_matches(conn, Random(1), fields)
    assert fields.seasons == {season.id}
    seasons.set_season_state(conn, season.id, "finished")
    pairing_round.make_rated_matches(conn, Random(1), fields)
    assert fields.seasons == set()


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
    with pytest.raises(Invalid, match="the lineup has 3 seats; give 4, as this season plays"):
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
    contest = make_contest(conn, max_in_flight=1)
    for _ in range(4):
        contest.active()
    assert pairing_round.make_rated_matches(conn, Random(1)) == {"paired": 1}
