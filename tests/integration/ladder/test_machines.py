"""Machines that join: credentials, what they may do with them, drain and revocation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import remote_agents
from ladder.enums import MachineTier
from ladder.errors import Conflict, NotFound
from ladder.ids import MatchId
from ladder.machines import lease_blobs, machines
from ladder.machines.machines import Machine, MachineTrust
from ladder.matches import history, lease, wake_up_messages, workers
from ladder.matches.records import AttemptFault, FinishResult
from ladder.people import users
from ladder.people.records import Viewer
from tests.integration.ladder.contest import Contest, digest, hello
from tests.servers import with_login

pytestmark = pytest.mark.usefixtures("worker_role")


@pytest.fixture
def admin(conn: Connection) -> Viewer:
    found = users.viewer_of_user(conn, users.create_user(conn, "root", is_admin=True).id)
    assert found is not None
    return found


@pytest.fixture
def joined(conn: Connection, admin: Viewer) -> Iterator[tuple[Machine, str]]:
    invitation = machines.invite(conn, admin, MachineTrust(tier=MachineTier.TRUSTED))
    made = machines.join(conn, invitation.code, "pond")
    yield made
    drop_role(conn, made[0])


def drop_role(conn: Connection, machine: Machine) -> None:
    """Roles belong to the server, which tests share."""
    conn.execute(f"drop role if exists {machine.login}".encode())


@contextmanager
def login(database_url: str, joined: tuple[Machine, str]) -> Iterator[Connection]:
    """A connection with the machine's credentials."""
    machine, secret = joined
    with psycopg.connect(with_login(database_url, machine.login, secret), autocommit=True) as conn:
        yield conn


def queued(conn: Connection, contest: Contest) -> MatchId:
    return contest.rated(*(contest.active() for _ in range(4)))


def test_a_code_acts_once(conn: Connection, admin: Viewer) -> None:
    invitation = machines.invite(conn, admin)
    code = invitation.code
    assert invitation.expires_at - invitation.created_at == timedelta(hours=24)
    assert [each.id for each in machines.list_invitations(conn)] == [invitation.id]
    machine, _ = machines.join(conn, code, "pond")
    assert machines.list_invitations(conn) == []
    for wrong in (code, "", code[:-1]):
        with pytest.raises(NotFound):
            machines.join(conn, wrong, "lake")
    second = machines.invite(conn, admin).code
    with pytest.raises(Conflict, match="name"):
        machines.join(conn, second, "POND")
    assert [each.id for each in machines.list_machines(conn)] == [machine.id]
    drop_role(conn, machine)


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_code_that_ended_joins_nothing(conn: Connection, admin: Viewer, end: str) -> None:
    invitation = machines.invite(conn, admin)
    if end == "revoked":
        machines.revoke_invitation(conn, admin, invitation.id)
        with pytest.raises(NotFound):
            machines.revoke_invitation(conn, admin, invitation.id)
    else:
        conn.execute("update machine_invitations set expires_at = now() - interval '1 s'")
    with pytest.raises(NotFound):
        machines.join(conn, invitation.code, "pond")


def test_a_machine_plays_with_its_own_login(
    conn: Connection, contest: Contest, database_url: str, joined: tuple[Machine, str]
) -> None:
    match_id = queued(conn, contest)
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("pond-1"))
        assert workers.record_heartbeat(own, "pond-1")
        order = lease.claim_match(own, match_id, "pond-1")
        assert order is not None
        assert lease.renew_leases(own, [(match_id, order.attempt)]) == [(match_id, order.attempt)]
        (machine,) = machines.list_machines(conn)
        assert (machine.slots, machine.running) == (hello("pond-1").slots, 1)
        with pytest.raises(lease.ProtocolError, match="did not store"):
            contest.finish(match_id, order.attempt, [1, 2, 3, 4], worker="pond-1", conn=own)
        for text in ("replay", *(f"log {seat}" for seat in range(4))):
            lease_blobs.record_upload(conn, machine.id, digest(text), 1)
        ended = contest.finish(match_id, order.attempt, [1, 2, 3, 4], worker="pond-1", conn=own)
        assert ended is FinishResult.ACCEPTED


