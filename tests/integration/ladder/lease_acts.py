"""The acts of the lease machine: each changes the rows and the model in the same way."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from ladder.database.db import Connection
from ladder.entries import remote_agents
from ladder.enums import MatchKind, VoidCause
from ladder.errors import Conflict
from ladder.ids import EntryId, MatchId
from ladder.leagues.records import Season
from ladder.matches import lease, matches, wake_up_messages
from ladder.matches import workers as matches_workers
from ladder.matches.records import AttemptFault, EpisodeResult, FinishResult, LineupSeat
from tests.integration.ladder.contest import digest, results
from tests.integration.ladder.lease_model import FORGIVEN_AFTER, Row, World
from tests.integration.ladder.lease_stage import Stage


class LeaseActs:
    """A running example and its possible acts; asserts that rows and model answer alike.

    An act with a ``world`` changes that model, otherwise the example's own.
    """

    stage: Stage
    season: Season
    seats: dict[EntryId, LineupSeat]
    entries: tuple[EntryId, ...]
    world: World
    opened: World | None  # the model as the open transaction sees it
    touched: set[MatchId]  # the matches that the open transaction has locked

    @property
    def quick(self) -> Connection:
        return self.stage.quick

    @property
    def slow(self) -> Connection:
        return self.stage.slow

    # -- acts that create matches

    def make(self, kind: str, nth: int) -> MatchId | None:
        lineup = (self.entries[nth % 3], self.entries[(nth + 1) % 3])
        if kind == "rated" and self.world.paused & {*lineup}:
            with pytest.raises(Conflict):
                self._make(kind, lineup, None)
            return None
        scrim = self._scrim() if kind == "scrim" else None
        match_id = self._make(kind, lineup, scrim)
        self.world.rows[match_id] = Row(kind, lineup, scrim)
        return match_id

    def rejudge(self, world: World, old: MatchId) -> None:
        if any(r.rejudges == old and r.state != "void" for r in world.rows.values()):
            with pytest.raises(Conflict):
                self._make_rejudge(old)
        else:
            match_id = self._make_rejudge(old)
            world.rows[match_id] = Row("rated", world.rows[old].entries, None, rejudges=old)

    def strike_before(self, strikes: Sequence[int]) -> None:
        """Start with some strikes, two answered matches before one is forgiven."""
        for entry, count in zip(self.entries, strikes, strict=True):
            answered = FORGIVEN_AFTER - 2 if count else 0
            self.quick.execute(
                "update entries set strikes = %s, answered = %s where id = %s",
                (count, answered, entry),
            )
            self.world.strikes[entry], self.world.answered[entry] = count, answered

    def resume(self, world: World) -> None:
        """Try the first paused entry with success, in one transaction."""
        if not world.paused:
            return
        entry = min(world.paused)
        with self.quick.transaction():
            match_id = remote_agents.retry_paused_entry(self.quick, entry).validation_match_id
            assert match_id is not None
            order = lease.claim_match(self.quick, match_id, "w2")
            assert order is not None
            assert self._finish(self.quick, match_id, order.attempt, "w2") is FinishResult.ACCEPTED
        world.resume(entry)

    # -- acts and their effect on the model

    def wake(self, world: World, most: int) -> None:
        for queue, kind in (("play.cpu", "rated"), ("scrim", "scrim")):
            woken = [
                m
                for _, m in wake_up_messages.mark_matches_woken(
                    self.quick, {queue: most}, wake_seconds=600
                )
            ]
            waiting = [
                (match_id, row)
                for match_id, row in sorted(world.rows.items())
                if row.kind == kind and row.state == "queued"
            ]
            out = sum(row.is_woken for _, row in waiting)
            due = [
                match_id
                for match_id, row in waiting
                if not (row.is_woken or row.is_stale or match_id in self.touched)
            ]
            is_served = bool(world.live & {"w1", "w2"})
            assert woken == (due[: max(0, most - out)] if is_served else [])
            for match_id in woken:
                world.rows[match_id].is_woken = world.rows[match_id].has_message = True

    def renew(self, world: World, picked: set[MatchId], lag: int) -> None:
        asked = [(m, world.rows[m].attempt - lag) for m in sorted(picked)]
        held = lease.renew_leases(self.quick, asked)
        assert sorted(held) == [
            (m, a) for m, a in asked if world.rows[m].state == "running" and lag == 0
        ]
        for match_id, _ in held:
            world.rows[match_id].is_lapsed = False

    def reap(self, world: World) -> None:
        counts = lease.reap_lapsed_leases(self.quick)
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
        assert matches.void_matches(self.quick, [match_id], VoidCause.NOT_NEEDED, "by hand") == (
            not is_over
        )
        if not is_over:
            world.drop(match_id, "void", void=True)

    def settle_slow(self, opened: World, commits: bool) -> None:
        if commits:
            self.slow.commit()
            for match_id in self.touched:
                was_over = self.world.rows[match_id].state in ("finished", "void")
                self.world.rows[match_id] = opened.rows[match_id]
                old = opened.rows[match_id].rejudges
                if old is not None:
                    self.world.rows[old] = opened.rows[old]
                if opened.rows[match_id].state in ("finished", "void") and not was_over:
                    # A rated match had its rows locked, so no other transaction counted strikes. A
                    # scrim counts no strikes.
                    is_rated = opened.rows[match_id].kind == "rated"
                    for entry in opened.rows[match_id].entries if is_rated else ():
                        self.world.strikes[entry] = opened.strikes[entry]
                        self.world.answered[entry] = opened.answered[entry]
                        self.world.paused -= {entry} - opened.paused
                        self.world.paused |= {entry} & opened.paused
            # No other transaction appended, because the season's row was locked.
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
        elif what == "wake_lost":
            self._move("woken_at = woken_at - interval '1 hour'", match_id)
            row.is_woken = False
        else:
            self._move("refused_until = now() - interval '1 second'", match_id)
            row.is_refusing = False

    def worker_lives(self, worker: str, is_live: bool) -> None:
        if is_live:
            assert matches_workers.record_heartbeat(self.quick, worker)
            self.set_seen("interval '1 hour'", (worker,))
            self.world.live.add(worker)
        else:
            self.set_seen("interval '-1 hour'", (worker,))
            self.world.live.discard(worker)

    # -- shared by the rules

    def check_claim(self, conn: Connection, world: World, match_id: MatchId, worker: str) -> None:
        order = lease.claim_match(conn, match_id, worker)
        assert (order is not None) == world.claim(match_id, worker)
        if order is not None:
            assert order.attempt == world.rows[match_id].attempt
            assert len(order.digests) == len(order.profiles) == 2

    def check_claim_next(self, world: World, after: MatchId, worker: str) -> None:
        order = lease.claim_next_match(self.quick, after, worker)
        claimed = world.claim_next(self.free("queued"), world.rows[after].kind, worker)
        assert (order and order.match_id) == claimed

    def check_finish(
        self,
        conn: Connection,
        world: World,
        match_id: MatchId,
        lag: int,
        worker: str | None,
        fault: bool,
        answered: tuple[bool, ...] = (True, True),
    ) -> None:
        row = world.rows[match_id]
        attempt = row.attempt - lag
        who = worker or row.worker or "w1"
        verdicts = ["TIMEOUT" if fault else "DONE", "DONE"]
        done = self._finish(conn, match_id, attempt, who, verdicts, answered)
        took = world.finish(match_id, attempt, who, verdicts, answered)
        assert (done is FinishResult.ACCEPTED) == took
        self._rested(conn)

    def check_away(
        self,
        conn: Connection,
        world: World,
        match_id: MatchId,
        lag: int,
        worker: str | None,
        seat: int,
    ) -> None:
        row = world.rows[match_id]
        who = worker or row.worker or "w1"
        holds = row.state == "running" and lag == 0 and who == row.worker
        asked = (match_id, row.attempt - lag, who, {seat: "no connection"})
        if holds and row.kind != "rated":
            with pytest.raises(lease.ProtocolError):
                remote_agents.void_for_unreachable_agents(conn, *asked)
            return
        assert remote_agents.void_for_unreachable_agents(conn, *asked) == holds
        if holds:
            world.drop(match_id, "void", void=True)
            world.strike(row.entries[seat])
            self._rested(conn)

    def _rested(self, conn: Connection) -> None:
        """End the rest of each entry with a strike before the next act."""
        conn.execute("update entries set struck_at = null where struck_at is not null")

    def check_fail(
        self, conn: Connection, world: World, match_id: MatchId, lag: int, worker: str | None
    ) -> None:
        row = world.rows[match_id]
        who = worker or row.worker or "w1"
        took = lease.fail_attempt(
            conn, match_id, row.attempt - lag, who, AttemptFault("host", "it was us")
        )
        holds = row.state == "running" and lag == 0 and who == row.worker
        assert took == holds
        if holds:
            world.drop(match_id, "fault", void=False)

    @contextmanager
    def attempted(self) -> Iterator[World]:
        """The model to change; changes are undone if the slow connection holds the rows."""
        before = self.world
        self.world = before.copy()
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
            f"update workers set live_until = now() + {ahead} where id = any (%s)", (list(workers),)
        )

    def _move(self, change: str, match_id: MatchId) -> None:
        self.quick.execute(f"update matches set {change} where id = %s", (match_id,))

    def _steady_refusals(self) -> None:
        """Make a refusal last until a rule ends it, however slow this machine is."""
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
            return matches.create_match(
                self.quick,
                season=self.season,
                kind=MatchKind.RATED,
                lineup=[self._seat(entry) for entry in self.world.rows[old].entries],
                rejudges=old,
            )

    def _make(self, kind: str, lineup: tuple[EntryId, ...], scrim: str | None) -> MatchId:
        return matches.create_match(
            self.quick,
            season=self.season,
            kind=MatchKind(kind),
            lineup=[self._seat(entry) for entry in lineup],
            scrim_id=scrim,  # type: ignore[arg-type]
        )

    @staticmethod
    def _finish(
        conn: Connection,
        match_id: MatchId,
        attempt: int,
        worker: str,
        verdicts: Sequence[str] = ("DONE", "DONE"),
        answered: tuple[bool, ...] = (True, True),
    ) -> FinishResult:
        told = results([2, 1], verdicts)
        return lease.finish_match(
            conn,
            match_id,
            attempt,
            worker,
            [replace(each, answered=has) for each, has in zip(told, answered, strict=True)],
            [EpisodeResult(3, digest("replay"))],
            node="node",
            image_digest="image",
            rules_digest="rules",
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
