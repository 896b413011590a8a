"""Measures the cost of one move through a box, beyond the same JSON work without one."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import resource_usage
from benchmarks.node_harness import (
    CONFIGURATION,
    SEATS,
    Node,
    observation,
    seated,
    timed,
    write_agents,
)
from benchmarks.report_tables import Target
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan, borrow_seats

WARM_UP = 200


def time_moves_in_process(count: int) -> list[float]:
    """The peer: writes and reads the same packets and calls the same agent in one process."""
    seen = observation()
    times = []
    for number in range(count):
        began = time.perf_counter()
        told = json.loads(json.dumps({"k": "act", "n": number, "observation": seen}))
        action = _east(told["observation"], CONFIGURATION)
        answer = json.loads(json.dumps({"k": "reply", "n": number, "action": action}))
        assert answer["action"] == "EAST"
        times.append(time.perf_counter() - began)
    return times


def rows(node: Node, folder: Path, count: int) -> Iterator[Target]:
    """The added time of a move, the time of a step of four seats, and of freezing."""
    (bundle, *_), seen = write_agents(folder, _SOURCE), observation()
    clock = Clock(load="own")
    with seated(node, [bundle], clock) as table:
        resource_usage.wait_until_idle(node)
        for _ in range(WARM_UP):
            table.step(seen)
        # Alternates with the peer, so that both have the same neighbours.
        alone, boxed = [], []
        for _ in range(10):
            alone += time_moves_in_process(count // 10)
            boxed += [sum(table.step(seen)) for _ in range(count // 10)]
        base = statistics.median(alone)
        ratio = statistics.median(boxed) / base
        yield Target("the same JSON work in process", _micro(alone), "us")
        yield Target(
            "one move through a box, added time",
            [1e6 * (one - base) for one in boxed],
            "us",
            60,
            300,
            f"30 us: 2 switches, 4 JSON passes; x{ratio:.1f} of the time in process",
        )
    with seated(node, write_agents(folder, _SOURCE), clock) as table:
        resource_usage.wait_until_idle(node)
        for _ in range(WARM_UP):
            table.step(seen)
        steps = [sum(table.step(seen)) for _ in range(count)]
        ratio = statistics.median(steps) / (SEATS * base)
        yield Target(
            f"step of {SEATS} seats asked at once",
            _micro(steps),
            "us",
            250,
            None,
            f"4 x 45 us of cpu on 2 cores; x{ratio:.1f} of four in process",
        )
    yield _freezing(node, bundle, count)


def _freezing(node: Node, bundle: Path, count: int) -> Target:
    with borrow_seats(node.socket, [node.request(bundle)], 60) as (loan,):
        assert isinstance(loan, Loan)
        meter = loan.meter
        meter.freeze()
        if not meter.is_frozen:
            return Target("freeze and thaw", "not available here", "us", 60)
        meter.thaw()
        times = []
        for _ in range(min(count, 300)):
            freezing = timed(meter.freeze)
            time.sleep(0.002)  # waits until the box is frozen
            times.append(freezing + timed(meter.thaw))
            time.sleep(0.001)
    return Target("freeze and thaw", _micro(times), "us", 60, None, "two file writes")


_SOURCE = "def agent(observation, configuration):\n    return 'EAST'\n"


def _east(observation: object, configuration: object) -> str:
    return "EAST"


def _micro(seconds: list[float]) -> list[float]:
    return [1e6 * one for one in seconds]
