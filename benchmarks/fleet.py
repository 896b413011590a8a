"""Measures how many workers one Postgres and one Redis serve, with PgBouncer between.

    python -m benchmarks.fleet [--workers 100 1000 10000] [--claims 200 400 800] [--seconds 20]

Simulated workers in a few processes claim matches, renew leases, report results, and send
heartbeats as often as Postgres asks for; no game is played. All go through PgBouncer with the
settings of `deploy/`, but without TLS. 100 workers share the login of one machine. Times are those
that a worker sees.

Messages come at a steady rate, whatever the workers do. If the claims follow in time, the next
higher rate of ``--claims`` is tried with the same workers. Otherwise the curve bends here. Needs
the program pgbouncer (Debian: pgbouncer). Machines join as real ones do. Workers and matches are
too many for that: one statement makes all.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

import psycopg
from psycopg.types.json import Jsonb
from redis import Redis

from benchmarks.fleet_workers import FILES, QUEUE, Load
from benchmarks.processes import allow_files, process_table, tree_seconds
from benchmarks.report_tables import aligned, describe_machine, quantile
from ladder import ids
from ladder.database import db
from ladder.database.db import Connection
from ladder.enums import MachineTier
from ladder.ids import MachineId
from ladder.machines import machines
from ladder.machines.machines import MachineTrust
from ladder.people import users
from services.run import embedded_servers
from services.run.embedded_servers import service_uid
from tests import servers
from tests.integration.ladder.contest import Contest, digest, hello, make_contest

PER_PROCESS: Final = 2_500
PER_MACHINE: Final = 100
"""Workers of one login."""
LONGEST_HOLD_SECONDS: Final = 10.0
SETTLE_SECONDS: Final = 10.0
"""Wait between the first results and the measurement."""
TICK_SECONDS: Final = 0.01
AIM_MILLISECONDS: Final = 100.0
AIM_SHARE: Final = 0.95
"""Of the offered claims, which must be answered in the same time."""
HEAD: Final = [
    *("workers", "offered/s", "claims/s", "claim p50 ms", "p99 ms"),
    *("result p99 ms", "heartbeats/s", "p99 ms", "failed", "clients", "servers"),
    *("cpu postgres", "pgbouncer", "redis", "workers"),
]
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


def main() -> None:
    """Prints a row for each number of workers and rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--claims", type=int, nargs="+", default=[200, 400, 800],
                        help="claims offered a second, lowest first")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=20.0, help="length of each measurement")
    asked = parser.parse_args()
    allow_files(FILES)
    print(f"{describe_machine()}; {PER_MACHINE} workers a machine", flush=True)
    rows, notes = [HEAD], []
    for count in asked.workers:
        with ExitStack() as stack:
            stage = stack.enter_context(staged())
            urls = make_machines(stage, count, PER_MACHINE)
            seconds = LONGEST_HOLD_SECONDS + SETTLE_SECONDS + asked.seconds + 2
            fleet = Fleet(stage, count, make_matches(stage, int(sum(asked.claims) * seconds)))
            began = time.monotonic()
            fleet.start(urls, stack)
            note = f"{count} workers: {count / (time.monotonic() - began):.0f} logins/s"
            for rate in asked.claims:
                row, holds = fleet.measure(rate, asked.seconds)
                rows.append(row)
                print(" ".join(row), flush=True)
                if not holds:
                    note += f"; bends at {rate} claims/s"
                    break
            else:
                note += f"; no bend up to {rate} claims/s"
            notes.append(note)
    print(f"\n{aligned(rows)}\ncpu: cores in use; a rate holds if {AIM_SHARE:.0%} of it is answered"
          f" and claim p99 <= {AIM_MILLISECONDS:.0f} ms")  # fmt: skip
    print("\n".join(notes))