def test_a_machine_acts_for_no_other_worker(
    conn: Connection, contest: Contest, database_url: str, joined: tuple[Machine, str]
) -> None:
    match_id = queued(conn, contest)
    order = contest.claim(match_id)
    worker = "w1"
    with login(database_url, joined) as own:
        assert lease.renew_leases(own, [(match_id, order.attempt)]) == []
        for attempt in (
            lambda: workers.register_worker(own, hello(worker)),
            lambda: workers.record_heartbeat(own, worker),
            lambda: lease.claim_match(own, match_id, worker),
            lambda: lease.fail_attempt(
                own, match_id, order.attempt, worker, AttemptFault("host", "a lie")
            ),
        ):
            with pytest.raises((psycopg.Error, lease.ProtocolError), match="another machine"):
                attempt()
        for query in (
            "select * from users", "select * from matches", "select * from machines",
            "select digest from submissions", "select * from workers",
            f"update machines set drained_at = null where id = '{joined[0].id}'",
            "create table mine ()",
            "select lease_machine()",
            f"select lease_void(array['{match_id}'], 'not_needed', 'a lie')",
            f"set session authorization {db.WORKER_ROLE}", "create role other",
        ):  # fmt: skip
            with pytest.raises(psycopg.Error, match=r"permission denied|must be|has no privilege"):
                own.execute(query.encode())
    row = conn.execute("select worker from matches where id = %s", (match_id,)).fetchone()
    assert row == (worker,)


def test_a_machine_locks_no_match_that_it_does_not_hold(
    conn: Connection, contest: Contest, database_url: str, joined: tuple[Machine, str]
) -> None:
    match_id = queued(conn, contest)
    order = contest.claim(match_id)
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("pond-1"))
        with own.transaction():
            assert lease.renew_leases(own, [(match_id, order.attempt)]) == []
            assert lease.claim_match(own, match_id, "pond-1") is None
            late = contest.finish(match_id, order.attempt, [1, 2, 3, 4], worker="pond-1", conn=own)
            assert late is FinishResult.LATE
            told = (match_id, order.attempt, "pond-1", {0: "no connection"})
            assert not remote_agents.void_for_unreachable_agents(own, *told)
            locked = conn.execute(
                "select id from matches where id = %s for update nowait", (match_id,)
            ).fetchone()
    assert locked == (match_id,)


def test_a_machine_renews_a_limited_number_of_leases(
    database_url: str, joined: tuple[Machine, str]
) -> None:
    asked = [(MatchId(f"mat_{number}"), 1) for number in range(1001)]
    with login(database_url, joined) as own:
        assert lease.renew_leases(own, asked[:1000]) == []
        with pytest.raises(psycopg.Error, match="more than 1000 leases"):
            lease.renew_leases(own, asked)


@pytest.mark.parametrize(("tier", "most"), [("checked", 500), ("trusted", 5000)])
def test_a_machine_registers_a_limited_number_of_workers(
    conn: Connection, database_url: str, joined: tuple[Machine, str], tier: str, most: int
) -> None:
    conn.execute("update machines set tier = %s where id = %s", (tier, joined[0].id))
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("w1"))
        conn.execute(
            "insert into workers select (jsonb_populate_record(w, jsonb_build_object("
            "'id', 'w' || n, 'live_until', '-infinity'))).*"
            " from workers w, generate_series(2, %s) as n",
            (most - 1,),
        )
        workers.register_worker(own, hello("last"))
        with pytest.raises(psycopg.Error, match=f"registered {most} workers in a day"):
            workers.register_worker(own, hello("one more"))
        workers.register_worker(own, hello("last"))


def test_a_drained_machine_claims_nothing(
    conn: Connection,
    contest: Contest,
    database_url: str,
    joined: tuple[Machine, str],
    admin: Viewer,
) -> None:
    match_id = queued(conn, contest)
    machines.drain(conn, admin, "pond", is_drained=True)
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("pond-1"))
        assert lease.claim_match(own, match_id, "pond-1") is None
        assert "pond-1" not in {one.id for one in workers.live_workers(conn)}
        machines.drain(conn, admin, "pond", is_drained=False)
        assert lease.claim_match(own, match_id, "pond-1") is not None


def test_a_machine_holds_as_many_matches_as_it_may_offer_slots(
    conn: Connection, contest: Contest, database_url: str, joined: tuple[Machine, str]
) -> None:
    lineup = [contest.active() for _ in range(4)]
    first, last, more = (contest.rated(*lineup) for _ in range(3))
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("w-own", slots=256))
        with pytest.raises(psycopg.Error, match="more than 256 slots"):
            workers.register_worker(own, hello("w-more", slots=1))
        assert lease.claim_match(own, first, "w-own") is not None
        conn.execute(
            "insert into matches select (jsonb_populate_record(m, jsonb_build_object("
            "'id', 'mat_copy' || n))).* from matches m, generate_series(1, 254) as n where id = %s",
            (first,),
        )
        assert machines.list_machines(conn)[0].running == 255
        assert lease.claim_match(own, last, "w-own") is not None
        assert lease.claim_match(own, more, "w-own") is None
        assert lease.fail_attempt(own, first, 1, "w-own", AttemptFault("host", "it was us"))
        assert lease.claim_match(own, more, "w-own") is not None


