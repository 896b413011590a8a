"""The lease SQL against a dict, on two interleaved connections, for any order of events."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

import psycopg
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ladder.ids import EntryId, MatchId
from ladder.model import EpisodeResult, Finish, LineupSeat, MatchKind
from ladder.store import db, matches, ratings
from ladder.store.db import Connection
from tests.integration.store.contest import Contest, digest, hello, raise_contest, results

WORKERS = ("w1", "w2", "w3")  # w3 lacks the profile that every match needs
STRANGER = "w9"
MAX_ATTEMPTS = 3
LONG = 36_000.0  # leases and deadlines pass only where a rule moves them
NTH = st.integers(0, 50)


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


class LeaseMachine(RuleBasedStateMachine):
    """Every rule does one thing to the rows and the same to the model."""

    url: str
    contest: Contest
    entries: tuple[EntryId, ...]

    @initialize()
    def set_up(self) -> None:
        self.world = World(live={"w1", "w2", "w3"})
        self.opened: World | None = None  # the model as the open transaction sees it
        self.touched: set[MatchId] = set()
        self.seats: dict[EntryId, LineupSeat] = {}
        self.quick = db.connect(self.url, autocommit=True)
        self.quick.execute("set lock_timeout = '15ms'")
        self.slow = db.connect(self.url)
        self.contest = raise_contest(
            self.quick, seats=2, max_attempts=MAX_ATTEMPTS, lease_seconds=LONG, queue_seconds=LONG
        )
        for worker in WORKERS:
            profiles = ("other",) if worker == "w3" else ("numpy",)
            matches.register_worker(self.quick, hello(worker, profiles=profiles))
        self.set_seen("interval '1 hour'", WORKERS)
        self.entries = tuple(self._active_entry() for _ in range(3))

    def teardown(self) -> None:
        if not hasattr(self, "quick"):
            return
        if self.opened is not None:
            self.slow.rollback()
        states = Counter(row.state for row in self.world.rows.values())
        event(f"matches finished: {min(states['finished'], 3)}, void: {min(states['void'], 2)}")
        # What this example left behind would be rung and reaped in the next one.
        self.quick.execute("set lock_timeout = 0")
        self.slow.rollback()
        matches.void(self.quick, list(self.world.rows), "over")
        self.slow.close()
        self.quick.close()

    # -- what makes matches

    @rule(kind=st.sampled_from(["rated", "rated", "scrim"]), swap=st.booleans(), third=NTH)
    def create(self, kind: str, swap: bool, third: int) -> None:
        pair = [self.entries[third % 3], self.entries[(third + 1) % 3]]
        lineup = tuple(reversed(pair)) if swap else tuple(pair)
        with self.attempted() as world:
            scrim = self._scrim() if kind == "scrim" else None
            match_id = matches.create(
                self.quick,
                season=self.contest.season,
                kind=MatchKind(kind),
                lineup=[self._seat(entry) for entry in lineup],
                scrim_id=scrim,  # type: ignore[arg-type]
            )
            world.rows[match_id] = Row(kind, lineup, scrim)

    @precondition(lambda self: self.pick(0, "finished", "rated") is not None)
    @rule(nth=NTH)
    def rejudge(self, nth: int) -> None:
        old = self.pick(nth, "finished", "rated")
        assert old is not None
        if any(r.rejudges == old and r.state != "void" for r in self.world.rows.values()):
            return
        with self.attempted() as world:
            lineup = world.rows[old].entries
            match_id = matches.create(
                self.quick,
                season=self.contest.season,
                kind=MatchKind.RATED,
                lineup=[self._seat(entry) for entry in lineup],
                rejudges=old,
            )
            world.rows[match_id] = Row("rated", lineup, None, rejudges=old)

    # -- the lease

    @rule(most=st.integers(0, 4))
    def ring(self, most: int) -> None:
        for queue in ("play.cpu", "scrim"):
            kind = "rated" if queue == "play.cpu" else "scrim"
            with self.attempted() as world:
                rung = [m for _, m in matches.ring_due(self.quick, {queue: most}, bell_seconds=60)]
                mine = [m for m in sorted(world.rows) if world.rows[m].kind == kind]
                out = [m for m in mine if world.rows[m].state == "queued" and world.rows[m].is_rung]
                due = [
                    m
                    for m in mine
                    if world.rows[m].state == "queued"
                    and not world.rows[m].is_rung
                    and not world.rows[m].is_stale
                    and m not in self.touched
                    and world.live & {"w1", "w2"}
                ]
                assert rung == due[: max(0, most - len(out))]
                for match_id in rung:
                    world.rows[match_id].is_rung = True

    @precondition(lambda self: self.world.rows)
    @rule(nth=NTH, worker=st.sampled_from(WORKERS))
    def claim(self, nth: int, worker: str) -> None:
        match_id = self.pick(nth, "queued") or self.pick(nth)
        assert match_id is not None
        with self.attempted() as world:
            self.check_claim(self.quick, world, match_id, worker)

    @precondition(lambda self: self.world.rows)
    @rule(nth=NTH, other=NTH, lag=st.integers(0, 1))
    def renew(self, nth: int, other: int, lag: int) -> None:
        picked = {m for m in (self.pick(nth, "running"), self.pick(other)) if m is not None}
        with self.attempted() as world:
            asked = [(m, world.rows[m].attempt - lag) for m in sorted(picked)]
            held = matches.renew(self.quick, asked)
            assert sorted(held) == [
                (m, a) for m, a in asked if world.rows[m].state == "running" and lag == 0
            ]
            for match_id, _ in held:
                world.rows[match_id].is_lapsed = False

    @precondition(lambda self: self.world.rows)
    @rule(
        nth=NTH,
        lag=st.sampled_from([0, 0, 0, 1, -1]),
        worker=st.sampled_from([None, None, None, *WORKERS, STRANGER]),
        fault=st.booleans(),
    )
    def finish(self, nth: int, lag: int, worker: str | None, fault: bool) -> None:
        match_id = self.pick(nth, "running") or self.pick(nth)
        assert match_id is not None
        with self.attempted() as world:
            self.check_finish(self.quick, world, match_id, lag, worker, fault)

    @precondition(lambda self: self.pick(0, "running") is not None)
    @rule(nth=NTH, lag=st.sampled_from([0, 0, 0, 1]), worker=st.sampled_from([None, None, "w1"]))
    def fail(self, nth: int, lag: int, worker: str | None) -> None:
        match_id = self.pick(nth, "running")
        assert match_id is not None
        with self.attempted() as world:
            self.check_fail(self.quick, world, match_id, lag, worker)

    @rule()
    def reap(self) -> None:
        with self.attempted() as world:
            counts = matches.reap(self.quick)
            lapsed = [
                m
                for m, row in world.rows.items()
                if row.state == "running" and row.is_lapsed and m not in self.touched
            ]
            for match_id in lapsed:
                world.drop(match_id, "lapsed", void=False)
            voided = sum(world.rows[m].state == "void" for m in lapsed)
            assert (counts.requeued, counts.voided) == (len(lapsed) - voided, voided)

    @rule()
    def expire_queued(self) -> None:
        with self.attempted() as world:
            count = matches.expire_queued(self.quick)
            stale = [
                m
                for m, row in world.rows.items()
                if row.state == "queued" and row.is_stale and m not in self.touched
            ]
            for match_id in stale:
                world.drop(match_id, "void", void=True)
            assert count == len(stale)

    @precondition(lambda self: self.world.rows)
    @rule(nth=NTH)
    def void(self, nth: int) -> None:
        match_id = self.pick(nth)
        assert match_id is not None
        with self.attempted() as world:
            is_over = world.rows[match_id].state in ("finished", "void")
            assert matches.void(self.quick, [match_id], "by hand") == (not is_over)
            if not is_over:
                world.drop(match_id, "void", void=True)

    # -- a second connection in the middle of its transaction

    @precondition(lambda self: self.opened is None and self.world.rows)
    @rule(
        nth=NTH,
        act=st.sampled_from(["claim", "finish", "finish", "fail"]),
        worker=st.sampled_from(["w1", "w2"]),
    )
    def open_slow(self, nth: int, act: Literal["claim", "finish", "fail"], worker: str) -> None:
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

    @precondition(lambda self: self.opened is not None)
    @rule(commits=st.booleans())
    def settle_slow(self, commits: bool) -> None:
        assert self.opened is not None
        if commits:
            self.slow.commit()
            for match_id in self.touched:
                self.world.rows[match_id] = self.opened.rows[match_id]
                old = self.opened.rows[match_id].rejudges
                if old is not None:
                    self.world.rows[old] = self.opened.rows[old]
            # Nobody else can have appended meanwhile: the season's row was locked.
            self.world.log += self.opened.log[len(self.world.log) :]
        else:
            self.slow.rollback()
        self.opened, self.touched = None, set()
        self._steady_refusals()

    # -- time and life

    @precondition(lambda self: self.free("running"))
    @rule(nth=NTH)
    def lease_passes(self, nth: int) -> None:
        match_id = self.pick_free(nth, "running")
        self._move("lease_until = now() - interval '1 second'", match_id)
        self.world.rows[match_id].is_lapsed = True

    @precondition(lambda self: self.free("queued"))
    @rule(nth=NTH, what=st.sampled_from(["deadline", "bell", "refusal"]))
    def time_passes(self, nth: int, what: str) -> None:
        match_id = self.pick_free(nth, "queued")
        row = self.world.rows[match_id]
        if what == "deadline":
            self._move("deadline_at = now() - interval '1 second'", match_id)
            row.is_stale = True
        elif what == "bell":
            self._move("rung_at = rung_at - interval '1 hour'", match_id)
            row.is_rung = False
        else:
            self._move("refused_until = now() - interval '1 second'", match_id)
            row.is_refusing = False

    @rule(worker=st.sampled_from(WORKERS), is_live=st.booleans())
    def worker_lives(self, worker: str, is_live: bool) -> None:
        if is_live:
            assert matches.see_worker(self.quick, worker)
            self.set_seen("interval '1 hour'", (worker,))
            self.world.live.add(worker)
        else:
            self.set_seen("interval '-1 hour'", (worker,))
            self.world.live.discard(worker)

    @rule()
    def rate(self) -> None:
        with self.attempted(), self.quick.transaction():
            ratings.apply(self.quick, self.contest.season.id)

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
            (self.contest.season.id,),
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
        season = self.contest.season.id
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
            (self.contest.season.id,),
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
            (self.contest.season.id,),
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
            event("waited for the other connection")
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

    def pick_free(self, nth: int, state: str) -> MatchId:
        fitting = self.free(state)
        return fitting[nth % len(fitting)]

    def set_seen(self, ahead: str, workers: tuple[str, ...]) -> None:
        self.quick.execute(
            f"update workers set seen_at = now() + {ahead} where id = any (%s)", (list(workers),)
        )

    def _move(self, change: str, match_id: MatchId) -> None:
        self.quick.execute(f"update matches set {change} where id = %s", (match_id,))

    def _steady_refusals(self) -> None:
        """A refusal lasts until a rule ends it, however slow this machine is."""
        ids = [m for m in self.free("queued") if self.world.rows[m].is_refusing]
        self.quick.execute(
            "update matches set refused_until = now() + interval '1 hour' where id = any (%s)",
            (ids,),
        )

    def _seat(self, entry: EntryId) -> LineupSeat:
        return self.seats[entry]

    def _active_entry(self) -> EntryId:
        entry = self.contest.pending()
        self.quick.execute(
            "update entries set state = 'active', deadline_at = null where id = %s", (entry,)
        )
        self.seats[entry] = self.contest.seat(entry)
        return entry

    def _scrim(self) -> str:
        scrim = f"scr_{secrets.token_hex(13)}"
        self.quick.execute(
            "insert into scrims (id, season_id, team_id, requested_by, lineup, games)"
            " select %s, %s, id, created_by, '[]', 1 from teams where created_by is not null"
            " limit 1",
            (scrim, self.contest.season.id),
        )
        return scrim


def test_every_order_of_events_leaves_the_rows_as_the_model_says(database_url: str) -> None:
    machine = type("Machine", (LeaseMachine,), {"url": database_url})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=200,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        ),
    )
