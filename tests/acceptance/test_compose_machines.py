"""``deploy/machines.compose.yml``: Postgres and Redis with TLS, for machines on other hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest
import redis

from tests import compose_project
from tests.certificates import Authority
from tests.compose_project import Deployment
from tests.ports import free_port
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.network_interfaces, pytest.mark.timeout(1800)]

FILES = ("docker-compose.yml", "deploy/machines.compose.yml")
JOIN = """
import json
from ladder.database import db
from ladder.machines import machines
from ladder.people import tokens, users
from ladder.settings import Settings
from services.run.demo import admin_token
with db.connect(Settings().database_url) as conn:
    admin = users.viewer_of_token(conn, admin_token(conn, "root"))
    code = machines.invite(conn, admin).code
    machine, secret = machines.join(conn, code, "pond")
print(json.dumps([machine.login, secret]))
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def deployment(
    authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("certificate")
    both = authority.sign("DNS:localhost")
    (folder / "fullchain.pem").write_bytes(both.with_suffix(".pem").read_bytes())
    (folder / "privkey.pem").write_bytes(both.with_suffix(".key").read_bytes())
    settings = {
        "PECK_MACHINE_HOST": "localhost",
        "PECK_CERTIFICATE_DIR": str(folder),
        "PECK_REDIS_PASSWORD": "secret",
        "PECK_POSTGRES_PORT": str(free_port()),
        "PECK_REDIS_PORT": str(free_port()),
        "PECK_MACHINE_AUTHORITY": str(authority.certificate),
    }
    with compose_project.deployment(settings=settings, files=FILES) as made:
        made.compose("build", "secrets")
        made.compose("up", "--detach", "api", "scheduler")
        yield made


@pytest.fixture(scope="module")
def login(deployment: Deployment) -> tuple[str, str]:
    """Name and secret of a machine that joined."""
    out = deployment.compose("exec", "-T", "api", "python", "-c", JOIN)
    name, secret = json.loads(out)
    return name, secret


def postgres(
    deployment: Deployment, login: tuple[str, str], authority: Authority, mode: str
) -> psycopg.Connection:
    return psycopg.connect(
        host="localhost",
        port=deployment.environment["PECK_POSTGRES_PORT"],
        dbname="peck",
        user=login[0],
        password=login[1],
        sslmode=mode,
        sslrootcert=str(authority.certificate),
    )


def redis_of(deployment: Deployment, authority: Authority, login: str) -> redis.Redis:
    port = deployment.environment["PECK_REDIS_PORT"]
    url = f"rediss://{login}localhost:{port}/0?ssl_ca_certs={authority.certificate}"
    return redis.Redis.from_url(url)


def test_machine_logs_in_at_postgres_with_tls(
    deployment: Deployment, login: tuple[str, str], authority: Authority
) -> None:
    with postgres(deployment, login, authority, "verify-full") as conn:
        assert conn.execute("select session_user").fetchone() == (login[0],)


def test_postgres_refuses_a_machine_without_tls(
    deployment: Deployment, login: tuple[str, str], authority: Authority
) -> None:
    with pytest.raises(psycopg.OperationalError, match="no encryption"):
        postgres(deployment, login, authority, "disable")


@pytest.mark.parametrize("mode", ["disable", "verify-full"])
@pytest.mark.parametrize("role", ["peck", "peck_worker", "peck_notifier"])
def test_postgres_takes_no_login_of_the_site_from_outside(
    deployment: Deployment, authority: Authority, role: str, mode: str
) -> None:
    """Through the published port, behind which Docker shows the address of a gateway."""
    with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
        postgres(deployment, (role, "secret"), authority, mode)


def test_query_that_takes_all_memory_fails_alone(
    deployment: Deployment, login: tuple[str, str], authority: Authority
) -> None:
    started = deployment.query("select pg_postmaster_start_time()")
    with (
        postgres(deployment, login, authority, "verify-full") as conn,
        pytest.raises(psycopg.errors.OutOfMemory),
    ):
        conn.execute("select length(repeat('x', 1073741800))")
    assert deployment.query("select pg_postmaster_start_time()") == started


def test_machine_logs_in_at_redis_with_tls(
    deployment: Deployment, login: tuple[str, str], authority: Authority
) -> None:
    def answers() -> bool:
        try:
            with redis_of(deployment, authority, f"{login[0]}:{login[1]}@") as client:
                return bool(client.ping())
        except redis.exceptions.RedisError:
            return False

    wait_until(answers, "the scheduler has made the machine's user in Redis", pause_seconds=1)


def test_redis_refuses_strangers(deployment: Deployment, authority: Authority) -> None:
    with (
        redis_of(deployment, authority, "") as client,
        pytest.raises(redis.exceptions.AuthenticationError),
    ):
        client.ping()


def test_site_reaches_redis_by_its_password(deployment: Deployment) -> None:
    clients = deployment.compose("exec", "-T", "redis", "redis-cli", "client", "list")
    assert clients.count("name=") > 1


def test_machine_gets_the_private_authority(deployment: Deployment) -> None:
    read = (
        "from ladder.settings import Settings; from ladder.machines import connections;"
        "print(connections.read_certificates(Settings().machine_certificates))"
    )
    out = deployment.compose("exec", "-T", "api", "python", "-c", read)
    assert "BEGIN CERTIFICATE" in out
