"""The lease SQL against a dict, on two interleaved connections, for any order of events."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from ladder import ids
from ladder.ids import EntryId, MatchId
from ladder.model import Conflict, EpisodeResult, Finish, LineupSeat, MatchKind, Season
from ladder.store import db, leagues, matches, ratings
from ladder.store.db import Connection
from tests.integration.store.contest import digest, hello, raise_contest, results

WORKERS = ("w1", "w2", "w3")  # w3 lacks the profile that every match needs
STRANGER = "w9"
MAX_ATTEMPTS = 2
LONG = 36_000.0  # leases and deadlines pass only where a rule moves them
SEEN: Counter[object] = Counter()  # in how many examples something came about
NTH = st.integers(0, 50)


def often(**weights: int) -> st.SearchStrategy[str]:
    """These words, each as often as its number says."""
    return st.sampled_from([word for word, weight in weights.items() for _ in range(weight)])


@dataclass
class Row:
    """What the model knows of a match."""

    kind: str
    entries: tuple[EntryId, ...]
    scrim: str | None
    rejudges: MatchId | None = None
    state: str = "queued"
    attempt: int = 0
    worker: str | None = None
    refused: str | None = None
    is_refusing: bool = False
    is_rung: bool = False
    is_lapsed: bool = False
    is_stale: bool = False
    accepted_no: int | None = None
    faults: Counter[EntryId] = field(default_factory=Counter)
    attempts: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass
class World:
    """The whole model: a value, so that an open transaction has one of its own."""

    rows: dict[MatchId, Row] = field(default_factory=dict)
    log: list[tuple[int, MatchId, str]] = field(default_factory=list)
    live: set[str] = field(default_factory=set)

    def fits(self, worker: str, match_id: MatchId) -> bool:
        return worker in ("w1", "w2")

    def claim(self, match_id: MatchId, worker: str) -> bool:
        row = self.rows[match_id]
        if row.state != "queued" or row.is_stale or not self.fits(worker, match_id):
            return False
        others = self.live & ({"w1", "w2"} - {worker})
        if row.refused == worker and row.is_refusing and others:
            row.is_rung = False
            return False
        row.state, row.worker, row.is_lapsed = "running", worker, False
        row.attempt += 1
        return True

    def finish(self, match_id: MatchId, attempt: int, worker: str, verdicts: list[str]) -> bool:
        row = self.rows[match_id]
        if (row.state, row.attempt, row.worker) != ("running", attempt, worker):
            return False
        row.state = "finished"
        row.attempts.append((attempt, worker, "finished"))
        if row.kind == "rated":
            for entry, verdict in zip(row.entries, verdicts, strict=True):
                row.faults[entry] += verdict != "DONE"
            if row.rejudges is not None:
                self.log.append((len(self.log) + 1, row.rejudges, "withdraw"))
                self.rows[row.rejudges].faults.clear()
            self.log.append((len(self.log) + 1, match_id, "accept"))
            row.accepted_no = len(self.log)
        return True

    def drop(self, match_id: MatchId, ended: str, *, void: bool) -> None:
        row = self.rows[match_id]
        if row.state == "running":
            assert row.worker is not None
            row.attempts.append((row.attempt, row.worker, ended))
        if void or row.attempt >= MAX_ATTEMPTS:
            row.state = "void"
        else:
            row.state, row.refused, row.worker = "queued", row.worker, None
            row.is_refusing, row.is_rung, row.is_stale = True, False, False


class Stage:
    """What the examples share: two connections, the workers, three agents; not their seasons."""

    def __init__(self, quick: Connection, slow: Connection) -> None:
        self.quick = quick
        self.slow = slow
        self.contest = raise_contest(quick, seats=2)
        self.submissions = [self.contest.submission() for _ in range(3)]
        for worker in WORKERS:
            profiles = ("other",) if worker == "w3" else ("numpy",)
            matches.register_worker(quick, hello(worker, profiles=profiles))
        quick.execute("set lock_timeout = '15ms'")

    def season(self) -> tuple[Season, dict[EntryId, LineupSeat]]:
        """A fresh season with an active entry of each agent."""
        season = leagues.create_season(
            self.quick,
            self.contest.league.id,
            configuration={},
            configuration_digest="none",
            clock={},
            seats=2,
            max_attempts=MAX_ATTEMPTS,
            lease_seconds=LONG,
            queue_seconds=LONG,
        )
        seats = {}
        for sub in self.submissions:
            entry = EntryId(ids.new("ent"))
            seats[entry] = LineupSeat(entry, sub.id, sub.agent_id, sub.team_id)
        with self.quick.cursor() as cur:
            cur.executemany(
                "insert into entries (id, season_id, agent_id, team_id, submission_id, state, mu,"
                " sigma) values (%s, %s, %s, %s, %s, 'active', 600, 200)",
                [(e, season.id, s.agent_id, s.team_id, s.submission_id) for e, s in seats.items()],
            )
        return season, dict(sorted(seats.items()))


class LeaseMachine(RuleBasedStateMachine):
    """Every rule does one thing to the rows and the same to the model."""

    stage: Stage
    season: Season
    seats: dict[EntryId, LineupSeat]
    entries: tuple[EntryId, ...]

    @initialize(begun=st.lists(st.sampled_from(["w1", "w2", None]), min_size=4, max_size=4))
    def set_up(self, begun: list[str | None]) -> None:
        self.world = World(live=set(WORKERS))
        self.opened: World | None = None  # the model as the open transaction sees it
        self.touched: set[MatchId] = set()
        self.set_seen("interval '1 hour'", WORKERS)
        self.season, self.seats = self.stage.season()
        self.entries = tuple(self.seats)
        for nth, worker in enumerate(begun):  # an example starts in the middle of things
            match_id = self.make("scrim" if nth == 3 else "rated", nth)
            if worker is not None:
                self.check_claim(self.quick, self.world, match_id, worker)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.slow.rollback()
        SEEN.update({(row.kind, row.state): 1 for row in self.world.rows.values()})
        SEEN.update({"withdrawn": any(act == "withdraw" for _, _, act in self.world.log)})
        # What this example left behind would be rung and reaped in the next one.
        matches.void(self.quick, list(self.world.rows), "over")

    @property
    def quick(self) -> Connection:
        return self.stage.quick

    @property
    def slow(self) -> Connection:
        return self.stage.slow

    # Few rules, each of many acts: Hypothesis leaves whole rules out of an example now and then.

    @rule(
        what=often(create=1, rejudge=3, claim=3, play=3, renew=1, finish=4, fail=2),
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
                if nth % 2 == 0:  # the one that is refused asks most often
                    who = world.rows[match_id].refused or who
                self.check_claim(self.quick, world, match_id, who)
            elif what == "renew":
                self.renew(world, {running, self.pick(nth + 1) or running}, lag)
            elif what == "finish":
                self.check_finish(self.quick, world, running, lag, worker, coin)
            else:
                self.check_fail(self.quick, world, running, lag, worker)

    @rule(
        what=often(
            ring=2,
            reap=2,
            expire=1,
            rate=1,
            void=1,
            live=1,
            dead=3,
            lease_passes=2,
            bell_lost=1,
            deadline=1,
            refusal_ends=1,
        ),
        nth=NTH,
    )
    def upset(self, what: str, nth: int) -> None:
        if what in ("live", "dead"):
            self.worker_lives(WORKERS[nth % 3], what == "live")
        elif what in ("lease_passes", "bell_lost", "deadline", "refusal_ends"):
            self.time_passes(nth, what)
        else:
            with self.attempted() as world:
                if what == "ring":
                    self.ring(world, nth % 5)
                elif what == "reap":
                    self.reap(world)
                elif what == "expire":
                    self.expire_queued(world)
                elif what == "void":
                    self.void(world, nth)
                else:
                    with self.quick.transaction():
                        ratings.apply(self.quick, self.season.id)

    @rule(
        nth=NTH,
        act=st.sampled_from(["claim", "finish", "finish", "fail"]),
        worker=st.sampled_from(["w1", "w2"]),
        commits=st.booleans(),
    )
    def second_connection(self, nth: int, act: str, worker: str, commits: bool) -> None:
        """Leaves a transaction open in mid-air, or ends the one that is."""
        if self.opened is not None:
            self.settle_slow(self.opened, commits)
            return
        match_id = self.pick(nth, "queued" if act == "claim" else "running")
        if match_id is None:
            return
        world = deepcopy(self.world)
        if act == "claim":
            self.check_claim(self.slow, world, match_id, worker)
        elif act == "finish":
            self.check_finish(self.slow, world, match_id, 0, None, False)
        else:
            self.check_fail(self.slow, world, match_id, 0, None)
        self.opened, self.touched = world, {match_id}

    # -- what makes matches

    def make(self, kind: str, nth: int) -> MatchId:
        lineup = (self.entries[nth % 3], self.entries[(nth + 1) % 3])
        scrim = self._scrim() if kind == "scrim" else None
        match_id = matches.create(
            self.quick,
            season=self.season,
            kind=MatchKind(kind),
            lineup=[self._seat(entry) for entry in lineup],
            scrim_id=scrim,  # type: ignore[arg-type]
        )
        self.world.rows[match_id] = Row(kind, lineup, scrim)
        return match_id

    def rejudge(self, world: World, old: MatchId) -> None:
        if any(r.rejudges == old and r.state != "void" for r in world.rows.values()):
            with pytest.raises(Conflict):
                self._make_rejudge(old)
        else:
            match_id = self._make_rejudge(old)
            world.rows[match_id] = Row("rated", world.rows[old].entries, None, rejudges=old)

    # -- acts and what the model makes of them

    def ring(self, world: World, most: int) -> None:
        for queue, kind in (("play.cpu", "rated"), ("scrim", "scrim")):
            rung = [m for _, m in matches.ring_due(self.quick, {queue: most}, bell_seconds=600)]
            waiting = [
                (match_id, row)
                for match_id, row in sorted(world.rows.items())
                if row.kind == kind and row.state == "queued"
            ]
            out = sum(row.is_rung for _, row in waiting)
            due = [
                match_id
                for match_id, row in waiting
                if not (row.is_rung or row.is_stale or match_id in self.touched)
            ]
            is_served = bool(world.live & {"w1", "w2"})
            assert rung == (due[: max(0, most - out)] if is_served else [])
            for match_id in rung:
                world.rows[match_id].is_rung = True

    def renew(self, world: World, picked: set[MatchId], lag: int) -> None:
        asked = [(m, world.rows[m].attempt - lag) for m in sorted(picked)]
        held = matches.renew(self.quick, asked)
        assert sorted(held) == [
            (m, a) for m, a in asked if world.rows[m].state == "running" and lag == 0
        ]
        for match_id, _ in held:
            world.rows[match_id].is_lapsed = False

    def reap(self, world: World) -> None:
        counts = matches.reap(self.quick)
        lapsed = [m for m in self.free("running") if world.rows[m].is_lapsed]
        for match_id in lapsed:
            world.drop(match_id, "lapsed", void=False)
        voided = sum(world.rows[m].state == "void" for m in lapsed)
        assert (counts.requeued, counts.voided) == (len(lapsed) - voided, voided)

    def expire_queued(self, world: World) -> None:
        count = matches.expire_queued(self.quick)
        stale = [m for m in self.free("queued") if world.rows[m].is_stale]
        for match_id in stale:
            world.drop(match_id, "void", void=True)
        assert count == len(stale)

    def void(self, world: World, nth: int) -> None:
        match_id = self.pick(nth)
        assert match_id is not None
        is_over = world.rows[match_id].state in ("finished", "void")
        assert matches.void(self.quick, [match_id], "by hand") == (not is_over)
        if not is_over:
            world.drop(match_id, "void", void=True)

    def settle_slow(self, opened: World, commits: bool) -> None:
        if commits:
            self.slow.commit()
            for match_id in self.touched:
                self.world.rows[match_id] = opened.rows[match_id]
                old = opened.rows[match_id].rejudges
                if old is not None:
                    self.world.rows[old] = opened.rows[old]
            # Nobody else can have appended meanwhile: the season's row was locked.
            self.world.log += opened.log[len(self.world.log) :]
        else:
            self.slow.rollback()
        self.opened, self.touched = None, set()
        self._steady_refusals()

    def time_passes(self, nth: int, what: str) -> None:
        free = self.free("running" if what == "lease_passes" else "queued")
        if what == "refusal_ends":
            free = [m for m in free if self.world.rows[m].is_refusing]
        if not free:
            return
        match_id = free[nth % len(free)]
        row = self.world.rows[match_id]
        if what == "lease_passes":
            self._move("lease_until = now() - interval '1 second'", match_id)
            row.is_lapsed = True
        elif what == "deadline":
            self._move("deadline_at = now() - interval '1 second'", match_id)
            row.is_stale = True
        elif what == "bell_lost":
            self._move("rung_at = rung_at - interval '1 hour'", match_id)
            row.is_rung = False
        else:
            self._move("refused_until = now() - interval '1 second'", match_id)
            row.is_refusing = False

    def worker_lives(self, worker: str, is_live: bool) -> None:
        if is_live:
            assert matches.see_worker(self.quick, worker)
            self.set_seen("interval '1 hour'", (worker,))
            self.world.live.add(worker)
        else:
            self.set_seen("interval '-1 hour'", (worker,))
            self.world.live.discard(worker)

    # -- what must hold at every moment

    @invariant()
    def rows_are_as_the_model_says(self) -> None:
        if not hasattr(self, "world"):
            return
        found = self.quick.execute(
            "select id, state, attempt, accepted_no,"
            " case when state = 'running' then worker end, state = 'queued' and rung_at is not null"
            " and rung_at > now() - interval '1 minute' from matches where season_id = %s"
            " and kind <> 'validation' order by id",
            (self.season.id,),
        ).fetchall()
        assert found == [
            (
                match_id,
                row.state,
                row.attempt,
                row.accepted_no,
                row.worker if row.state == "running" else None,
                row.state == "queued" and row.is_rung,
            )
            for match_id, row in sorted(self.world.rows.items())
        ]

    @invariant()
    def history_is_as_the_model_says(self) -> None:
        if not hasattr(self, "world"):
            return
        season = self.season.id
        log = self.quick.execute(
            "select no, match_id, act from acceptances where season_id = %s order by no", (season,)
        ).fetchall()
        assert log == self.world.log
        tries = self.quick.execute(
            "select t.match_id, t.attempt, t.worker, t.ended from attempts t"
            " join matches m on m.id = t.match_id where m.season_id = %s and m.kind <> 'validation'"
            " order by 1, 2",
            (season,),
        ).fetchall()
        assert tries == [
            (m, *each) for m, row in sorted(self.world.rows.items()) for each in row.attempts
        ]

    @invariant()
    def counters_are_as_the_model_says(self) -> None:
        if not hasattr(self, "world"):
            return
        rows = self.world.rows.values()
        found = self.quick.execute(
            "select id, in_flight, faults, host_faults from entries where season_id = %s"
            " order by id",
            (self.season.id,),
        ).fetchall()
        assert found == [
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
            )
            for entry in sorted(self.entries)
        ]
        scrims = self.quick.execute(
            "select id, finished_games, void_games, state from scrims where season_id = %s"
            " order by id",
            (self.season.id,),
        ).fetchall()
        states = {row.scrim: row.state for row in rows if row.scrim is not None}
        assert scrims == [
            (
                scrim,
                int(state == "finished"),
                int(state == "void"),
                "finished" if state in ("finished", "void") else "running",
            )
            for scrim, state in sorted(states.items())
        ]

    # -- shared by the rules

    def check_claim(self, conn: Connection, world: World, match_id: MatchId, worker: str) -> None:
        order = matches.claim(conn, match_id, worker)
        assert (order is not None) == world.claim(match_id, worker)
        if order is not None:
            assert order.attempt == world.rows[match_id].attempt
            assert len(order.digests) == len(order.profiles) == 2

    def check_finish(
        self,
        conn: Connection,
        world: World,
        match_id: MatchId,
        lag: int,
        worker: str | None,
        fault: bool,
    ) -> None:
        row = world.rows[match_id]
        attempt = row.attempt - lag
        who = worker or row.worker or "w1"
        verdicts = ["TIMEOUT" if fault else "DONE", "DONE"]
        done = matches.finish(
            conn,
            match_id,
            attempt,
            who,
            results([2, 1], verdicts),
            [EpisodeResult(3, digest("replay"))],
            node="node",
            image_digest="image",
            rules_digest="rules",
        )
        assert (done is Finish.ACCEPTED) == world.finish(match_id, attempt, who, verdicts)

    def check_fail(
        self, conn: Connection, world: World, match_id: MatchId, lag: int, worker: str | None
    ) -> None:
        row = world.rows[match_id]
        who = worker or row.worker or "w1"
        took = matches.fail(conn, match_id, row.attempt - lag, who, "host", "it was us")
        holds = row.state == "running" and lag == 0 and who == row.worker
        assert took == holds
        if holds:
            world.drop(match_id, "fault", void=False)

    @contextmanager
    def attempted(self) -> Iterator[World]:
        """The model to change; undone when the rows are held by the slow connection."""
        before = self.world
        self.world = deepcopy(before)
        try:
            yield self.world
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            assert self.opened is not None, "locked, and nobody holds a lock"
            self.world = before
        self._steady_refusals()

    def pick(self, nth: int, state: str | None = None, kind: str | None = None) -> MatchId | None:
        fitting = [
            match_id
            for match_id, row in sorted(self.world.rows.items())
            if state in (None, row.state) and kind in (None, row.kind)
        ]
        return fitting[nth % len(fitting)] if fitting else None

    def free(self, state: str) -> list[MatchId]:
        """Matches in this state that the open transaction does not hold."""
        rows = sorted(self.world.rows.items())
        return [m for m, row in rows if row.state == state and m not in self.touched]

    def set_seen(self, ahead: str, workers: tuple[str, ...]) -> None:
        self.quick.execute(
            f"update workers set seen_at = now() + {ahead} where id = any (%s)", (list(workers),)
        )

    def _move(self, change: str, match_id: MatchId) -> None:
        self.quick.execute(f"update matches set {change} where id = %s", (match_id,))

    def _steady_refusals(self) -> None:
        """A refusal lasts until a rule ends it, however slow this machine is."""
        ids = [m for m in self.free("queued") if self.world.rows[m].is_refusing]
        if not ids:
            return
        self.quick.execute(
            "update matches set refused_until = now() + interval '1 hour' where id = any (%s)",
            (ids,),
        )

    def _seat(self, entry: EntryId) -> LineupSeat:
        return self.seats[entry]

    def _make_rejudge(self, old: MatchId) -> MatchId:
        with self.quick.transaction():
            return matches.create(
                self.quick,
                season=self.season,
                kind=MatchKind.RATED,
                lineup=[self._seat(entry) for entry in self.world.rows[old].entries],
                rejudges=old,
            )

    def _scrim(self) -> str:
        scrim = f"scr_{secrets.token_hex(13)}"
        self.quick.execute(
            "insert into scrims (id, season_id, team_id, requested_by, lineup, games)"
            " select %s, %s, id, created_by, '[]', 1 from teams where created_by is not null"
            " limit 1",
            (scrim, self.season.id),
        )
        return scrim


def test_every_order_of_events_leaves_the_rows_as_the_model_says(database_url: str) -> None:
    SEEN.clear()
    with db.connect(database_url, autocommit=True) as quick, db.connect(database_url) as slow:
        machine = type("Machine", (LeaseMachine,), {"stage": Stage(quick, slow)})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=200,
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                print_blob=False,
                database=None,
            ),
        )
    # The examples went where it matters, not only past it.
    for seen in [("rated", "finished"), ("rated", "void"), ("scrim", "finished"), "withdrawn"]:
        assert SEEN[seen] >= 5, SEEN
