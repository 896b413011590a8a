"""What streaming costs a match: the same match with and without it, one after the other.

Both kinds are played in pairs, and the first of a pair changes each time. A pair has the same load
beside it, so the differences within pairs tell more than those of all matches. Agents answer at
once: no real match is so fast, so the cost is the largest share that it can be.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.live_feed import weigh_as_service
from benchmarks.node_harness import SEATS, TRIVIAL, Node, play, running, write_agents
from ladder.ids import MatchId
from ladder.matches import live_stream
from services.embedded_servers import start_redis
from tests import servers
from workers.live_publishing import ANSWER_SECONDS, LivePublisher
from workers.redis_clients import client_without_retries

STEPS = 800
"""Steps of a match: long enough that the thread sends while the match is played."""
WARM_UP = 3
"""Pairs that do not count."""
HEAD = ("", "not streamed", "streamed", "difference (median of pairs)", "95 %", "aim", "met?")
MOVE_AIM_US = 5.0
RATE_AIM = -0.02


@dataclass(frozen=True)
class Cost:
    """What one match cost, in seconds."""

    step: float
    """A joint step by the clock: mean."""
    own: float
    """Processor time of the referee's thread for a step."""
    processor: float
    """Processor time of the whole process for a step, with the thread that sends."""
    match: float
    """The match by the clock, without the loan of boxes, until all is sent."""


def rows(seconds: float) -> Iterator[tuple[str, ...]]:
    """Plays pairs for so many seconds; one row for each measure."""
    with tempfile.TemporaryDirectory() as folder, servers.short_folder() as state:
        server = start_redis(state)
        try:
            with running("bubblewrap", "python") as node:
                if isinstance(node, str):
                    yield (f"no boxes: {node}", *("-",) * (len(HEAD) - 1))
                    return
                weigh_as_service()  # as a worker; the boxes keep their own weight
                bundles = write_agents(Path(folder), TRIVIAL)
                pairs = list(measure_pairs(node, bundles, server.url, seconds))
        finally:
            server.stop()
    yield (f"pairs of {STEPS} steps, {SEATS} seats", *(str(len(pairs)),) * 2, *("",) * 4)
    measures: tuple[tuple[str, Callable[[Cost], float], float | None], ...] = (
        ("a move by the clock, us", lambda one: 1e6 * one.step / SEATS, MOVE_AIM_US),
        ("its processor time of the referee, us", lambda one: 1e6 * one.own / SEATS, None),
        ("its processor time in all, us", lambda one: 1e6 * one.processor / SEATS, MOVE_AIM_US),
    )
    for name, of, aim in measures:
        without, with_it = ([of(pair[kind]) for pair in pairs] for kind in (0, 1))
        found = [after - before for before, after in zip(without, with_it, strict=True)]
        middle, low, high = median_and_range(found)
        yield (
            *(name, f"{statistics.median(without):.1f}", f"{statistics.median(with_it):.1f}"),
            *(f"{middle:+.2f}", f"{low:+.2f} to {high:+.2f}"),
            *(("", "") if aim is None else (f"<= {aim:g}", "yes" if middle <= aim else "NO")),
        )
    rates = [pair[0].match / pair[1].match - 1 for pair in pairs]
    middle, low, high = median_and_range(rates)
    without, with_it = ([1 / pair[kind].match for pair in pairs] for kind in (0, 1))
    yield (
        *("matches/s", f"{statistics.median(without):.2f}", f"{statistics.median(with_it):.2f}"),
        *(f"{middle:+.1%}", f"{low:+.1%} to {high:+.1%}"),
        *(f">= {RATE_AIM:.0%}", "yes" if middle >= RATE_AIM else "NO"),
    )


def measure_pairs(
    node: Node, bundles: Sequence[Path], redis_url: str, seconds: float
) -> Iterator[tuple[Cost, Cost]]:
    """The costs of a match that is not streamed, and of one that is."""
    until, number = math.inf, 0
    while time.monotonic() < until:
        order = (False, True) if number % 2 else (True, False)
        found = {streams: measure(node, bundles, redis_url if streams else "") for streams in order}
        number += 1
        if number > WARM_UP:
            yield found[False], found[True]
        elif number == WARM_UP:
            until = time.monotonic() + seconds


def measure(node: Node, bundles: Sequence[Path], redis_url: str) -> Cost:
    """Plays one match. Its cost has the sending of the last steps, after the match."""
    began, own, spent = time.perf_counter(), time.thread_time(), time.process_time()
    publisher = None
    if redis_url:
        key = live_stream.stream_key(MatchId("mat_x"), time.monotonic_ns())
        client = client_without_retries(redis_url, ANSWER_SECONDS)
        publisher = LivePublisher(client, key, is_remote=False)
        publisher.start()
    played = play(node, bundles, on_record=publisher.publish if publisher else None, steps=STEPS)
    own = time.thread_time() - own
    if publisher is not None:
        publisher.stop(is_over=True)
        publisher.join()
    match = time.perf_counter() - began - played.borrowing
    spent = time.process_time() - spent
    return Cost(statistics.fmean(played.steps), own / STEPS, spent / STEPS, match)


def median_and_range(values: Sequence[float]) -> tuple[float, float, float]:
    """The median, and the order statistics between which the true one lies in 95 of 100 cases."""
    ordered, count = sorted(values), len(values)
    reach = 0.98 * math.sqrt(count)
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach))
    return statistics.median(ordered), ordered[low], ordered[high]
