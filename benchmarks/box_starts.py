"""From the request for a seat until its agent is ready, and from its end until the proof."""

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
from sandbox.match.loans import Loan
from sandbox.match.seat_loans import borrow_seats

OWN = Clock(load="own")
SPARE_SECONDS = 0.05
"""After a match's end the next child is forked; longer than that takes."""
UNSEEN_MIB = 1
START = {"python": (2, 8), "numpy": (2, 8), "torch": (4, 20)}
UNSEEN = {"python": 12, "numpy": 12, "torch": 25}
END = {"python": 5, "numpy": 5, "torch": 12}
COLD = {"docker": 500, "bubblewrap": 250}
COLD_TORCH = 2500


def rows(node: Node, folder: Path, count: int) -> Iterator[Target]:
    """Starts and ends on a box that is bound and warm."""
    bundle = write_agents(folder, source_for(node.profile), 1)[0]
    once(node, bundle)
    resource_usage.settle(node)
    rested, lent, ends = [], [], []
    for _ in range(count):
        time.sleep(SPARE_SECONDS)
        borrowing, start, end = once(node, bundle)
        lent.append(1e3 * borrowing)
        rested.append(1e3 * (borrowing + start))
        ends.append(1e3 * end)
    hurried = []
    for _ in range(count):
        borrowing, start, _ = once(node, bundle)
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
    yield Target(f"  of it until the loan, {name}", lent, "ms")
    yield Target(f"  right after a match's end, {name}", hurried, "ms", None, None, "with the fork")
    yield Target(
        f"end of a match: sweep and proof, {name}",
        ends,
        "ms",
        END[name],
        None,
        "exit of the interpreter",
    )


def unseen(node: Node, folder: Path, count: int) -> Target:
    """Submissions that no box has seen, on generic warm boxes; the pool is left to refill."""
    times = []
    for number in range(count):
        bundle = _archive(folder / f"unseen{number}.tar.gz", source_for(node.profile))
        resource_usage.settle(node)
        borrowing, start, _ = once(node, bundle)
        times.append(1e3 * (borrowing + start))
    return Target(
        f"unseen submission of {UNSEEN_MIB} MiB on a generic warm box, {node.profile}",
        times,
        "ms",
        UNSEEN[node.profile],
        None,
        "unpacked twice copied, a fork each for unpacker and child",
    )


def cold(launcher: str, profile: str, state: Path, folder: Path, count: int) -> Target:
    """Boxes that must be started first."""
    what = f"start on a cold box, {profile}"
    aim = COLD_TORCH if profile == "torch" else COLD[launcher]
    with running(launcher, profile, "--warm", "0", "--keep", "0", state=state) as node:
        if isinstance(node, str):
            return Target(what, node, "ms", aim)
        bundle = write_agents(folder, source_for(profile), 1)[0]
        times = []
        for _ in range(count):
            borrowing, start, _ = once(node, bundle)
            times.append(1e3 * (borrowing + start))
            time.sleep(0.5)  # the removed one's
    return Target(what, times, "ms", aim, None, "start of container and imports")


def source_for(profile: str) -> str:
    """A trivial agent that uses what its profile has."""
    return _NET if profile == "torch" else TRIVIAL


_NET = """\
import torch

NET = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))


def agent(observation, configuration):
    with torch.inference_mode():
        best = int(NET(torch.zeros(1, 64)).argmax())
    return 'EAST' if best < 4 else 'WEST'
"""


def once(node: Node, bundle: Path) -> tuple[float, float, float]:
    """Seconds until lent, from there to ready, and of the end after one move."""
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
    """A bundle of bytes that do not compress, different each time."""
    files = {"main.py": source.encode(), "weights.bin": os.urandom(UNSEEN_MIB << 20)}
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return path
