"""What streaming costs a match: the same match with and without it, in turn."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.node_harness import SEATS, TRIVIAL, Node, play, running, write_agents
from ladder.ids import MatchId
from ladder.matches import live_stream
from services.embedded_servers import start_redis
from tests import servers
from workers.live_publishing import LivePublisher, publishing_client

HEAD = (
    "100 steps, 4 seats",
    "matches",
    "matches/s",
    "step us",
    "cpu ms",
    "difference",
)
GROUP = 1
"""Matches of a kind in a round."""
WARM_UP = 3
"""Rounds that do not count."""


def rows(rounds: int) -> Iterator[tuple[str, ...]]:
    """Medians over the rounds; the order of both kinds changes from round to round."""
    with tempfile.TemporaryDirectory() as folder, servers.short_folder() as state:
        server = start_redis(state)
        try:
            with running("bubblewrap", "python") as node:
                if isinstance(node, str):
                    yield (f"no boxes: {node}", *("-",) * (len(HEAD) - 1))
                    return
                bundles = write_agents(Path(folder), TRIVIAL)
                measured: dict[bool, list[tuple[float, float, float]]] = {False: [], True: []}
                for number in range(rounds + WARM_UP):
                    for streams in (number % 2 == 0, number % 2 == 1):
                        found = measure(node, bundles, server.url if streams else "")
                        if number >= WARM_UP:
                            measured[streams].append(found)
        finally:
            server.stop()
    medians = {
        kind: [statistics.median(column) for column in zip(*found, strict=True)]
        for kind, found in measured.items()
    }
    count = str(rounds * GROUP)
    for streams, title in ((False, "not streamed"), (True, "streamed")):
        rate, step, cpu = medians[streams]
        yield (title, count, f"{rate:.2f}", f"{1e6 * step:.0f}", f"{1e3 * cpu:.1f}", "")
    pairs = list(zip(measured[False], measured[True], strict=True))
    rate = statistics.median(with_it[0] / without[0] for without, with_it in pairs) - 1
    step = statistics.median(with_it[1] - without[1] for without, with_it in pairs)
    cpu = statistics.median(with_it[2] - without[2] for without, with_it in pairs)
    yield (
        *("difference (median of pairs)", "", f"{rate:+.1%}", f"{1e6 * step:+.1f}"),
        *(f"{1e3 * cpu:+.1f}", f"{1e6 * step / SEATS:+.1f} us a move"),
    )


def measure(node: Node, bundles: list[Path], redis_url: str) -> tuple[float, float, float]:
    """Matches a second, seconds of a joint step, and processor seconds of a match here."""
    began, spent = time.perf_counter(), time.process_time()
    steps: list[float] = []
    for number in range(GROUP):
        publisher = None
        if redis_url:
            key = live_stream.stream_key(MatchId(f"mat_{number}"), time.monotonic_ns())
            publisher = LivePublisher(publishing_client(redis_url), key, is_remote=False)
            publisher.start()
        steps += play(node, bundles, on_record=publisher.publish if publisher else None).steps
        if publisher is not None:
            publisher.stop(is_over=True)
    elapsed = time.perf_counter() - began
    cpu = (time.process_time() - spent) / GROUP
    return GROUP / elapsed, sum(steps) / len(steps), cpu
