"""What a machine tries with its login in Postgres beyond its lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.errors import Conflict, LadderError
from ladder.machines import lease_blobs, machines
from ladder.machines.connections import with_login
from ladder.machines.machines import CHECKED, Machine
from ladder.matches import lease, workers
from ladder.matches.records import AttemptFault, EpisodeResult, MatchOrder
from ladder.people.records import Viewer
from services.scheduler.leader import LEADER_LOCK
from tests.integration.ladder.contest import Contest, digest, hello, results
from tests.integration.ladder.test_machine_trust import agreed
from tests.integration.ladder.test_machines import admin as admin
from tests.integration.ladder.test_machines import joined as joined
from tests.integration.ladder.test_machines import login
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("worker_role")


@pytest.fixture
def own(
    conn: Connection, database_url: str, joined: tuple[Machine, str], admin: Viewer
) -> Iterator[Connection]:
    """The connection of a checked machine with one worker."""
    machines.trust(conn, admin, "pond", CHECKED)
    with login(database_url, joined) as connection:
        workers.register_worker(connection, hello("pond-1", queues=("open",)))
        yield connection


@pytest.fixture
def order(own: Connection, contest: Contest) -> MatchOrder:
    """A match that the machine holds."""
    found = lease.claim_match(own, contest.rated(*agreed(contest)), "pond-1")
    assert found is not None
    return found


def is_refused(act: Callable[[], Any]) -> bool:
    try:
        act()
    except (psycopg.Error, LadderError):
        return True
    return False


def test_a_machine_can_neither_lock_nor_flood_nor_mislead(
    conn: Connection,
    own: Connection,
    order: MatchOrder,
    joined: tuple[Machine, str],
) -> None:
    for name in ("replay", *(f"log {seat}" for seat in range(4))):
        lease_blobs.record_upload(conn, joined[0].id, digest(name), 1)

    def register(**changes: Any) -> Callable[[], None]:
        return lambda: workers.register_worker(own, hello("pond-2", **changes))

    def finish(**changes: Any) -> Callable[[], Any]:
        seats = [replace(seat, **changes) for seat in results([1, 2, 3, 4])]
        return lambda: lease.finish_match(
            own, order.match_id, order.attempt, "pond-1", seats,
            [EpisodeResult(42, digest("replay"))], node="", image_digest="", rules_digest="",
        )  # fmt: skip

    def sql(query: str) -> Callable[[], Any]:
        return lambda: own.execute(query.encode())

    attacks = {
        "takes the lead of the scheduler": sql(f"select pg_advisory_lock({LEADER_LOCK})"),
        "tries a lock": sql("select pg_try_advisory_xact_lock(1, 2)"),
        "shares a lock": sql("select pg_advisory_lock_shared(1)"),
        "makes a large object": sql("select lo_creat(-1)"),
        "fills a large object": sql("select lo_from_bytea(0, 'x')"),
        "fills the log of changes": sql("select pg_logical_emit_message(false, 'x', 'x')"),
        "reads passwords": sql("select * from pg_authid"),
        "runs a program": sql("copy (select 1) to program 'true'"),
        "becomes a worker of the site": sql(f"set role {db.WORKER_ROLE}"),
        "changes the password of workers": sql(f"alter role {db.WORKER_ROLE} password 'x'"),
        "opens the role of machines": sql(f"alter role {db.MACHINE_ROLE} login"),
        "raises its connections": sql(f"alter role {joined[0].login} connection limit 1000"),
        "offers fewer slots than none": register(slots=-1000),
        "offers no slot": register(slots=0),
        "lets the scheduler ask for many queues": register(queues=[f"q{n}" for n in range(3000)]),
        "serves the raters": register(queues=("open", "rate")),
        "has very many GPUs": register(gpu=10**6),
        "turns the text around": register(lacks=("\u202egpj",)),
        "reports a long reason": finish(reason="x" * 60_000),
        "reports control characters": finish(reason="\x1b[2J"),
        "reports a second line": finish(reason="a\nb"),
        "reports large statistics": finish(statistics={"x" * 60_000: 1.0}),
        "reports an unknown fault": sql(
            f"select lease_fail('{order.match_id}', {order.attempt}, 'pond-1', 'agent', null, 'x')"
        ),
    }
    assert [name for name, act in attacks.items() if not is_refused(act)] == []
    assert finish(reason='It raised: "C:\\new"')() == "accepted"
    print(f"{len(attacks)} attempts, all refused")


def test_the_detail_of_a_fault_has_no_control_characters(
    conn: Connection, own: Connection, order: MatchOrder
) -> None:
    match, detail = order.match_id, "a\x1b[2J\nb\u202ec"
    assert lease.fail_attempt(own, match, order.attempt, "pond-1", AttemptFault("host", detail))
    row = conn.execute("select detail from attempts where match_id = %s", (match,)).fetchone()
    assert row == ("a [2J b c",)


def test_a_machine_that_is_not_trusted_holds_a_match_for_hours_at_most(
    conn: Connection, own: Connection, order: MatchOrder
) -> None:
    held = [(order.match_id, order.attempt)]
    assert lease.renew_leases(own, held) == held
    conn.execute(
        "update matches set claimed_at = now() - interval '7 hours' where id = %s",
        (order.match_id,),
    )
    assert lease.renew_leases(own, held) == []


def test_a_transaction_of_a_machine_ends(
    conn: Connection, own: Connection, order: MatchOrder
) -> None:
    """It holds the rows of four entries, so that none of their matches could end."""
    match = order.match_id
    own.execute("set idle_in_transaction_session_timeout = 0")
    own.execute("begin")
    assert lease.fail_attempt(own, match, order.attempt, "pond-1", AttemptFault("host", "x"))
    locking = b"select id from entries where in_flight > 0 for update nowait"
    with pytest.raises(psycopg.errors.LockNotAvailable):
        conn.execute(locking)
    assert machines.end_held_sessions(conn) == []
    assert len(machines.end_held_sessions(conn, longest_seconds=0.0)) == 1
    with pytest.raises(psycopg.OperationalError):
        own.execute("select 1")
    assert len(conn.execute(locking).fetchall()) == 4


def sort_in_files(own: Connection) -> None:
    """Sorts about 100 MB in temporary files."""
    own.execute("set work_mem = '64kB'")
    own.execute(
        "select count(*) from (select n from generate_series(1, 5000000) n order by -n offset 0) s"
    )


def test_temporary_files_of_a_machine_are_limited(conn: Connection, own: Connection) -> None:
    before = temporary_bytes(conn)
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
        sort_in_files(own)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        own.execute("set temp_file_limit = -1")
    with own.transaction(), own.cursor() as cursor:
        cursor.execute(
            "declare kept cursor with hold for select 'kept' || n from generate_series(1, 100000) n"
        )
    assert 0 < temporary_bytes(conn) - before <= 16 << 20


def temporary_bytes(conn: Connection) -> int:
    """Size of the temporary files of all sessions."""
    row = conn.execute("select coalesce(sum(size), 0)::bigint from pg_ls_tmpdir()").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("role", [db.WORKER_ROLE, db.NOTIFIER_ROLE])
def test_temporary_files_of_a_lesser_role_are_limited(
    conn: Connection, database_url: str, role: str
) -> None:
    db.set_login(conn, role, "secret")
    with (
        psycopg.connect(with_login(database_url, role, "secret"), autocommit=True) as lesser,
        pytest.raises(psycopg.errors.ConfigurationLimitExceeded),
    ):
        sort_in_files(lesser)


def test_a_machine_opens_forty_connections(database_url: str, joined: tuple[Machine, str]) -> None:
    with ExitStack() as opened:
        for _ in range(machines.MOST_CONNECTIONS):
            opened.enter_context(login(database_url, joined))
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            opened.enter_context(login(database_url, joined))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[Machine, str]:
    """A machine whose statements and pauses may last one second."""
    monkeypatch.setattr(machines, "STATEMENT_SECONDS", 1)
    made: tuple[Machine, str] = request.getfixturevalue("joined")
    return made


def test_a_statement_of_a_machine_ends(database_url: str, hasty: tuple[Machine, str]) -> None:
    with login(database_url, hasty) as own, pytest.raises(psycopg.errors.QueryCanceled):
        own.execute("select pg_sleep(60)")


def test_a_pause_of_a_machine_within_a_transaction_ends(
    conn: Connection, database_url: str, hasty: tuple[Machine, str]
) -> None:
    with login(database_url, hasty) as own:
        own.execute("begin")
        wait_until(
            lambda: (
                conn.execute(
                    "select from pg_stat_activity where usename = %s", (hasty[0].login,)
                ).rowcount
                == 0
            ),
            "Postgres ends the session",
        )
        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
            own.execute("select 1")


def test_join_without_a_limit_on_temporary_files_is_refused(
    conn: Connection, database_url: str, admin: Viewer
) -> None:
    """A role that may create roles, but may not set the limit."""
    conn.execute("create role peck_hosting login createrole password 'x'")
    try:
        conn.execute("grant all on all tables in schema public to peck_hosting")
        conn.execute("grant peck_machine to peck_hosting with admin option")
        code = machines.invite(conn, admin).code
        with (
            psycopg.connect(with_login(database_url, "peck_hosting", "x")) as hosting,
            pytest.raises(Conflict, match="grant set on parameter temp_file_limit"),
        ):
            machines.join(hosting, code, "pond")
    finally:
        conn.execute("drop owned by peck_hosting")
        conn.execute("drop role peck_hosting")


def test_login_of_a_machine_has_limits(conn: Connection, joined: tuple[Machine, str]) -> None:
    query = "select rolconfig from pg_roles where rolname = %s"
    assert db.fetch_one(conn, set, query, (joined[0].login,)) == {
        "statement_timeout=20s",
        "idle_in_transaction_session_timeout=20s",
        "temp_file_limit=16MB",
    }
