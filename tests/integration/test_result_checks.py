"""Results of machines that are not trusted count once their replays gave them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from games.episode import to_bytes
from ladder.database import db
from ladder.database.blobs import Blobs, open_blobs
from ladder.database.db import Connection
from ladder.ids import MatchId
from ladder.machines import checks, lease_blobs, machines
from ladder.matches import history, lease
from ladder.matches.records import AttemptFault, EpisodeResult, FinishResult, MatchOrder
from services.scheduler.wake_messages import WakeMessages
from tests import simulated_machine
from tests.integration.ladder.contest import Contest, digest, make_contest
from tests.integration.ladder.test_hostile_machines import own as own
from tests.integration.ladder.test_machine_trust import agreed
from tests.integration.ladder.test_machines import admin as admin
from tests.integration.ladder.test_machines import joined as joined
from tests.simulated_machine import Played
from workers import tasks

pytestmark = pytest.mark.usefixtures("worker_role")
POLICIES = [simulated_machine.careful(skill) for skill in (1.0, 0.8, 0.6, 0.4)]


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def contest(conn: Connection) -> Contest:
    game = simulated_machine.GAME
    made = make_contest(conn)
    conn.execute(
        "update seasons set configuration = %s, clock = %s",
        (Jsonb(game.configure({})), Jsonb(dict(game.clock))),
    )
    return made


@pytest.fixture
def blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str) -> Blobs:
    made = open_blobs((tmp_path / "blobs").as_uri())
    monkeypatch.setattr(tasks, "blobs", made)
    monkeypatch.setattr(tasks, "database_url", database_url)
    return made


def claimed(own: Connection, contest: Contest) -> MatchOrder:
    order = lease.claim_match(own, contest.rated(*agreed(contest)), "pond-1")
    assert order is not None
    return order


def report(
    own: Connection, conn: Connection, blobs: Blobs, order: MatchOrder, played: Played
) -> None:
    """Finishes the match as the machine."""
    (machine,) = machines.list_machines(conn)
    replay = blobs.put_bytes(to_bytes(played.episode))
    for name in (replay.digest, digest("log")):
        lease_blobs.record_upload(conn, machine.id, name, 1)
    ended = lease.finish_match(
        own,
        order.match_id,
        order.attempt,
        "pond-1",
        [replace(seat, log_digest=digest("log")) for seat in played.seats],
        [EpisodeResult(len(played.episode.steps), replay.digest)],
        node="pond",
        image_digest="",
        rules_digest="",
    )
    assert ended is FinishResult.ACCEPTED


def state(conn: Connection, match: MatchId) -> str:
    return str(history.get_match(conn, match).state)


def test_a_result_counts_after_its_check(
    conn: Connection, contest: Contest, blobs: Blobs, own: Connection
) -> None:
    order = claimed(own, contest)
    played = simulated_machine.play(order, POLICIES)
    report(own, conn, blobs, order, played)
    assert state(conn, order.match_id) == "running"
    assert WakeMessages(lambda *_: None).send_rate_messages(conn) == {"raters_woken": 1}
    # The machine can no longer give it back, keep it or report another result.
    assert not lease.fail_attempt(
        own, order.match_id, order.attempt, "pond-1", AttemptFault("host", "x")
    )
    assert lease.renew_leases(own, [(order.match_id, order.attempt)]) == []
    tasks.rate_seasons("test")
    found = history.get_match(conn, order.match_id)
    assert found.state == "finished"
    assert [seat.placement for seat in found.seats] == [seat.placement for seat in played.seats]
    assert found.seats[0].mu_after is not None
    assert conn.execute(
        "select machine_id is not null from attempts where machine_id is not null"
    ).fetchall() == [(True,)]
    assert not checks.are_waiting(conn)


def flipped(played: Played) -> Played:
    """The seats without the replay: the first seat claims the first place."""
    first, *others = played.seats
    return replace(played, seats=(replace(first, placement=1, reward=1e6), *others))


def other_chance(played: Played) -> Played:
    """Food of its own, which the outcome fits."""
    steps = played.episode.steps
    changed = replace(steps[0], chance={"food": []} if steps[0].chance["food"] else {"food": [3]})
    return replace(played, episode=replace(played.episode, steps=(changed, *steps[1:])))


def stretched(played: Played) -> Played:
    """More charged time than the replay has, by more than the bank."""
    first, *others = played.seats
    return replace(played, seats=(replace(first, charged_seconds=1000.0), *others))


def of_another_season(played: Played) -> Played:
    configuration = {**played.episode.configuration, "hunger_rate": 1}
    return replace(played, episode=replace(played.episode, configuration=configuration))


@pytest.mark.parametrize(
    "lie",
    [flipped, other_chance, stretched, of_another_season],
    ids=lambda one: one.__name__,
)
def test_a_result_that_its_replay_does_not_give_is_played_again_by_a_trusted_machine(
    conn: Connection,
    contest: Contest,
    blobs: Blobs,
    own: Connection,
    lie: Callable[[Played], Played],
) -> None:
    order = claimed(own, contest)
    report(own, conn, blobs, order, lie(simulated_machine.play(order, POLICIES)))
    tasks.rate_seasons("test")
    assert state(conn, order.match_id) == "queued"
    (machine,) = machines.list_machines(conn)
    assert machine.mismatches == 1
    assert conn.execute("select sum(faults) from entries").fetchone() == (0,)
    assert lease.claim_match(own, order.match_id, "pond-1") is None
    contest.play(order.match_id, [1, 2, 3, 4])
    assert state(conn, order.match_id) == "finished"


def test_a_result_that_nobody_checks_is_lost(
    conn: Connection, contest: Contest, blobs: Blobs, own: Connection
) -> None:
    order = claimed(own, contest)
    report(own, conn, blobs, order, simulated_machine.play(order, POLICIES))
    conn.execute("update matches set lease_until = now() - interval '1 s' where state = 'running'")
    assert lease.reap_lapsed_leases(conn).requeued == 1
    assert not checks.are_waiting(conn)
    assert state(conn, order.match_id) == "queued"


MALFORMED: dict[str, tuple[str, dict[str, object]]] = {
    "a reward of 400 digits": ("seats", {"reward": 10**400}),
    "a charge of 400 digits": ("seats", {"charged_seconds": 10**400}),
    "a charge that is no number": ("seats", {"charged_seconds": []}),
    "a failed step of a half": ("seats", {"failed_step": 0.5}),
    "a seat without a number": ("seats", {"seat": None}),
    "a refusal that is no yes or no": ("seats", {"bundle_refused": "perhaps"}),
    "an episode without a name": ("episodes", {"id": None}),
    "a position of 1e300": ("episodes", {"position": 1e300}),
    "steps in a list": ("episodes", {"steps": [1]}),
    "a replay named by a number": ("episodes", {"replay_digest": 5}),
}


@pytest.mark.parametrize(("column", "change"), MALFORMED.values(), ids=MALFORMED)
def test_no_form_of_a_report_stops_the_raters(
    conn: Connection,
    contest: Contest,
    blobs: Blobs,
    own: Connection,
    column: str,
    change: dict[str, object],
) -> None:
    order = claimed(own, contest)
    report(own, conn, blobs, order, simulated_machine.play(order, POLICIES))
    conn.execute(
        sql.SQL("update machine_reports set {0} = jsonb_set({0}, '{{0}}', {0} -> 0 || %s)").format(
            sql.Identifier(column)
        ),
        (Jsonb(change),),
    )
    tasks.rate_seasons("test")
    assert state(conn, order.match_id) == "queued"
    assert not checks.are_waiting(conn)
    (machine,) = machines.list_machines(conn)
    assert machine.mismatches == 1
