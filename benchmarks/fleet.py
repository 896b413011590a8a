"""Measures how many workers one Postgres and one Redis serve, with PgBouncer between.

    python -m benchmarks.fleet [--workers 100 1000 10000] [--claims 200 400 800] [--seconds 20]

Simulated workers in a few processes claim matches, renew leases, report results, and send
heartbeats as often as Postgres asks for; no game is played. All go through PgBouncer with the
settings of `deploy/`, but without TLS. 100 workers share the login of one machine. Times are those
that a worker sees.

Messages come at a steady rate, whatever the workers do. If the claims follow in time, the next
higher rate of ``--claims`` is tried with the same workers. Otherwise the curve bends here. Needs
the program pgbouncer (Debian: pgbouncer).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Final

import psycopg
from redis import Redis

from benchmarks.fleet_stage import REPLAY, Stage, make_machines, make_matches, staged
from benchmarks.fleet_workers import QUEUE, Load
from benchmarks.processes import process_table, tree_seconds
from benchmarks.report_tables import aligned, describe_machine, quantile

PER_PROCESS: Final = 2_500
PER_MACHINE: Final = 100
"""Workers of one login."""
FILES: Final = 30_000
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


def main() -> None:
    """Prints a row for each number of workers, kind of connection and rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--claims", type=int, nargs="+", default=[200, 400, 800],
                        help="claims offered a second, lowest first")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=20.0, help="length of each measurement")
    asked = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
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


if __name__ == "__main__":
    main()
