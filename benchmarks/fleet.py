"""Measures how many workers one Postgres and one Redis serve, with PgBouncer between.

    python -m benchmarks.fleet [--workers 100 1000 10000] [--claims 200] [--seconds 20]
        [--per-machine 100] [--connections kept new]

Simulated workers in a few processes claim matches, renew leases, send heartbeats every 5 s and
report results; no game is played. All go through PgBouncer with the settings of `deploy/`, but
without TLS. So many workers share the login of one machine. ``new`` opens a connection for each
call. Times are those that a worker sees. Needs the program pgbouncer (Debian: pgbouncer).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
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
from urllib.parse import parse_qs, urlsplit

import psycopg
from redis import Redis

from benchmarks.fleet_workers import QUEUE, Load
from benchmarks.report_tables import aligned, describe_machine, quantile
from ladder.database import db
from ladder.enums import MachineTier
from ladder.ids import MatchId
from ladder.machines import invitations, machines
from ladder.people import users
from services import embedded_servers
from services.embedded_servers.folders import service_uid
from tests import servers
from tests.integration.ladder.contest import Contest, digest, raise_contest

DEPLOY: Final = Path(__file__).resolve().parents[1] / "deploy"
POOLER: Final = "peck_pooler"
PASSWORD: Final = "pooler-of-the-benchmark"
PER_PROCESS: Final = 2_500
FILES: Final = 30_000
LONGEST_HOLD_SECONDS: Final = 10.0
SETTLE_SECONDS: Final = 6.0
TICK_SECONDS: Final = 0.02
HEAD: Final = [
    *("workers", "connection", "logins", "claims/s", "claim p50 ms", "p99 ms", "result p99 ms"),
    *("heartbeats/s", "p99 ms", "failed", "clients", "servers"),
    *("cpu postgres", "pgbouncer", "redis", "workers"),
]


@dataclass(frozen=True)
class Stage:
    """Servers with a contest, for one measurement."""

    database_url: str
    redis_url: str
    contest: Contest
    pooler: Path
    """Folder of PgBouncer's socket."""
    pids: dict[str, int]


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    workers: int
    keeps: bool
    claims_per_second: int
    seconds: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a row for each number of workers and kind of connection."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--claims", type=int, default=200, help="claims a second that are wanted")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of each measurement")
    parser.add_argument("--per-machine", type=int, default=100, help="workers of one login")
    parser.add_argument("--connections", nargs="+", choices=("kept", "new"), default=["kept"])
    asked = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    print(f"{describe_machine()}; {asked.per_machine} workers a machine", flush=True)
    rows = [HEAD]
    for kind in asked.connections:
        for count in asked.workers:
            with staged() as stage:
                case = Case(count, kind == "kept", asked.claims, asked.seconds)
                urls = make_logins(stage, -(-count // asked.per_machine))
                rows.append(measure(stage, case, urls))
                print(" ".join(rows[-1]), flush=True)
    print(f"\n{aligned(rows)}\ncpu: cores in use; aim: claim p99 <= 100 ms at 200 claims/s")


def measure(stage: Stage, case: Case, urls: Sequence[str]) -> list[str]:
    """Runs the workers and returns the row."""
    wanted = int(case.claims_per_second * (case.seconds + SETTLE_SECONDS + 2))
    matches = make_matches(stage.contest, wanted)
    hold = min(LONGEST_HOLD_SECONDS, 0.6 * case.workers / case.claims_per_second)
    began = time.monotonic()
    with ExitStack() as stack:
        processes = []
        for first in range(0, case.workers, PER_PROCESS):
            count = min(PER_PROCESS, case.workers - first)
            replay = digest("replay")
            load = Load(urls, stage.redis_url, first, count, hold, case.keeps, replay)
            processes.append(stack.enter_context(start_workers(load)))
        for process in processes:
            read_line(process)
        logins_per_second = case.workers / (time.monotonic() - began)
        stop = threading.Event()
        waking = threading.Thread(target=wake, args=(stage, matches, case.claims_per_second, stop))
        waking.start()
        time.sleep(SETTLE_SECONDS)
        pids = {**stage.pids, "workers": processes[0].pid}
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        for process in processes:
            write_line(process)
        time.sleep(case.seconds)
        used = [cpu_seconds(pid) - before[name] for name, pid in pids.items()]
        clients = len(os.listdir(f"/proc/{stage.pids['pgbouncer']}/fd"))
        backends = server_connections(stage)
        stop.set()
        for process in processes:
            write_line(process)
        counts = [json.loads(read_line(process)) for process in processes]
        waking.join()
    used[-1] *= len(processes)
    claims, results, beats = (
        [each for one in counts for each in one[name]]
        for name in ("claims", "results", "heartbeats")
    )
    milliseconds = [
        f"{1000 * quantile(samples or [0.0], share):.0f}"
        for samples, share in ((claims, 0.5), (claims, 0.99), (results, 0.99), (beats, 0.99))
    ]
    return [
        str(case.workers),
        "kept" if case.keeps else "new",
        f"{logins_per_second:.0f}/s",
        f"{len(claims) / case.seconds:.0f}",
        *milliseconds[:3],
        f"{len(beats) / case.seconds:.0f}",
        milliseconds[3],
        str(sum(one["failed"] for one in counts)),
        str(clients),
        str(backends),
        *(f"{seconds / case.seconds:.2f}" for seconds in used),
    ]


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
        yield Stage(database_url, redis.url, raise_contest(conn), folder / "pooler", pids)


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


def make_logins(stage: Stage, count: int) -> list[str]:
    """Addresses of so many machines, through PgBouncer, whose results may name the replay."""
    conn = stage.contest.conn
    root = users.viewer_of_user(conn, users.create_user(conn, "root", is_admin=True).id)
    assert root is not None
    urls = []
    for number in range(count):
        _, code = invitations.invite_machine(conn, root, tier=MachineTier.TRUSTED)
        machine, secret = machines.join(conn, code, f"machine-{number}")
        conn.execute(
            "insert into machine_uploads (machine_id, match_id, attempt, digest, size_bytes)"
            " values (%s, 'x', 1, %s, 1)",
            (machine.id, digest("replay")),
        )
        place = f"?host={stage.pooler}&port=6432"
        urls.append(f"postgresql://{machine.login}:{secret}@/peck{place}")
    return urls


def make_matches(contest: Contest, count: int) -> list[MatchId]:
    """So many queued rated matches of twenty entries."""
    lineup = [contest.active() for _ in range(20)]
    made = []
    with contest.conn.transaction():
        for number in range(count):
            chosen = [lineup[(number + 5 * seat) % len(lineup)] for seat in range(4)]
            made.append(contest.rated(*chosen))
    contest.conn.execute("analyze")
    return made


def wake(stage: Stage, matches: Sequence[MatchId], per_second: int, stop: threading.Event) -> None:
    """Sends so many messages a second, evenly, until the matches are used up."""
    began, sent = time.monotonic(), 0
    with Redis.from_url(stage.redis_url) as redis:
        while not stop.is_set() and sent < len(matches):
            due = min(len(matches), int((time.monotonic() - began) * per_second))
            if due > sent:
                redis.lpush(QUEUE, *matches[sent:due])
                sent = due
            time.sleep(TICK_SECONDS)


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


def write_line(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go on\n")
    process.stdin.flush()


def server_connections(stage: Stage) -> int:
    """Connections of PgBouncer to Postgres."""
    with psycopg.connect(stage.database_url) as conn:
        row = conn.execute(
            "select count(*) from pg_stat_activity where usename like 'peck\\_machine\\_%%'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def cpu_seconds(pid: int) -> float:
    """Processor time of a process, its children and its ended children."""
    total = 0.0
    for one in [pid, *children(pid)]:
        with contextlib.suppress(OSError):
            found = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ended = found[13:15] if one == pid else []
            total += sum(map(int, [*found[11:13], *ended]))
    return total / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


if __name__ == "__main__":
    main()
