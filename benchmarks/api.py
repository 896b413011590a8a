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
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from fastapi import FastAPI, Response

from benchmarks.processes import read_process
from benchmarks.rated_season import add_standing, create_rated_season, postgres
from benchmarks.report_tables import aligned, describe_machine, quantile
from benchmarks.site_process import CORES, Row, fetch, pin_server, serving, time_reads
from ladder.database import db

PROCESSES = 2
WARM_SECONDS = 0.5
MATCHES = 10


def create_bare_app() -> FastAPI:
    """The peer: an application that only sends these bytes."""
    app = FastAPI()
    content = Path(os.environ["BENCH_BYTES"]).read_bytes()

    @app.get("/board")
    async def board() -> Response:
        return Response(content, media_type="application/json")

    return app


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
    used = read_process(pid).own_seconds
    changed = time_new_revisions(url, season, read)
    changed_cpu = 1000 * (read_process(pid).own_seconds - used) / MATCHES
    add_standing(url, season)
    used = read_process(pid).own_seconds
    answered_at = time.perf_counter()
    fetch(read)
    answered_ms = 1000 * (time.perf_counter() - answered_at)
    fitted_ms = answered_ms + milliseconds_of(read, current_revision(url, season))
    fitted_cpu = 1000 * (read_process(pid).own_seconds - used)
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
        samples: dict[str, list[tuple[float, ...]]] = {row.name: [] for row in rows}
        pids = {8101: pid, 8102: few, 8103: many}
        for _ in range(options.rounds):
            peer = 0.0
            for row in rows:
                pool.starmap(time_reads, [(row, WARM_SECONDS)] * PROCESSES)
                used = read_process(pids[row.port]).own_seconds
                each = pool.starmap(time_reads, [(row, options.seconds)] * PROCESSES)
                reads = [one for part, _ in each for one in part]
                used = read_process(pids[row.port]).own_seconds - used
                rate = len(reads) / options.seconds
                peer = rate if row.name.startswith("bare") else peer
                client = sum(cost for _, cost in each)
                samples[row.name].append(
                    (
                        *(rate, rate / peer, 1e3 * quantile(reads, 0.99)),
                        *(1e6 * used / len(reads), 1e6 * client / len(reads)),
                    )
                )
    print(f"{options.agents} agents; first read of a process {whole_ms:.0f} ms")
    print(
        f"first read of a new revision: after a match {statistics.median(changed):.0f} ms (median;"
        f" largest of {len(changed)}: {max(changed):.0f} ms; {changed_cpu:.0f} ms of the server);"
        f" after an official standing {fitted_ms:.0f} ms ({fitted_cpu:.0f} ms of the server);"
        f" until then readers get the previous revision, the first one after {answered_ms:.0f} ms"
    )
    print(f"pages of {len(sizes[100])} and {len(sizes[1000])} bytes; {describe_machine()}")
    lines: list[tuple[str, ...]] = [("", "reads/s", "of bare", "p99 ms", "server us", "client us")]
    for name, found in samples.items():
        rate, ratio, p99, server, client = (
            statistics.median(column) for column in zip(*found, strict=True)
        )
        shown = (f"{rate:.0f}", f"{ratio:.2f}", f"{p99:.1f}", f"{server:.0f}", f"{client:.0f}")
        lines.append((name, *shown))
    print(aligned(lines))


if __name__ == "__main__":
    main()
