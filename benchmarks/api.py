"""Measures leaderboard reads per second at 10,000 agents, beside a bare route with the same bytes.

    python -m benchmarks.api [--agents 10000] [--seconds 3] [--rounds 3]

Postgres is real: PECK_TEST_DATABASE_URL or an embedded server. The API and each bare FastAPI route
have one uvicorn process, and all of these the last core. Postgres and two client processes, which
keep their connections alive on loopback, have the other cores.

Rows alternate in each round; the table shows medians. ``of bare`` compares with the bare route of
the same round and size. ``p99 ms`` is the time of a read while all clients read without a pause.
``server us`` is the processor time of the server process for a read, without Postgres, and
``client us`` that of the clients.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import re
import shutil
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from fastapi import FastAPI, Response
from psycopg import sql

from benchmarks.report_tables import describe_machine, quantile
from games import GAMES
from ladder import ids
from ladder.database import db, migrate
from ladder.leagues import leagues, seasons
from ladder.people import users
from services import embedded_servers
from services.child_processes import spawn

CHECKOUT = Path(__file__).resolve().parents[1]
PROCESSES = 2
THREADS = 4
WARM_SECONDS = 0.5
MATCHES = 10
WHOLE_SECONDS = 120
"""Longest read of a whole board on a busy machine."""
CORES = sorted(os.sched_getaffinity(0))
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One kind of read."""

    name: str
    port: int
    path: str
    headers: dict[str, str]
    status: int = 200


def create_bare_app() -> FastAPI:
    """The peer: an application that only sends these bytes."""
    app = FastAPI()
    content = Path(os.environ["BENCH_BYTES"]).read_bytes()

    @app.get("/board")
    async def board() -> Response:
        return Response(content, media_type="application/json")

    return app


def create_rated_season(url: str, agents: int) -> str:
    """Write a season with this many rated agents, each of its own team; returns the season's id."""
    with db.connect(url) as conn:
        host = users.create_user(conn, "host").id
        league = leagues.create_league(
            conn,
            slug="bench",
            title="Bench",
            game="hungry_geese",
            visibility="public",
            replay_visibility="public",
            created_by=host,
        )
        season = seasons.create_season(
            conn,
            league.id,
            seasons.SeasonColumns(
                configuration=GAMES["hungry_geese"].configure({}),
                configuration_digest="0" * 64,
                clock={},
                seats=4,
            ),
        )
        keys = [
            tuple(ids.new_id(prefix) for prefix in ("tea", "age", "sub", "ent"))
            for _ in range(agents)
        ]
        tables = {
            "teams (id, slug, name)": ((k[0], f"t{n}", f"Team {n}") for n, k in enumerate(keys)),
            "agents (id, team_id, slug, name)": (
                (k[1], k[0], "a", f"Agent {n}") for n, k in enumerate(keys)
            ),
            "submissions (id, agent_id, digest, size_bytes, filename)": (
                (k[2], k[1], f"{n:064x}", 100, "main.py") for n, k in enumerate(keys)
            ),
            "entries (id, season_id, agent_id, team_id, submission_id, state, mu, sigma, games,"
            " last_match_at)": (
                (k[3], season.id, k[1], k[0], k[2], "active", 600 + n / 100, 40.0, 200, "now")
                for n, k in enumerate(keys)
            ),
        }
        for table, rows in tables.items():
            with conn.cursor().copy(f"copy {table} from stdin") as copy:
                for row in rows:
                    copy.write_row(row)
        conn.execute("update seasons set revision = 1")
    with db.connect(url, autocommit=True) as conn:
        conn.execute("vacuum analyze")
    return season.id


def add_standing(url: str, season: str) -> None:
    """Give the season an official standing, by the live ratings."""
    with db.connect(url) as conn:
        rated = conn.execute(
            "select id, mu from entries where season_id = %s order by mu desc", (season,)
        ).fetchall()
        places = [
            (entry, mu, 40.0, n, max(1, n - 9), n + 9, (0.0, 0.0, 0.5), 0.1)
            for n, (entry, mu) in enumerate(rated, 1)
        ]
        conn.execute(
            "insert into standings (season_id, version, log_no, seed, fitted_by, boundary_weight,"
            " centre, spread, kappa, reference, teams, wrong_medals, digest, content)"
            " values (%s, 1, 1, 1, 1, 1, 0, 1, 0, 0, %s, 1, '', %s)",
            (season, len(rated), json.dumps(places)),
        )
        conn.execute("update seasons set official_version = 1, revision = revision + 1")


