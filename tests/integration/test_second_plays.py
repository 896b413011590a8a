"""Second plays of matches of checked machines, and quarantine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import pytest

from games.episode import to_bytes
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.enums import MatchKind
from ladder.ids import MatchId
from ladder.machines import checks, lease_blobs, machines
from ladder.machines.machines import CHECKED, Machine
from ladder.matches import lease, workers
from ladder.matches.records import EpisodeResult, MatchOrder
from ladder.moderation import rejudgements
from ladder.moderation.rejudgements import Predicate
from ladder.people import visibility
from ladder.people.records import Viewer
from tests import simulated_machine
from tests.integration.ladder.contest import Contest, digest, hello
from tests.integration.ladder.test_machine_trust import agreed
from tests.integration.ladder.test_machines import admin as admin
from tests.integration.ladder.test_machines import joined as joined
from tests.integration.test_result_checks import POLICIES
from tests.integration.test_result_checks import blobs as blobs
from tests.integration.test_result_checks import conn as conn
from tests.integration.test_result_checks import contest as contest
from tests.integration.test_result_checks import own as own
from workers import result_checks
from workers.result_checks import check_waiting_reports, compare_second_plays

SEEDS = [bytes([number]) * 16 for number in range(checks.MOST_DIFFERENT + 1)]
"""Agents, seeds and lies decide all moves, so these tests play the same games each time."""
pytestmark = pytest.mark.usefixtures("worker_role")


@dataclass
class Always(Random):
    """Chance that chooses everything."""

    def random(self) -> float:
        return 0.0


@dataclass
class Pond:
    """A checked machine beside a trusted worker."""

    conn: Connection
    own: Connection
    contest: Contest
    blobs: Blobs

    def play(self, match_id: MatchId, *, lie: bool = False) -> MatchOrder:
        """Plays as the machine."""
        order = lease.claim_match(self.own, match_id, "pond-1")
        assert order is not None
        played = simulated_machine.play(order, POLICIES)
        if lie:
            first = [seat.placement for seat in played.seats].index(1)
            played = simulated_machine.play(order, POLICIES, lie=first)
        self.report(self.own, order, "pond-1", played)
        return order

    def play_at_home(self) -> int:
        """Plays everything that waits for trusted workers."""
        rows = self.conn.execute(
            "select id from matches where state = 'queued' and queue = 'scrim' order by id"
        ).fetchall()
        workers.register_worker(self.conn, hello("w1", slots=50))
        for (match_id,) in rows:
            order = lease.claim_match(self.conn, match_id, "w1")
            assert order is not None
            self.report(self.conn, order, "w1", simulated_machine.play(order, POLICIES))
        return len(rows)

    def report(
        self, conn: Connection, order: MatchOrder, worker: str, played: simulated_machine.Played
    ) -> None:
        (machine,) = machines.list_machines(self.conn)
        replay = self.blobs.put_bytes(to_bytes(played.episode))
        for name in (replay.digest, digest("log")):
            lease_blobs.record_upload(self.conn, machine.id, name, 1) if conn is self.own else None
        lease.finish_match(
            conn,
            order.match_id,
            order.attempt,
            worker,
            [replace(seat, log_digest=digest("log")) for seat in played.seats],
            [EpisodeResult(len(played.episode.steps), replay.digest)],
            node=worker,
            image_digest="",
            rules_digest="",
        )

    def check(self) -> None:
        check_waiting_reports(self.conn, self.blobs, lambda: False, lambda: None)
        self.play_at_home()
        compare_second_plays(self.conn, self.blobs, lambda: False, lambda: None)

    def machine(self) -> Machine:
        (found,) = machines.list_machines(self.conn)
        return found


@pytest.fixture
def pond(
    conn: Connection,
    own: Connection,
    contest: Contest,
    blobs: Blobs,
    monkeypatch: pytest.MonkeyPatch,
) -> Pond:
    monkeypatch.setattr(result_checks, "CHANCE", Always())
    workers.register_worker(own, hello("pond-1", queues=("open",)))
    return Pond(conn, own, contest, blobs)


def test_a_match_is_played_again_and_compared(pond: Pond) -> None:
    lineup = agreed(pond.contest)
    pond.play(pond.contest.rated(*lineup, seed=SEEDS[0]))
    pond.check()
    assert (pond.machine().samples, pond.machine().different) == (1, 0)
    pond.play(pond.contest.rated(*lineup, seed=SEEDS[1]), lie=True)
    pond.check()
    assert (pond.machine().samples, pond.machine().different) == (2, 1)
    assert not checks.are_waiting(pond.conn)


def test_other_moves_of_a_lineup_that_is_not_repeatable_do_not_count(pond: Pond) -> None:
    match = pond.contest.rated(*agreed(pond.contest), seed=SEEDS[0])
    pond.play(match, lie=True)
    check_waiting_reports(pond.conn, pond.blobs, lambda: False, lambda: None)
    pond.conn.execute(
        "update matches set seed = %s where id = (select first_match_id from machine_controls)",
        (SEEDS[1],),
    )
    pond.play_at_home()
    assert compare_second_plays(pond.conn, pond.blobs, lambda: False, lambda: None) == 1
    assert (pond.machine().samples, pond.machine().different) == (0, 0)
    assert not checks.are_waiting(pond.conn)


def test_nobody_sees_second_plays(pond: Pond) -> None:
    rated = pond.contest.rated(*agreed(pond.contest), seed=SEEDS[0])
    pond.play(rated)
    pond.check()
    hidden = pond.conn.execute(
        "select id from matches where kind = %s", (MatchKind.SCRIM,)
    ).fetchall()
    assert len(hidden) == 2
    visible, values = visibility.visible_matches(Viewer(user_id=None))
    shown = pond.conn.execute(
        "select m.id from matches m join seasons s on s.id = m.season_id"
        f" left join scrims c on c.id = m.scrim_id where {visible}".encode(),
        values,
    ).fetchall()
    assert not set(hidden) & set(shown)
    assert (rated,) in shown
    assert pond.conn.execute("select count(*) from acceptances").fetchone() == (1,)


def test_trusted_machines_alone_play_second_plays(pond: Pond) -> None:
    pond.play(pond.contest.rated(*agreed(pond.contest), seed=SEEDS[0]))
    check_waiting_reports(pond.conn, pond.blobs, lambda: False, lambda: None)
    rows = pond.conn.execute("select id from matches where kind = 'scrim'").fetchall()
    assert [lease.claim_match(pond.own, match, "pond-1") for (match,) in rows] == [None, None]
    assert pond.play_at_home() == 2


def test_a_liar_goes_into_quarantine_until_it_is_trusted_again(pond: Pond, admin: Viewer) -> None:
    lineup = agreed(pond.contest)
    *lies, last = [pond.contest.rated(*lineup, seed=seed) for seed in SEEDS]
    for match in lies[:-1]:
        pond.play(match, lie=True)
    pond.check()
    assert pond.machine().quarantined_at is None
    pond.play(lies[-1], lie=True)
    pond.check()
    found = pond.machine()
    assert (found.samples, found.different) == (len(lies), len(lies))
    assert found.quarantined_at is not None
    assert lease.claim_match(pond.own, last, "pond-1") is None
    assert pond.conn.execute(
        "select user_id from notices where kind = 'machine_quarantined'"
    ).fetchall() == [(admin.user_id,)]
    suspects = rejudgements.find_suspects(
        pond.conn, pond.contest.season.id, Predicate(machine="POND")
    )
    assert {one.match_id for one in suspects} == set(lies)
    again = machines.trust(pond.conn, admin, "pond", CHECKED)
    assert (again.quarantined_at, again.samples) == (None, 0)
    assert checks.judge_machines(pond.conn) == []
    assert lease.claim_match(pond.own, last, "pond-1") is not None


def test_only_the_latest_compared_matches_count(
    pond: Pond, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "LATEST", 1)
    monkeypatch.setattr(checks, "MOST_DIFFERENT", 1)
    lineup = agreed(pond.contest)
    pond.play(pond.contest.rated(*lineup, seed=SEEDS[0]), lie=True)
    check_waiting_reports(pond.conn, pond.blobs, lambda: False, lambda: None)
    pond.play(pond.contest.rated(*lineup, seed=SEEDS[1]))
    pond.check()
    assert (pond.machine().different, pond.machine().quarantined_at) == (1, None)


def test_second_plays_that_do_not_end_are_given_up(pond: Pond) -> None:
    pond.play(pond.contest.rated(*agreed(pond.contest)))
    check_waiting_reports(pond.conn, pond.blobs, lambda: False, lambda: None)
    pond.conn.execute("update machine_samples set created_at = now() - interval '2 days'")
    assert checks.give_up_second_plays(pond.conn) == 1
    pond.play_at_home()
    assert checks.list_played_again(pond.conn) == []
