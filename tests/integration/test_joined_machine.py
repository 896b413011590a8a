"""A machine joins with a code over TLS, plays, and hands its match back when it stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import pytest
from redis import Redis

from ladder.database import db
from ladder.database.blobs import Blobs, open_blobs
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.records import EntryState
from ladder.ids import MatchId, UserId
from ladder.machines import connections as ways
from ladder.machines import machines
from ladder.matches import history
from ladder.people import tokens, users
from ladder.settings import Settings
from services.api_client import Client
from services.app import create_app
from services.cli.machines import find_credentials, request_credentials
from services.cli.saved_login import MissingInput
from services.machines.operations import delete_redis_user
from services.run import joined_machine
from services.run.joined_machine import (
    Credentials,
    JoinedMachine,
    check_connections,
    site_connections,
)
from services.run.process_supervisor import StartError, UpOptions
from tests import tls_front
from tests.certificates import Authority, serving
from tests.integration.api.serving import serve
from tests.integration.ladder.contest import Contest
from tests.integration.real_node import RealNode
from tests.integration.worker_stage import EAST, SLOW, enter
from tests.integration.worker_stage import contest as contest
from tests.refused_commands import refused_commands
from tests.waiting import wait_until
from workers import broker
from workers.lease_renewal import HeldLease, hold_lease

pytestmark = pytest.mark.bubblewrap
TOLD: list[str] = []


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return open_blobs((tmp_path / "blobs").as_uri())


@dataclass(frozen=True)
class Site:
    """A running site, which machines reach over TLS with certificates of its own authority."""

    address: str
    plain: str
    token: str
    root: UserId
    authority: Authority

    def invite(self) -> str:
        with Client(self.plain, self.token) as admin:
            made = admin.post("/v1/machines/invitations", {"tier": "trusted"})
        assert made["address"] == self.address
        return str(made["code"])


@pytest.fixture
def site(
    conn: Connection, database_url: str, redis_url: str, tmp_path: Path, worker_role: None
) -> Iterator[Site]:
    (tmp_path / "authority").mkdir()
    authority = Authority(tmp_path / "authority")
    with tls_front.running("127.0.0.1", serving(authority.sign("IP:127.0.0.1"))) as front:
        settings = Settings(
            database_url=database_url,
            blobs_url=(tmp_path / "blobs").as_uri(),
            redis_url=redis_url,
            machine_database_url=front.postgres(database_url),
            machine_redis_url=front.redis(redis_url),
            machine_certificates=str(authority.certificate),
            session_secret="x" * 32,
        )
        root = users.create_user(conn, "root", is_admin=True).id
        token = tokens.mint_token(conn, root, "root", tokens.SCOPES)[1]
        with serve(create_app(settings)) as plain:
            settings.base_url = front.site(lambda: plain)
            yield Site(settings.base_url, plain, token, root, authority)


@pytest.fixture
def credentials(conn: Connection, redis_url: str, site: Site) -> Iterator[Credentials]:
    """Those of a machine that joined the site."""
    made = request_credentials(site.address, site.invite(), "pond")
    yield made
    root = users.viewer_of_user(conn, site.root)
    assert root is not None
    revoked = machines.revoke(conn, root, made.machine).machine
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
    machine = JoinedMachine(
        UpOptions(state=server_state / "pond", launcher="bubblewrap", slots=1),
        TOLD.append,
        credentials=credentials,
        node=node.socket,
    )
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
            log = machine.log_file("worker")
            wait_until(lambda: machines.get_machine(conn, "pond").slots == 1, "it is on")
            wake(match)
            wait_until(lambda: history.get_match(conn, match).state == "finished", "played")
            assert entries.get_entry(conn, entry).state is EntryState.ACTIVE
            found = history.get_match(conn, match)
            assert blobs.exists(found.episodes[0].replay_digest)
            assert all(seat.log_digest and blobs.exists(seat.log_digest) for seat in found.seats)
            wake(slow)
            wait_until(lambda: history.get_match(conn, slow).state == "running", "claimed")
        finally:
            with hold_lease(machine.run_dir, HeldLease(match, 1, 30.0, worker="ended")):
                machine.stop()  # the lease of the finished match cannot be handed back
        assert history.get_match(conn, slow).state == "queued", log.read_text()
        assert TOLD[-1] == "handed 1 running matches back"
        assert refused_commands(redis) == []
        assert not worker.alive()


def test_a_machine_that_joined_needs_no_second_code(tmp_path: Path) -> None:
    kept = ("https://a", "mch_1", "pond", "postgresql:", "rediss:", "x")
    credentials = Credentials(*kept, queues=("scrim",))
    joined_machine.write_credentials(tmp_path, credentials)
    assert (tmp_path / joined_machine.CREDENTIALS).stat().st_mode & 0o077 == 0
    assert find_credentials(tmp_path, None, None, None) == credentials
    with pytest.raises(MissingInput, match="already"):
        find_credentials(tmp_path, credentials.address, "x", None)
    with pytest.raises(MissingInput, match="machine invite"):
        find_credentials(tmp_path / "elsewhere", None, None, None)


def test_a_machine_joins_no_site_with_another_certificate(site: Site, conn: Connection) -> None:
    code = site.invite()
    impostor = serving(site.authority.sign("IP:127.0.0.1", itself=True))
    with (
        tls_front.running("127.0.0.1", impostor) as front,
        pytest.raises(MissingInput, match=r"another certificate.*not used"),
    ):
        request_credentials(front.site(lambda: site.plain), code, "pond")
    with pytest.raises(MissingInput, match="names no certificate"):
        request_credentials(site.address, code.partition(".")[0], "pond")
    assert len(machines.list_invitations(conn)) == 1


def test_a_machine_uses_no_connection_with_an_unchecked_certificate(
    credentials: Credentials, tmp_path: Path
) -> None:
    connections = site_connections(tmp_path, credentials)
    check_connections(connections, credentials.certificates)
    stranger = site_connections(tmp_path, replace(credentials, certificates=""))
    assert quote(ways.public_authorities(), safe="") in stranger.database_url
    with pytest.raises(StartError, match=r"the site at .* certificate verify failed"):
        check_connections(stranger, "")
    for part, changed in (
        ("Postgres", replace(connections, database_url=stranger.database_url)),
        ("Redis", replace(connections, redis_url=stranger.redis_url)),
    ):
        with pytest.raises(StartError, match=rf"(?s){part} .* certificate verify failed"):
            check_connections(changed, credentials.certificates)