def time_new_revisions(url: str, season: str, board: Row) -> list[float]:
    """The milliseconds of the first read after each of some matches."""
    took = []
    with db.connect(url) as conn:
        for n in range(MATCHES):
            with conn.transaction():
                conn.execute("update seasons set revision = revision + 1")
                conn.execute(
                    "update entries set mu = mu + 1, games = games + 1, last_match_at = now()"
                    " where id in (select id from entries where season_id = %s"
                    " order by id offset %s limit 4)",
                    (season, 20 * n),
                )
            took.append(milliseconds_of(board, current_revision(url, season)))
    return took


def current_revision(url: str, season: str) -> int:
    """The season's revision in the database."""
    with db.connect(url) as conn:
        row = conn.execute("select revision from seasons where id = %s", (season,)).fetchone()
    assert row is not None
    return int(row[0])


def milliseconds_of(row: Row, revision: int) -> float:
    """The time until a read shows this revision, on new connections.

    Readers of a large leaderboard may get the previous revision after 0.1 s.
    """
    began = time.perf_counter()
    while True:
        response = fetch(row)
        assert response.status == row.status, response.status
        if str(response.headers["ETag"]).startswith(f'W/"{revision}.'):
            return 1000 * (time.perf_counter() - began)


@contextmanager
def postgres(state: Path) -> Iterator[str]:
    """A migrated database for this benchmark."""
    given = os.environ.get("PECK_TEST_DATABASE_URL")
    server = None if given else embedded_servers.start_postgres(state)
    root = given or (server.url if server is not None else "")
    name = f"peck_bench_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(root, autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        url = urlunsplit(urlsplit(root)._replace(path=f"/{name}"))
        migrate.migrate(url)
        yield url
        conn.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
    if server is not None:
        server.stop()


