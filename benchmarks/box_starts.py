"""Measures the time from request to ready agent, and from the end of a match to a clean box."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import resource_usage
from benchmarks.node_harness import (
    BORROW_SECONDS,
    TRIVIAL,
    Node,
    Table,
    observation,
    running,
    write_agents,
)
from benchmarks.report_tables import Target
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan, borrow_seats

OWN = Clock(load="own")
SPARE_SECONDS = 0.05
"""The next child is forked within this time after a match."""
UNSEEN_MIB = 1
START = {"python": (2, 8), "numpy": (2, 8), "torch": (4, 20)}
UNSEEN = {"python": 12, "numpy": 12, "torch": 25}
END = {"python": 5, "numpy": 5, "torch": 12}
COLD = {"docker": 500, "bubblewrap": 250}
COLD_TORCH = 2500


def rows(node: Node, folder: Path, count: int) -> Iterator[Target]:
    """Starts and ends on a bound, warm box."""
    bundle = write_agents(folder, source_for(node.profile), 1)[0]
    time_one_start(node, bundle)
    resource_usage.wait_until_idle(node)
    rested, lent, ends = [], [], []
    for _ in range(count):
        time.sleep(SPARE_SECONDS)
        borrowing, start, end = time_one_start(node, bundle)
        lent.append(1e3 * borrowing)
        rested.append(1e3 * (borrowing + start))
        ends.append(1e3 * end)
    hurried = []
    for _ in range(count):
        borrowing, start, _ = time_one_start(node, bundle)
        hurried.append(1e3 * (borrowing + start))
    median, p99 = START[node.profile]
    name = node.profile
    yield Target(
        f"start on a warm bound box, {name}",
        rested,
        "ms",
        median,
        p99,
        "main.py executed by a child pre-forked",
    )
    yield Target(f"  until the loan, {name}", lent, "ms")
    yield Target(f"  right after a match's end, {name}", hurried, "ms", None, None, "with the fork")
    yield Target(
        f"end of a match: sweep and proof, {name}",
        ends,
        "ms",
        END[name],
        None,
        "exit of the interpreter",
    )


def measure_unseen_starts(node: Node, folder: Path, count: int) -> Target:
    """Starts of new submissions on generic warm boxes, with pauses to refill the pool."""
    times = []
    for number in range(count):
        bundle = _archive(folder / f"unseen{number}.tar.gz", source_for(node.profile))
        resource_usage.wait_until_idle(node)
        borrowing, start, _ = time_one_start(node, bundle)
        times.append(1e3 * (borrowing + start))
    return Target(
        f"unseen submission of {UNSEEN_MIB} MiB on a generic warm box, {node.profile}",
        times,
        "ms",
        UNSEEN[node.profile],
        None,
        "unpacked twice copied, a fork each for unpacker and child",
    )


def measure_cold_starts(
    launcher: str, profile: str, state: Path, folder: Path, count: int
) -> Target:
    """Starts that must first start a box."""
    what = f"start on a cold box, {profile}"
    aim = COLD_TORCH if profile == "torch" else COLD[launcher]
    with running(launcher, profile, "--warm", "0", "--keep", "0", state=state) as node:
        if isinstance(node, str):
            return Target(what, node, "ms", aim)
        bundle = write_agents(folder, source_for(profile), 1)[0]
        times = []
        for _ in range(count):
            borrowing, start, _ = time_one_start(node, bundle)
            times.append(1e3 * (borrowing + start))
            time.sleep(0.5)  # lets the removed box end
    return Target(what, times, "ms", aim, None, "start of container and imports")


def source_for(profile: str) -> str:
    """A trivial agent that uses the libraries of its profile."""
    return _NET if profile == "torch" else TRIVIAL


_NET = """\
import torch

NET = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))


def agent(observation, configuration):
    with torch.inference_mode():
        best = int(NET(torch.zeros(1, 64)).argmax())
    return 'EAST' if best < 4 else 'WEST'
"""


def time_one_start(node: Node, bundle: Path) -> tuple[float, float, float]:
    """Seconds to the loan, from the loan to ready, and for the end after one move."""
    began = time.perf_counter()
    with borrow_seats(node.socket, [node.request(bundle)], BORROW_SECONDS) as (loan,):
        assert isinstance(loan, Loan), loan
        lent = time.perf_counter()
        table = Table([loan], OWN)
        table.start()
        ready = time.perf_counter()
        table.step(_SEEN)
        table.close()
        ending = time.perf_counter()
        if not loan.end().clean:
            raise SystemExit("the box was not clean")
        ended = time.perf_counter()
    return lent - began, ready - lent, ended - ending


_SEEN = observation()


def _archive(path: Path, source: str) -> Path:
    """A bundle of incompressible bytes, different each time."""
    files = {"main.py": source.encode(), "weights.bin": os.urandom(UNSEEN_MIB << 20)}
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return path