def test_a_renewal_reads_only_its_matches(
    conn: Connection, contest: Contest, database_url: str, joined: tuple[Machine, str]
) -> None:
    match_id = queued(conn, contest)
    conn.execute(
        "insert into matches select (jsonb_populate_record(m, jsonb_build_object("
        "'id', 'mat_copy' || n))).* from matches m, generate_series(1, 2000) as n where id = %s",
        (match_id,),
    )
    conn.execute("vacuum analyze matches")
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("w-own"))
        assert lease.claim_match(own, match_id, "w-own") is not None
        # This renewal makes the plan, while Postgres expects no running match.
        assert lease.renew_leases(own, [(match_id, 1)]) == [(match_id, 1)]
        conn.execute(
            "update matches set state = 'running', attempt = 1, worker = 'w', claimed_at = now(),"
            " lease_until = now() + interval '1 hour' where id like 'mat_copy%'"
        )
        with own.transaction():
            before = rows_read(own, "matches")
            assert lease.renew_leases(own, [(match_id, 1)]) == [(match_id, 1)]
            assert rows_read(own, "matches") - before < 50


def test_a_call_reads_one_of_many_machines(
    conn: Connection, database_url: str, joined: tuple[Machine, str]
) -> None:
    conn.execute(
        "insert into machines select (jsonb_populate_record(m, jsonb_build_object("
        "'id', 'mac_' || n, 'name', n, 'login', 'peck_machine_' || n, 'secret_hash', n))).*"
        " from machines m, generate_series(1, 2000) as n"
    )
    # Its row moves behind the others, so a scan would meet them first.
    conn.execute("update machines set judged_from = now() where id = %s", (joined[0].id,))
    conn.execute("vacuum analyze machines")
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("w-own"))
        with own.transaction():
            before = rows_read(own, "machines")
            assert workers.record_heartbeat(own, "w-own")
            assert rows_read(own, "machines") - before < 50


def rows_read(conn: Connection, table: str) -> int:
    """Rows of a table and entries of its indexes that this transaction read."""
    row = conn.execute(
        "with parts as (select %s::regclass::oid as oid"
        " union select inhrelid from pg_inherits where inhparent = %s::regclass)"
        " select sum(pg_stat_get_xact_tuples_returned(oid)) from (select oid from parts"
        " union select indexrelid from pg_index where indrelid in (select oid from parts)) as r",
        (table, table),
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_workers_of_a_revoked_machine_are_not_live(
    conn: Connection, contest: Contest, database_url: str, joined: tuple[Machine, str]
) -> None:
    queued(conn, contest)
    conn.execute("delete from workers")
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("pond-1"))
    assert [worker.id for worker in workers.live_workers(conn)] == ["pond-1"]
    conn.execute("update machines set revoked_at = now() where id = %s", (joined[0].id,))
    assert workers.live_workers(conn) == []
    assert wake_up_messages.mark_matches_woken(conn, {"play.cpu": 9}) == []


def test_a_revoked_machine_loses_leases_and_connections_at_once(
    conn: Connection,
    contest: Contest,
    database_url: str,
    joined: tuple[Machine, str],
    admin: Viewer,
) -> None:
    match_id = queued(conn, contest)
    with login(database_url, joined) as own:
        workers.register_worker(own, hello("pond-1"))
        assert lease.claim_match(own, match_id, "pond-1") is not None
        assert machines.revoke(conn, admin, "pond").matches == [match_id]
        with pytest.raises(psycopg.OperationalError):
            own.execute("select 1")
    assert history.get_match(conn, match_id).state == "queued"
    with pytest.raises(psycopg.OperationalError), login(database_url, joined):
        pass
    assert machines.machine_of_secret(conn, joined[1]) is None
    assert machines.list_machines(conn) == []
    with pytest.raises(NotFound):
        machines.revoke(conn, admin, "pond")
    with pytest.raises(Conflict, match="already"):
        machines.revoke(conn, admin, joined[0].id)
