"""A machine joins with a code, plays through the site, and hands its match back when it stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from ladder.database import db
from ladder.database.blobs import Blobs, open_blobs
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.records import EntryState
from ladder.ids import MatchId
from ladder.machines import invitations, machines
from ladder.matches import history
from ladder.people import users
from ladder.settings import Settings
from sandbox.match import loans
from sandbox.match.loans import NodeHello
from services import joined_machine
from services.app import create_app
from services.cli.machine_join import find_credentials, request_credentials
from services.cli.saved_login import MissingInput
from services.http.machines import delete_redis_user
from services.joined_machine import Credentials, JoinedMachine
from services.local_instance import UpOptions
from tests.chaos.fleet import wait_until
from tests.conftest import without_login
from tests.integration.api.serving import serve
from tests.integration.ladder.contest import Contest
from tests.integration.real_node import RealNode
from tests.integration.test_workers import EAST, SLOW, enter
from tests.integration.test_workers import contest as contest
from workers import broker

pytestmark = pytest.mark.bubblewrap
TOLD: list[str] = []


class OnTestNode(JoinedMachine):
    """A joined machine that uses the node of the tests, which is ready."""

    node: RealNode

    def _begin_node(self) -> None:
        self._run_dir.mkdir(exist_ok=True)

    def _await_node(self) -> NodeHello:
        return loans.node_hello(self._node_socket)

    @property
    def _node_socket(self) -> Path:
        return self.node.socket


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return open_blobs((tmp_path / "blobs").as_uri())


@pytest.fixture
def credentials(
    conn: Connection, database_url: str, redis_url: str, tmp_path: Path, worker_role: None
) -> Iterator[Credentials]:
    """Those of a machine that joined a running site."""
    settings = Settings(
        database_url=database_url,
        blobs_url=(tmp_path / "blobs").as_uri(),
        redis_url=redis_url,
        machine_database_url=without_login(database_url),
        machine_redis_url=redis_url,
        session_secret="x" * 32,
    )
    root = users.viewer_of_user(conn, users.create_user(conn, "root", is_admin=True).id)
    assert root is not None
    _, code = invitations.invite_machine(conn, root)
    with serve(create_app(settings)) as address:
        made = request_credentials(address, code, "pond")
        yield made
    revoked, _ = machines.revoke(conn, root, made.machine)
    delete_redis_user(redis_url, revoked.login)


def test_a_joined_machine_plays_a_match_and_hands_the_next_one_back(
    credentials: Credentials,
    node: RealNode,
    conn: Connection,
    contest: Contest,
    blobs: Blobs,
    redis_url: str,
    server_state: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joined_machine, "END_SECONDS", 0.2)
    entry, match = enter(contest, blobs, EAST)
    _, slow = enter(contest, blobs, SLOW)
    machine = OnTestNode(
        UpOptions(state=server_state / "pond", launcher="bubblewrap", slots=1),
        TOLD.append,
        credentials=credentials,
    )
    machine.node = node
    app = broker.make_celery_app(redis_url)

    def wake(match_id: MatchId) -> None:
        app.send_task("peck.play", args=(match_id,), queue="validate", retry=False)

    with Redis.from_url(redis_url) as redis:
        redis.flushdb()
        redis.acl_log_reset()
        try:
            machine.start()
            (worker,) = [part.child for part in machine.parts]
            assert worker is not None
            log = machine._log("worker")
            wait_until(lambda: machines.get_machine(conn, "pond").slots == 1, "it is on", 60)
            wake(match)
            wait_until(lambda: history.get_match(conn, match).state == "finished", "played", 60)
            assert entries.get_entry(conn, entry).state is EntryState.ACTIVE
            found = history.get_match(conn, match)
            assert blobs.exists(found.episodes[0].replay_digest)
            assert all(seat.log_digest and blobs.exists(seat.log_digest) for seat in found.seats)
            wake(slow)
            wait_until(lambda: history.get_match(conn, slow).state == "running", "claimed", 60)
        finally:
            machine.stop()
        assert history.get_match(conn, slow).state == "queued", log.read_text()
        assert TOLD[-1] == "handed 1 running matches back"
        assert redis.acl_log() == []
        assert not worker.alive()


def test_a_machine_that_joined_needs_no_second_code(
    credentials: Credentials, tmp_path: Path
) -> None:
    joined_machine.write_credentials(tmp_path, credentials)
    assert (tmp_path / joined_machine.CREDENTIALS).stat().st_mode & 0o077 == 0
    assert find_credentials(tmp_path, None, None, None) == credentials
    with pytest.raises(MissingInput, match="already"):
        find_credentials(tmp_path, credentials.address, "x", None)
    with pytest.raises(MissingInput, match="machine invite"):
        find_credentials(tmp_path / "elsewhere", None, None, None)