@contextmanager
def serving(factory: str, port: int, state: Path, **environment: str) -> Iterator[int]:
    """Runs one uvicorn process; yields its process id."""
    child = spawn(
        factory,
        [
            *(sys.executable, "-P", "-m", "uvicorn", factory, "--factory", "--no-access-log"),
            *("--port", str(port), "--log-level", "warning"),
        ],
        log=state / f"{port}.log",
        death_signal=signal.SIGKILL,
        environment={**os.environ, "PYTHONPATH": str(CHECKOUT), **environment},
        cwd=CHECKOUT,
    )
    deadline = time.monotonic() + 180
    while True:
        try:
            fetch(Row("", port, "/openapi.json", {}))
            break
        except OSError:
            assert child.alive(), (state / f"{port}.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    try:
        yield child.process.pid
    finally:
        child.stop()


def pin_server(pid: int) -> None:
    """Keep the process on the last core."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), CORES[-1:])


def cpu_seconds(pid: int) -> float:
    """The processor time of the process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fetch(row: Row) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", row.port, timeout=WHOLE_SECONDS)
    connection.request("GET", row.path, headers=row.headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def read_once(client: socket.socket, request: bytes) -> bytes:
    """Send a request and return the status line after reading the whole answer.

    ``http.client`` takes more time for an answer than the server.
    """
    client.sendall(request)
    answer = client.recv(1 << 18)
    while (head := answer.find(b"\r\n\r\n")) < 0:
        answer += client.recv(1 << 18)
    declared = LENGTH.search(answer, 0, head)
    missing = head + 4 + (int(declared[1]) if declared is not None else 0) - len(answer)
    while missing > 0:
        missing -= len(client.recv(1 << 18))
    return answer[:12]


def read_until(row: Row, until: float, reads: list[list[float]]) -> None:
    """Run one keep-alive client: read until the given time and append the seconds of each read."""
    lines = [f"GET {row.path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in row.headers.items()]
    request = ("\r\n".join(lines) + "\r\n\r\n").encode()
    seconds = list[float]()
    with socket.create_connection(("127.0.0.1", row.port), timeout=10) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (began := time.monotonic()) < until:
            status = read_once(client, request)
            assert status == f"HTTP/1.1 {row.status}".encode(), status
            seconds.append(time.monotonic() - began)
    reads.append(seconds)


def time_reads(row: Row, seconds: float) -> tuple[list[float], float]:
    """The seconds of each read by all clients in that time, and the processor time of this."""
    until, reads = time.monotonic() + seconds, list[list[float]]()
    used = time.process_time()
    threads = [
        threading.Thread(target=read_until, args=(row, until, reads)) for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reads) == THREADS, "a client failed"
    return [one for each in reads for one in each], time.process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.sched_setaffinity(0, CORES[:-1] or CORES)
    state = Path(tempfile.mkdtemp(prefix="peck-bench-", dir="/var/tmp"))
    state.chmod(0o711)
    try:
        with postgres(state) as url:
            season = create_rated_season(url, options.agents)
            blobs = (state / "blobs").as_uri()
            with serving(
                "services.app:create_app",
                8101,
                state,
                PECK_DATABASE_URL=url,
                PECK_BLOBS_URL=blobs,
            ) as pid:
                measure(url, season, state, pid, options)
    finally:
        shutil.rmtree(state, ignore_errors=True)


def measure(url: str, season: str, state: Path, pid: int, options: argparse.Namespace) -> None:
    """Run all rows and print the table."""
    board = f"/v1/seasons/{season}/leaderboard?limit="
    read = Row("", 8101, board + "100", {})
    pin_server(pid)
    whole_ms = milliseconds_of(read, current_revision(url, season))
    used = cpu_seconds(pid)
    changed = time_new_revisions(url, season, read)
    changed_cpu = 1000 * (cpu_seconds(pid) - used) / MATCHES
    add_standing(url, season)
    used = cpu_seconds(pid)
    answered_at = time.perf_counter()
    fetch(read)
    answered_ms = 1000 * (time.perf_counter() - answered_at)
    fitted_ms = answered_ms + milliseconds_of(read, current_revision(url, season))
    fitted_cpu = 1000 * (cpu_seconds(pid) - used)
    changed += time_new_revisions(url, season, read)
    first = fetch(read)
    sizes = {}
    for limit in (100, 1000):
        connection = http.client.HTTPConnection("127.0.0.1", 8101)
        connection.request("GET", board + str(limit))
        sizes[limit] = connection.getresponse().read()
        connection.close()
        (state / f"{limit}.json").write_bytes(sizes[limit])
    tag = first.headers["ETag"]
    with (
        serving(
            "benchmarks.api:create_bare_app", 8102, state, BENCH_BYTES=str(state / "100.json")
        ) as few,
        serving(
            "benchmarks.api:create_bare_app", 8103, state, BENCH_BYTES=str(state / "1000.json")
        ) as many,
        multiprocessing.get_context("spawn").Pool(PROCESSES) as pool,
    ):
        for server in (few, many):
            pin_server(server)
        rows = [
            Row("bare route, 100 rows", 8102, "/board", {}),
            Row("leaderboard, 100 rows", 8101, board + "100", {}),
            Row("leaderboard, 100 rows, gzip", 8101, board + "100", {"Accept-Encoding": "gzip"}),
            Row("leaderboard, unchanged (304)", 8101, board + "100", {"If-None-Match": tag}, 304),
            Row("bare route, 1000 rows", 8103, "/board", {}),
            Row("leaderboard, 1000 rows", 8101, board + "1000", {}),
        ]
        rates: dict[str, list[float]] = {row.name: [] for row in rows}
        ratios: dict[str, list[float]] = {row.name: [] for row in rows}
        busy: dict[str, list[float]] = {row.name: [] for row in rows}
        late: dict[str, list[float]] = {row.name: [] for row in rows}
        costs: dict[str, list[float]] = {row.name: [] for row in rows}
        pids = {8101: pid, 8102: few, 8103: many}
        for _ in range(options.rounds):
            peer = 0.0
            for row in rows:
                pool.starmap(time_reads, [(row, WARM_SECONDS)] * PROCESSES)
                used = cpu_seconds(pids[row.port])
                each = pool.starmap(time_reads, [(row, options.seconds)] * PROCESSES)
                reads = [one for part, _ in each for one in part]
                used = cpu_seconds(pids[row.port]) - used
                rate = len(reads) / options.seconds
                busy[row.name].append(1e6 * used / len(reads))
                costs[row.name].append(1e6 * sum(cost for _, cost in each) / len(reads))
                late[row.name].append(1e3 * quantile(reads, 0.99))
                peer = rate if row.name.startswith("bare") else peer
                rates[row.name].append(rate)
                ratios[row.name].append(rate / peer)
    print(f"{options.agents} agents; first read of a process {whole_ms:.0f} ms")
    print(
        f"first read of a new revision: after a match {statistics.median(changed):.0f} ms (median;"
        f" largest of {len(changed)}: {max(changed):.0f} ms; {changed_cpu:.0f} ms of the server);"
        f" after an official standing {fitted_ms:.0f} ms ({fitted_cpu:.0f} ms of the server);"
        f" until then readers get the previous revision, the first one after {answered_ms:.0f} ms"
    )
    print(f"pages of {len(sizes[100])} and {len(sizes[1000])} bytes; {describe_machine()}")
    print(f"{'':32}{'reads/s':>10}{'of bare':>10}{'p99 ms':>10}{'server us':>11}{'client us':>11}")
    for row in rows:
        rate, ratio = statistics.median(rates[row.name]), statistics.median(ratios[row.name])
        cpu = statistics.median(busy[row.name])
        p99 = statistics.median(late[row.name])
        cost = statistics.median(costs[row.name])
        print(f"{row.name:32}{rate:10.0f}{ratio:10.2f}{p99:10.1f}{cpu:11.0f}{cost:11.0f}")


if __name__ == "__main__":
    main()
