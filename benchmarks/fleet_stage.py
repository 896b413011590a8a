"""Servers, machines, workers and matches of ``benchmarks.fleet``.

Machines join as real ones do. Workers and matches are too many for that: one statement makes all.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

from psycopg.types.json import Jsonb
from redis import Redis

from ladder import ids
from ladder.database import db
from ladder.database.db import Connection
from ladder.enums import MachineTier
from ladder.ids import MachineId
from ladder.machines import machines
from ladder.machines.machines import MachineTrust
from ladder.people import users
from services import embedded_servers
from services.embedded_servers import service_uid
from tests import servers
from tests.integration.ladder.contest import Contest, digest, hello, make_contest

DEPLOY: Final = Path(__file__).resolve().parents[1] / "deploy"
POOLER: Final = "peck_pooler"
PASSWORD: Final = "pooler-of-the-benchmark"
ENTRIES: Final = 20
SEASONS: Final = 20
REPLAY: Final = digest("replay")


@dataclass(frozen=True)
class Stage:
    """Servers with a contest, for one number of workers."""

    database_url: str
    redis_url: str
    contest: Contest
    pooler: Path
    """Folder of PgBouncer's socket."""
    pids: dict[str, int]


@contextmanager
def staged() -> Iterator[Stage]:
    """Postgres, PgBouncer and Redis, with a fresh contest."""
    with ExitStack() as stack:
        folder = stack.enter_context(servers.short_folder())
        postgres = embedded_servers.start_postgres(folder)
        stack.callback(postgres.stop)
        redis = embedded_servers.start_redis(folder)
        stack.callback(redis.stop)
        with Redis.from_url(redis.url) as client:
            client.config_set("maxclients", 15_000)
        name = servers.template(postgres.url)
        database_url = stack.enter_context(servers.cloned(postgres.url, name))
        conn = stack.enter_context(db.connect(database_url, autocommit=True))
        conn.execute((DEPLOY / "pgbouncer.sql").read_bytes())
        db.set_login(conn, POOLER, PASSWORD)
        pooler = stack.enter_context(start_pooler(folder, database_url))
        pids = {
            "postgres": postgres.child.process.pid,
            "pgbouncer": pooler.pid,
            "redis": redis.child.process.pid,
        }
        yield Stage(database_url, redis.url, make_contest(conn), folder / "pooler", pids)


@contextmanager
def start_pooler(folder: Path, database_url: str) -> Iterator[subprocess.Popen[bytes]]:
    """PgBouncer with the file of ``deploy/``, at a Unix socket and without TLS."""
    place, uid = folder / "pooler", service_uid()
    place.mkdir(mode=0o755)
    parts = urlsplit(database_url)
    host = parse_qs(parts.query)["host"][0]
    (place / "users").write_text(f'"{POOLER}" "{PASSWORD}"\n')
    own = {
        "peck": f"peck = host={host} dbname={parts.path[1:]}",
        "listen_addr": "listen_addr =",
        "unix_socket_dir": f"unix_socket_dir = {place}",
        "auth_file": f"auth_file = {place / 'users'}",
        "client_tls_sslmode": "client_tls_sslmode = disable",
        "client_tls_cert_file": "",
        "client_tls_key_file": "",
    }
    lines = (DEPLOY / "pgbouncer.ini").read_text().splitlines()
    chosen = [own.get(line.partition("=")[0].strip(), line) for line in lines]
    (place / "ini").write_text("\n".join(chosen) + "\n")
    if uid is not None:
        shutil.chown(place, uid)
    binary = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            [binary, str(place / "ini")], stdout=log, stderr=log, user=uid, extra_groups=[]
        )
    try:
        until = time.monotonic() + 20
        while not (place / ".s.PGSQL.6432").exists():
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"no PgBouncer: {(place / 'log').read_text()[-2000:]}")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait()


