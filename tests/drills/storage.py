"""The blob store fails in four ways while matches are played and agents uploaded: nothing is lost.

    scripts/drill storage [--seconds 60] [--slots 2]

A real instance with its blobs in a real S3 server, behind a proxy. The store answers 503, is slow,
is cut off, and is killed and started again, for ``--seconds`` each. Exits with 1 if a match ends
without a result, an upload gets another answer than 201 or 503 with a time, an accepted upload is
not there, or a row names bytes that the store lacks.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.report_tables import aligned, describe_machine
from ladder.database import db
from ladder.database.blobs import open_blobs
from ladder.database.erased_blobs import check_blobs
from services.api_client import Client
from services.run import demo
from tests import s3_server, servers
from tests.s3_server import BUCKET, Proxy, S3Process
from tests.stack import Stack, running

URL = f"s3://{BUCKET}/drill"
LEAGUE = "battlesnake"
UPLOAD_EVERY_SECONDS = 2.0
SLOW_SECONDS = 2.0
END_SECONDS = 300.0
AGENT = (Path(__file__).parents[2] / "agents" / "battlesnake" / "grazer" / "main.py").read_bytes()


@dataclass
class Phase:
    """What happened while the store failed in one way."""

    name: str
    finished: int = 0
    """Matches that ended with a result."""
    uploads: Counter[str] = field(default_factory=Counter)
    """Uploads by answer."""
    longest_upload_seconds: float = 0.0


@dataclass
class Uploader:
    """Uploads one agent again and again, each time with other bytes."""

    client: Client
    agent: str
    sent: int = 0
    accepted: list[str] = field(default_factory=list)
    """Ids of the accepted submissions."""

    def upload(self, phase: Phase) -> None:
        """One upload, counted in the phase by its answer."""
        self.sent += 1
        body = AGENT + f"\n# {self.sent}\n".encode()
        began = time.monotonic()
        answer = httpx.post(
            f"{self.client.address}/v1/agents/{self.agent}/submissions",
            content=body,
            params={"filename": "main.py"},
            headers={**self.client.headers, "Content-Type": "application/octet-stream"},
            timeout=120,
        )
        took = time.monotonic() - began
        phase.longest_upload_seconds = max(took, phase.longest_upload_seconds)
        told = " with a time" if "retry-after" in answer.headers else ""
        phase.uploads[f"{answer.status_code}{told}"] += 1
        if answer.status_code == 201:
            self.accepted.append(answer.json()["submission"]["id"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the drill; returns the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/drill storage", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of each failure")
    parser.add_argument("--slots", type=int, default=2, help="matches played at a time")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        store = stack.enter_context(s3_server.running(stack.enter_context(servers.short_folder())))
        between = stack.enter_context(s3_server.proxy(store.server))
        surroundings = {**store.server.environment(between.port), "PECK_BLOBS_URL": URL}
        stack.enter_context(s3_server.variables(surroundings))
        faults = run(
            stack.enter_context(running(slots=options.slots)), store, between, options.seconds
        )
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def run(site: Stack, store: S3Process, between: Proxy, seconds: float) -> list[str]:
    """Plays all phases and prints the table. Returns what contradicts the rules."""
    with db.connect(site.instance.settings.database_url) as conn:
        demo.fill_demo_leagues(conn, open_blobs(URL), LEAGUE)
    client = site.client(site.admin_token)
    client.post("/v1/teams", {"name": "Storage", "slug": "storage"})
    uploader = Uploader(
        client, client.post("/v1/agents", {"name": "Uploader", "team": "storage"})["id"]
    )
    phases = [play(site, uploader, Phase("no failure"), seconds / 2)]
    for name, fault in (("answers 503", "busy"), ("slow by 2 s", "slow"), ("cut off", "refuse")):
        between.fault = fault
        phases.append(play(site, uploader, Phase(name), seconds))
        between.fault = ""
        phases.append(play(site, uploader, Phase("afterwards"), seconds / 2))
    store.kill()
    phases.append(play(site, uploader, Phase("killed"), seconds / 2))
    store.start()
    phases.append(play(site, uploader, Phase("afterwards"), seconds / 2))
    print(f"Blobs in SeaweedFS, {describe_machine()}")
    print(table(phases))
    return end(site, uploader, phases)


def play(site: Stack, uploader: Uploader, phase: Phase, seconds: float) -> Phase:
    """Uploads and lets matches run for this long."""
    until = time.monotonic() + seconds
    before = finished(site)
    while time.monotonic() < until:
        uploader.upload(phase)
        time.sleep(UPLOAD_EVERY_SECONDS)
    phase.finished = finished(site) - before
    return phase


def finished(site: Stack) -> int:
    with db.connect(site.instance.settings.database_url) as conn:
        row = conn.execute("select count(*) from matches where state = 'finished'").fetchone()
    assert row is not None
    return int(row[0])


def table(phases: Sequence[Phase]) -> str:
    rows = [["the store", "matches", "uploads accepted", "503 with a time", "other", "longest, s"]]
    for one in phases:
        accepted, away = one.uploads["201"], one.uploads["503 with a time"]
        other = one.uploads.total() - accepted - away
        longest = f"{one.longest_upload_seconds:.1f}"
        rows.append([one.name, *map(str, (one.finished, accepted, away, other)), longest])
    return aligned(rows)


def end(site: Stack, uploader: Uploader, phases: Sequence[Phase]) -> list[str]:
    """Waits for the running matches, prints the final counts and returns the faults."""
    with db.connect(site.instance.settings.database_url) as conn:
        conn.execute("update leagues set state = 'paused'")
        conn.commit()
        until = time.monotonic() + END_SECONDS
        states: Counter[str] = Counter()
        while time.monotonic() < until:
            rows = conn.execute("select state, count(*) from matches group by state").fetchall()
            conn.commit()
            states = Counter({str(state): int(count) for state, count in rows})
            if not states["running"]:
                break
            time.sleep(1)
        report = check_blobs(conn, open_blobs(URL))
        kept = conn.execute(
            "select count(*) from submissions where id = any (%s)", (uploader.accepted,)
        ).fetchone()
        lost = conn.execute(
            "select fault, count(*) from attempts where fault is not null group by fault"
        ).fetchall()
    assert kept is not None
    print(f"matches: {dict(states)}; attempts that failed, by fault: {dict(lost)}")
    print(f"uploads accepted: {len(uploader.accepted)}, kept: {kept[0]}")
    print(f"blobs: {report.blobs}, rows without bytes: {len(report.missing)}")
    told = [f"a row of {table} names missing bytes" for table, _ in report.missing]
    if states["void"]:
        told.append(f"{states['void']} matches ended without a result")
    if kept[0] != len(uploader.accepted):
        told.append("an accepted upload is not there")
    other = sum((one.uploads for one in phases), Counter())
    other -= Counter({"201": other["201"], "503 with a time": other["503 with a time"]})
    return told + [f"{count} uploads got {answer}" for answer, count in other.items()]


if __name__ == "__main__":
    sys.exit(main())
