"""Prints the weight and the first paint of the ten most used pages, in Chromium with throttling.

    python -m benchmarks.site_weight [--rounds 3]

The site is the one of the page tests: a real server over a seeded contest. Chromium runs at a
quarter of the processor's speed on a slow 4G line (150 ms, 1.6 Mbit/s), with an empty cache for
each page. The weight is what came over the line, without pictures and episodes. The paint is the
first contentful one, from the start of the navigation.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser

from benchmarks.report_tables import aligned, describe_machine
from benchmarks.site_process import serving
from ladder.database.blobs import open_blobs
from ladder.database.db import connect
from tests import servers
from tests.browsers import chromium
from tests.web.seeding import Contest, seed

SLOW_4G: Final = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}
CPU_RATE: Final = 4
PORT: Final = 8105
MOST_KB: Final = 100
MOST_SECONDS: Final = 1.0
COUNTED: Final = ("Document", "Script", "Stylesheet", "Font")


@contextmanager
def site() -> Iterator[tuple[str, Contest]]:
    """A server over a seeded contest."""
    with (
        servers.postgres() as url,
        tempfile.TemporaryDirectory() as folder,
        servers.cloned(url, servers.template(url)) as database,
    ):
        blobs = Path(folder).as_uri()
        with connect(database) as conn:
            contest = seed(conn, open_blobs(blobs), rated=24)
        environment = {
            "PECK_DATABASE_URL": database,
            "PECK_BLOBS_URL": blobs,
            "PECK_SIGN_UP": "open",
        }
        with serving("services.app:create_app", PORT, Path(folder), **environment):
            yield f"http://127.0.0.1:{PORT}", contest


def pages(contest: Contest) -> list[str]:
    """The ten pages that visitors read most."""
    return [
        "/",
        "/leagues",
        "/leagues/hungry-geese",
        f"/agents/{contest.own[0].agent_id}",
        f"/matches/{contest.rated[-1]}",
        "/matches",
        "/games/hungry_geese",
        "/docs/quick-start",
        "/docs/api/matches",
        "/sign-up",
    ]


def visit(browser: Browser, address: str) -> tuple[float, float]:
    """Kilobytes over the line and seconds until the first contentful paint."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    line = context.new_cdp_session(page)
    kinds: dict[str, str] = {}
    bytes_of: dict[str, float] = {}

    def note_kind(event: dict[str, Any]) -> None:
        kinds[event["requestId"]] = event["type"]

    def note_size(event: dict[str, Any]) -> None:
        bytes_of[event["requestId"]] = event["encodedDataLength"]

    line.on("Network.responseReceived", note_kind)
    line.on("Network.loadingFinished", note_size)
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", SLOW_4G)
    line.send("Emulation.setCPUThrottlingRate", {"rate": CPU_RATE})
    page.goto(address, wait_until="networkidle")
    painted = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
    )
    context.close()
    weight = sum(size for name, size in bytes_of.items() if kinds.get(name) in COUNTED)
    return weight / 1000, (painted or float("nan")) / 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(describe_machine())
    rows = [["page", "kB", "first paint s"]]
    heaviest = slowest = 0.0
    with site() as (address, contest), chromium() as browser:
        for path in pages(contest):
            found = [visit(browser, address + path) for _ in range(options.rounds)]
            weight, paint = (statistics.median(column) for column in zip(*found, strict=True))
            heaviest, slowest = max(heaviest, weight), max(slowest, paint)
            rows.append([path.split("_")[0], f"{weight:.1f}", f"{paint:.2f}"])
    print(aligned(rows))
    print(
        f"heaviest {heaviest:.1f} kB, aim {MOST_KB} kB;"
        f" slowest paint {slowest:.2f} s, aim {MOST_SECONDS:.0f} s"
    )
    return int(heaviest > MOST_KB)


if __name__ == "__main__":
    sys.exit(main())