def make_machines(stage: Stage, workers: int, per_machine: int) -> list[str]:
    """Addresses of the machines through PgBouncer. Worker ``w-N`` belongs to the machine whose
    address is N modulo their number. Each machine has stored the replay."""
    conn = stage.contest.conn
    root = users.viewer_of_user(conn, users.create_user(conn, "root", is_admin=True).id)
    assert root is not None
    urls, made = [], list[MachineId]()
    for number in range(-(-workers // per_machine)):
        invitation = machines.invite(conn, root, MachineTrust(tier=MachineTier.TRUSTED))
        machine, secret = machines.join(conn, invitation.code, f"machine-{number}")
        made.append(machine.id)
        keys = urlencode(scram_keys(conn, machine.login, secret))
        place = f"?host={stage.pooler}&port=6432&{keys}"
        urls.append(f"postgresql://{machine.login}@/peck{place}")
    conn.execute(
        "insert into machine_uploads (machine_id, match_id, attempt, digest, size_bytes)"
        " select id, 'x', 1, %s, 1 from unnest(%s::text[]) as id",
        (REPLAY, made),
    )
    register(stage.contest, workers, made)
    return urls


def scram_keys(conn: Connection, login: str, password: str) -> dict[str, str]:
    """Keys that sign in without the password. A client derives them from the password at each
    login, which takes more processor time than all else in it."""
    row = conn.execute("select rolpassword from pg_authid where rolname = %s", (login,)).fetchone()
    assert row is not None
    iterations, _, salt = row[0].split("$")[1].partition(":")
    salted = hashlib.pbkdf2_hmac(
        "sha256", password.encode(), base64.b64decode(salt), int(iterations)
    )
    keys = {"scram_client_key": b"Client Key", "scram_server_key": b"Server Key"}
    return {
        name: base64.b64encode(hmac.digest(salted, text, "sha256")).decode()
        for name, text in keys.items()
    }


def register(contest: Contest, count: int, owners: Sequence[MachineId]) -> None:
    """Registers the workers ``w-0``, ``w-1`` and so on, each with one slot."""
    model = hello("w", queues=("play.cpu",), slots=1)
    contest.conn.execute(
        "insert into workers (id, host, node, queues, slots, profiles, machine_id)"
        " select 'w-' || n, 'w-' || n, 'w-' || n, %s, 1, %s,"
        "        (%s::text[])[1 + n %% %s] from generate_series(0, %s) as n",
        (list(model.queues), list(model.profiles), owners, len(owners), count - 1),
    )


def make_matches(stage: Stage, count: int) -> list[str]:
    """So many queued rated matches, in their order, in turn of SEASONS seasons of ENTRIES each."""
    conn = stage.contest.conn
    contests = [stage.contest, *(make_contest(conn) for _ in range(SEASONS - 1))]
    lineups = [[contest.active() for _ in range(ENTRIES)] for contest in contests]
    models = [
        contest.rated(*(lineup[(first + 5 * seat) % ENTRIES] for seat in range(4)))
        for first in range(ENTRIES)
        for contest, lineup in zip(contests, lineups, strict=True)
    ]
    made = sorted(ids.new_id("mat") for _ in range(count))
    copies = Jsonb([[each, models[no % len(models)]] for no, each in enumerate(made)])
    with conn.transaction():
        for table, key in (("matches", "id"), ("seats", "match_id")):
            conn.execute(
                f"insert into {table} select (jsonb_populate_record(t,"
                f" jsonb_build_object('{key}', c.value ->> 0))).*"
                f" from jsonb_array_elements(%s) as c join {table} t on t.{key} = c.value ->> 1",
                (copies,),
            )
        conn.execute("update entries set in_flight = %s", (count,))
        conn.execute("delete from seats where match_id = any (%s)", (models,))
        conn.execute("delete from matches where id = any (%s)", (models,))
    conn.execute("vacuum analyze matches, seats, entries, workers, machines")
    return made
