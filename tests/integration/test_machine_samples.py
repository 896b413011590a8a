"""Second plays and canaries of machines that are not trusted, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import pytest

from benchmarks import simulated_machine
from games.episode import to_bytes
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.enums import MachineTier
from ladder.ids import MatchId
from ladder.machines import lease_blobs, machines, residuals, samples
from ladder.machines.machines import Machine
from ladder.matches import history, lease, wake_up_messages, workers
from ladder.matches.records import EpisodeResult, MatchOrder
from ladder.moderation import result_search
from ladder.moderation.result_search import Predicate
from ladder.people import visibility
from ladder.people.records import Viewer
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
from workers.result_checks import check_waiting_reports
from workers.sample_comparison import compare_waiting

SEEDS = [bytes([number]) * 16 for number in range(4)]
"""Agents, seeds and lies decide all moves, so these tests play the same games each time."""
pytestmark = pytest.mark.usefixtures("worker_role")


@dataclass
class Always(Random):
    """Chance that chooses everything."""

    def random(self) -> float:
        return 0.0


@dataclass
class Pond:
    """A volunteer's machine beside a trusted worker."""

    conn: Connection
    own: Connection
    contest: Contest
    blobs: Blobs

    def play(self, match_id: MatchId, *, lie: bool = False, slowness: float = 1.0) -> MatchOrder:
        """Plays as the machine."""
        order = lease.claim_match(self.own, match_id, "pond-1")
        assert order is not None
        played = simulated_machine.play(order, POLICIES, speed=slowness)
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
        workers.register_worker(self.conn, hello("w1", speed=1.0, slots=50))
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
        for _ in range(2):  # controls first, then their samples
            compare_waiting(self.conn, self.blobs, lambda: False, lambda: None)

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
    workers.register_worker(own, hello("pond-1", queues=("open",), speed=0.5))
    return Pond(conn, own, contest, blobs)


def test_a_match_is_played_again_and_compared(pond: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    lineup = agreed(pond.contest)
    pond.play(pond.contest.rated(*lineup, seed=SEEDS[0]), slowness=2.0)
    pond.check()
    found = pond.machine()
    assert (found.samples, found.different) == (1, 0)
    assert found.time_ratio == pytest.approx(1.0, abs=0.35)  # twice the time at half the speed
    pond.play(pond.contest.rated(*lineup, seed=SEEDS[1]), lie=True)
    pond.check()
    assert (pond.machine().samples, pond.machine().different) == (2, 1)
    with monkeypatch.context() as patch:
        patch.setattr(residuals, "LATEST", 1)
        (latest,) = residuals.read_evidence(pond.conn)
    assert (latest.samples, latest.different, latest.log_time_ratios) == (1, 1, [])
    pond.play(pond.contest.rated(*lineup, seed=SEEDS[2]), slowness=0.0)
    pond.check()
    ratio = pond.machine().time_ratio
    assert ratio is not None
    assert ratio < 0.2, "no charged time is compared too"


def test_nobody_sees_controls_and_a_canary_looks_like_a_rated_match(
    pond: Pond, admin: Viewer
) -> None:
    lineup = agreed(pond.contest)
    pond.play(pond.contest.rated(*lineup, seed=SEEDS[0]))
    pond.check()  # makes the control of a canary
    pond.play(pond.contest.rated(*lineup, seed=SEEDS[1]))
    pond.check()
    (canary,) = [match for _, match in wake_up_messages.mark_matches_woken(pond.conn, {"open": 9})]
    assert lease.claim_match(pond.conn, canary, "w1") is None  # a trusted worker
    rated = pond.contest.rated(*lineup)
    usual = lease.claim_match(pond.own, rated, "pond-1")
    order = pond.play(canary)
    assert usual is not None
    assert (order.kind, order.excused_seats, order.attempt) == (
        usual.kind, usual.excused_seats, usual.attempt,
    )  # fmt: skip
    assert order.digests == usual.digests
    pond.check()
    assert history.get_match(pond.conn, canary).state == "finished"
    assert pond.machine().different == 0
    assert samples.queue_canary(pond.conn, pond.contest.season, Random(1)) is None  # it had it
    hidden = pond.conn.execute("select id from matches where kind = 'scrim'").fetchall()
    assert len(hidden) >= 4
    owner = Viewer(user_id=None)
    seen, values = visibility.visible_matches(owner)
    shown = pond.conn.execute(
        "select m.id from matches m join seasons s on s.id = m.season_id"
        f" left join scrims c on c.id = m.scrim_id where {seen}".encode(),
        values,
    ).fetchall()
    assert not set(hidden) & set(shown)
    assert {match for (match,) in shown} >= {rated}
    assert pond.conn.execute("select count(*) from acceptances").fetchone() == (2,)


def test_a_liar_goes_into_quarantine_until_it_is_trusted_again(pond: Pond, admin: Viewer) -> None:
    lineup = agreed(pond.contest)
    played = [pond.contest.rated(*lineup, seed=seed) for seed in SEEDS]
    for match in played[:3]:
        pond.play(match, lie=True)
    pond.check()
    found = pond.machine()
    assert (found.samples, found.different) == (3, 3)
    assert found.quarantined_at is not None
    assert lease.claim_match(pond.own, played[3], "pond-1") is None
    assert pond.conn.execute(
        "select user_id from notices where kind = 'machine_quarantined'"
    ).fetchall() == [(admin.user_id,)]
    suspects = result_search.find_suspects(
        pond.conn, pond.contest.season.id, Predicate(machine="POND")
    )
    assert {one.match_id for one in suspects} == set(played[:3])
    again = machines.trust(pond.conn, admin, "pond", MachineTier.VOLUNTEER)
    assert (again.quarantined_at, again.samples) == (None, 0)
    assert residuals.judge_machines(pond.conn) == []
    assert lease.claim_match(pond.own, played[3], "pond-1") is not None


def test_samples_that_do_not_end_are_given_up(pond: Pond) -> None:
    pond.play(pond.contest.rated(*agreed(pond.contest)))
    check_waiting_reports(pond.conn, pond.blobs, lambda: False, lambda: None)
    pond.conn.execute("update machine_samples set created_at = now() - interval '2 days'")
    pond.conn.execute("update machine_controls set created_at = now() - interval '2 days'")
    assert samples.give_up_samples(pond.conn) == 3
    assert samples.waiting_samples(pond.conn) == []