class Fleet:
    """The workers of one number, in their processes."""

    def __init__(self, stage: Stage, workers: int, matches: Sequence[str]) -> None:
        self.stage, self.workers = stage, workers
        self.matches = list(matches)
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, urls: Sequence[str], stack: ExitStack) -> None:
        """Starts the workers. All have called Postgres once when this returns."""
        for first in range(0, self.workers, PER_PROCESS):
            count = min(PER_PROCESS, self.workers - first)
            load = Load(urls, self.stage.redis_url, first, count, REPLAY)
            self.processes.append(stack.enter_context(start_workers(load)))
        for process in self.processes:
            read_line(process)

    def measure(self, rate: int, seconds: float) -> tuple[list[str], bool]:
        """Offers claims at this rate, waits until it is steady, and counts. Says whether the claims
        followed the rate, 99 of 100 within the aim."""
        hold = min(LONGEST_HOLD_SECONDS, 0.6 * self.workers / rate)
        self.tell(str(hold))
        stop = threading.Event()
        waking = threading.Thread(target=self.wake, args=(rate, stop))
        waking.start()
        time.sleep(hold + SETTLE_SECONDS)
        pids = {**self.stage.pids, "workers": self.processes[0].pid}
        table = process_table()
        before = {name: tree_seconds(table, pid) for name, pid in pids.items()}
        self.tell(str(hold))
        time.sleep(seconds)
        self.tell("report")
        table = process_table()
        used = [(tree_seconds(table, pid) - before[name]) / seconds for name, pid in pids.items()]
        used[-1] *= len(self.processes)
        clients = len(os.listdir(f"/proc/{self.stage.pids['pgbouncer']}/fd"))
        servers = server_connections(self.stage)
        stop.set()
        waking.join()
        counts = [json.loads(read_line(process)) for process in self.processes]
        claims, results, beats = (
            [each for one in counts for each in one[name]]
            for name in ("claims", "results", "heartbeats")
        )
        middle, slow, slow_result, slow_beat = (
            1000 * quantile(samples or [0.0], share)
            for samples, share in ((claims, 0.5), (claims, 0.99), (results, 0.99), (beats, 0.99))
        )
        taken = (len(claims) - sum(one["refused"] for one in counts)) / seconds
        row = [
            *(str(self.workers), str(rate), f"{taken:.0f}"),
            *(f"{middle:.0f}", f"{slow:.0f}", f"{slow_result:.0f}"),
            *(f"{len(beats) / seconds:.0f}", f"{slow_beat:.0f}"),
            *(str(sum(one["failed"] for one in counts)), str(clients), str(servers)),
            *(f"{cores:.2f}" for cores in used),
        ]
        return row, (taken >= AIM_SHARE * rate and slow <= AIM_MILLISECONDS)

    def wake(self, per_second: int, stop: threading.Event) -> None:
        """Sends so many messages a second, evenly, until the matches are used up."""
        began, sent = time.monotonic(), 0
        with Redis.from_url(self.stage.redis_url) as redis:
            while not stop.is_set() and self.matches:
                due = int((time.monotonic() - began) * per_second) - sent
                if due > 0:
                    chosen, self.matches = self.matches[:due], self.matches[due:]
                    redis.lpush(QUEUE, *chosen)
                    sent += len(chosen)
                time.sleep(TICK_SECONDS)

    def tell(self, line: str) -> None:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(f"{line}\n")
            process.stdin.flush()


@contextmanager
def start_workers(load: Load) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.fleet_workers", json.dumps(asdict(load))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    found = process.stdout.readline()
    if not found:
        raise RuntimeError(f"the workers ended with status {process.wait()}")
    return found


def server_connections(stage: Stage) -> int:
    """Connections of PgBouncer to Postgres."""
    with psycopg.connect(stage.database_url) as conn:
        row = conn.execute(
            "select count(*) from pg_stat_activity where usename like 'peck\\_machine\\_%%'"
        ).fetchone()
    assert row is not None
    return int(row[0])


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


if __name__ == "__main__":
    main()
