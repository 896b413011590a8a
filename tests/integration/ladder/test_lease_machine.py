"""The lease SQL agrees with a dict, on two interleaved connections, for any order of events."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from ladder.database import db
from ladder.enums import VoidCause
from ladder.matches import matches
from ladder.ratings import live_ratings
from tests.integration.ladder.lease_acts import LeaseActs
from tests.integration.ladder.lease_model import STRIKES, WORKERS, World
from tests.integration.ladder.lease_stage import Stage
from tests.sizes import sized

STRANGER = "w9"
SEEN: Counter[object] = Counter()  # the number of examples in which each event happened
NTH = st.integers(0, 50)
MATCHES = """
    select id, state, attempt, accepted_no, case when state = 'running' then worker end,
           state = 'queued' and woken_at is not null and woken_at > now() - interval '10 minutes'
      from matches where season_id = %s and kind <> 'validation' order by id"""
ACCEPTANCES = "select no, match_id, act from acceptances where season_id = %s order by no"
ATTEMPTS = """
    select t.match_id, t.attempt, t.worker, t.ended from attempts t
      join matches m on m.id = t.match_id where m.season_id = %s and m.kind <> 'validation'
     order by 1, 2"""
ENTRIES = """
    select id, in_flight, faults, host_faults, strikes, state = 'paused' from entries
     where season_id = %s order by id"""
SCRIMS = """
    select id, finished_games, void_games, state from scrims where season_id = %s order by id"""


def often(**weights: int) -> st.SearchStrategy[str]:
    """A choice among these words with these weights."""
    return st.sampled_from([word for word, weight in weights.items() for _ in range(weight)])


class LeaseMachine(LeaseActs, RuleBasedStateMachine):
    """Picks the acts and their order; compares everything after each act."""

    @initialize(
        begun=st.lists(st.sampled_from(["w1", "w2", None]), min_size=4, max_size=4),
        strikes=st.lists(st.integers(0, STRIKES - 1), min_size=3, max_size=3),
    )
    def set_up(self, begun: list[str | None], strikes: list[int]) -> None:
        self.world = World(live=set(WORKERS))
        self.opened, self.touched = None, set()
        self.set_seen("interval '1 hour'", WORKERS)
        self.season, self.seats = self.stage.season()
        self.entries = tuple(self.seats)
        self.strike_before(strikes)
        for nth, worker in enumerate(begun):  # an example starts with running matches
            match_id = self.make("scrim" if nth == 3 else "rated", nth)
            assert match_id is not None
            if worker is not None:
                self.check_claim(self.quick, self.world, match_id, worker)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.slow.rollback()
        SEEN.update({(row.kind, row.state): 1 for row in self.world.rows.values()})
        SEEN.update({"paused": bool(self.world.paused)})
        SEEN.update({"withdrawn": any(act == "withdraw" for _, _, act in self.world.log)})
        # Otherwise the next example would wake and reap the matches of this one.
        matches.void_matches(self.quick, list(self.world.rows), VoidCause.NOT_NEEDED, "over")

    # There are few rules with many acts, because Hypothesis sometimes leaves out whole rules.

    @rule(
        what=often(
            create=1,
            rejudge=3,
            claim=3,
            claim_next=2,
            play=3,
            renew=1,
            finish=4,
            fail=2,
            away=4,
            resume=1,
        ),
        nth=NTH,
        lag=st.sampled_from([0, 0, 0, 0, 0, 1, -1]),
        worker=st.sampled_from([None, None, None, None, None, None, *WORKERS, STRANGER]),
        coin=st.booleans(),
    )
    def work(self, what: str, nth: int, lag: int, worker: str | None, coin: bool) -> None:
        old = self.pick(nth, "finished", "rated")
        running = self.pick(nth, "running") or self.pick(nth)
        assert running is not None
        if what == "play":  # two transactions
            newest = self.pick(-1, "queued") or running
            with self.attempted() as world:
                self.check_claim(self.quick, world, newest, "w2")
            with self.attempted() as world:
                self.check_finish(self.quick, world, newest, 0, None, coin)
            return
        with self.attempted() as world:
            if what == "rejudge" and old is not None:
                self.rejudge(world, old)
            elif what in ("create", "rejudge"):
                self.make("scrim" if coin else "rated", nth)
            elif what == "claim":
                match_id = self.pick(nth, "queued") or running
                who = worker if worker in WORKERS else ("w1" if coin else "w2")
                if nth % 2 == 0:  # the refused worker asks most often
                    who = world.rows[match_id].refused or who
                self.check_claim(self.quick, world, match_id, who)
            elif what == "claim_next":
                self.check_claim_next(world, running, worker if worker in WORKERS else "w1")
            elif what == "renew":
                self.renew(world, {running, self.pick(nth + 1) or running}, lag)
            elif what == "finish":
                answered = (nth % 3 > 0, True)
                self.check_finish(self.quick, world, running, lag, worker, coin, answered)
            elif what == "away":
                self.check_away(self.quick, world, running, lag, worker, 0)
            elif what == "resume":
                self.resume(world)
            else:
                self.check_fail(self.quick, world, running, lag, worker)

    @rule(
        what=often(
            wake=2,
            reap=2,
            expire=1,
            rate=1,
            void=1,
            live=1,
            dead=3,
            lease_passes=2,
            wake_lost=1,
            deadline=1,
            refusal_ends=1,
        ),
        nth=NTH,
    )
    def upset(self, what: str, nth: int) -> None:
        if what in ("live", "dead"):
            self.worker_lives(WORKERS[nth % 3], what == "live")
        elif what in ("lease_passes", "wake_lost", "deadline", "refusal_ends"):
            self.time_passes(nth, what)
        else:
            with self.attempted() as world:
                if what == "wake":
                    self.wake(world, nth % 5)
                elif what == "reap":
                    self.reap(world)
                elif what == "expire":
                    self.expire_queued(world)
                elif what == "void":
                    self.void(world, nth)
                else:
                    with self.quick.transaction():
                        live_ratings.rate_season(self.quick, self.season.id)

    @rule(
        nth=NTH,
        act=st.sampled_from(["claim", "finish", "finish", "fail", "away"]),
        worker=st.sampled_from(["w1", "w2"]),
        commits=st.booleans(),
    )
    def second_connection(self, nth: int, act: str, worker: str, commits: bool) -> None:
        """Leave a transaction open, or end the open one."""
        if self.opened is not None:
            self.settle_slow(self.opened, commits)
            return
        kind = "rated" if act == "away" else None
        match_id = self.pick(nth, "queued" if act == "claim" else "running", kind)
        if match_id is None:
            return
        world = self.world.copy()
        if act == "claim":
            self.check_claim(self.slow, world, match_id, worker)
        elif act == "finish":
            self.check_finish(self.slow, world, match_id, 0, None, False, (nth % 2 > 0, True))
        elif act == "away":
            self.check_away(self.slow, world, match_id, 0, None, nth % 2)
        else:
            self.check_fail(self.slow, world, match_id, 0, None)
        self.opened, self.touched = world, {match_id}

    @invariant()
    def rows_are_as_the_model_says(self) -> None:
        if not hasattr(self, "world"):
            return
        queries = (MATCHES, ACCEPTANCES, ATTEMPTS, ENTRIES, SCRIMS)
        with self.quick.pipeline():  # one answer instead of five
            asked = [self.quick.execute(query, (self.season.id,)) for query in queries]
        found = [cursor.fetchall() for cursor in asked]
        assert found == [
            self.expected_matches(),
            self.world.log,
            [(m, *each) for m, row in sorted(self.world.rows.items()) for each in row.attempts],
            self.expected_entries(),
            self.expected_scrims(),
        ]

    def expected_matches(self) -> list[tuple[object, ...]]:
        return [
            (
                match_id,
                row.state,
                row.attempt,
                row.accepted_no,
                row.worker if row.state == "running" else None,
                row.state == "queued" and row.is_woken,
            )
            for match_id, row in sorted(self.world.rows.items())
        ]

    def expected_entries(self) -> list[tuple[object, ...]]:
        rows = self.world.rows.values()
        return [
            (
                entry,
                sum(
                    row.kind == "rated"
                    and row.state in ("queued", "running")
                    and entry in row.entries
                    for row in rows
                ),
                sum(row.faults[entry] for row in rows),
                sum(
                    ended in ("lapsed", "fault")
                    for row in rows
                    if row.kind == "rated" and entry in row.entries
                    for _, _, ended in row.attempts
                ),
                self.world.strikes[entry],
                entry in self.world.paused,
            )
            for entry in sorted(self.entries)
        ]

    def expected_scrims(self) -> list[tuple[object, ...]]:
        rows = self.world.rows.values()
        states = {row.scrim: row.state for row in rows if row.scrim is not None}
        return [
            (
                scrim,
                int(state == "finished"),
                int(state == "void"),
                "finished" if state in ("finished", "void") else "running",
            )
            for scrim, state in sorted(states.items())
        ]


def test_every_order_of_events_leaves_the_rows_as_the_model_says(database_url: str) -> None:
    SEEN.clear()
    with db.connect(database_url, autocommit=True) as quick, db.connect(database_url) as slow:
        machine = type("Machine", (LeaseMachine,), {"stage": Stage(quick, slow)})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=sized(120, 2000),
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                print_blob=False,
                database=None,
            ),
        )
    # The examples reached the important states.
    for seen in [
        ("rated", "finished"),
        ("rated", "void"),
        ("scrim", "finished"),
        "withdrawn",
        "paused",
    ]:
        assert SEEN[seen], SEEN
