"""Plays matches as one worker does and says how long each part took; ``benchmarks.joined`` runs it.

Reads the settings of a worker from the environment, and ids of matches, one a line. Writes one line
of JSON for each: seconds by part.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from ladder.database import db
from ladder.database.blobs import MatchBlobs, StoredBlob
from ladder.database.kept_connection import KEPT_SECONDS
from ladder.ids import MatchId
from ladder.matches import lease, workers
from ladder.matches.workers import WorkerHello
from ladder.settings import Settings
from sandbox.match import attempt, loans
from workers import match_attempt
from workers.main import FAR_KEPT_SECONDS
from workers.match_attempt import Slots
from workers.site_blobs import open_match_blobs

T = TypeVar("T")


@dataclass
class Parts:
    """Seconds of one match by part; all other time is in ``total`` alone."""

    claim: float = 0.0
    """The call that claims, without its connection."""
    bundles: float = 0.0
    play: float = 0.0
    storing: float = 0.0
    result: float = 0.0
    """The call that reports the result, without its connection."""
    connections: float = 0.0
    """Opening and closing connections to Postgres."""
    total: float = 0.0


class Timed:
    """Measures the parts of the match that is played."""

    def __init__(self) -> None:
        self.parts = Parts()

    def wrap(self, part: str, call: Callable[..., T]) -> Callable[..., T]:
        def timed(*args: Any, **options: Any) -> T:
            began = time.perf_counter()
            try:
                return call(*args, **options)
            finally:
                self.add(part, time.perf_counter() - began)

        return timed

    def add(self, part: str, seconds: float) -> None:
        setattr(self.parts, part, getattr(self.parts, part) + seconds)


class TimedBlobs:
    """Blobs that measure their reads and writes."""

    def __init__(self, blobs: MatchBlobs, timed: Timed) -> None:
        self._blobs, self._timed = blobs, timed

    def put_bytes(self, content: bytes) -> StoredBlob:
        return self._timed.wrap("storing", self._blobs.put_bytes)(content)

    def open(self, digest: str) -> Iterator[bytes]:
        whole = self._timed.wrap("bundles", lambda: b"".join(self._blobs.open(digest)))()
        return iter([whole])

    def path(self, digest: str) -> Path | None:
        return self._blobs.path(digest)

    def exists(self, digest: str) -> bool:
        return self._blobs.exists(digest)

    def require_room(self) -> None:
        self._blobs.require_room()


def main() -> None:
    settings = Settings()
    timed = Timed()
    worker = sys.argv[1]
    node = loans.node_hello(settings.node_socket)
    with db.connect(settings.worker_database_url) as conn:
        queues = ("play.cpu", "validate")
        hello = WorkerHello(worker, worker, node.node, queues, 1, node.profiles)
        workers.register_worker(conn, hello)
    blobs = TimedBlobs(open_match_blobs(settings), timed)
    for module, name, part in (
        (attempt, "play", "play"),
        (lease, "claim_match", "claim"),
        (lease, "finish_match", "result"),
        (psycopg, "connect", "connections"),
    ):
        setattr(module, name, timed.wrap(part, getattr(module, name)))
    kept_seconds = FAR_KEPT_SECONDS if settings.machine_secret else KEPT_SECONDS
    context = match_attempt.WorkerContext(
        settings, blobs, worker, 1, Slots(1), kept_seconds=kept_seconds
    )
    print("ready", flush=True)
    for line in sys.stdin:
        timed.parts = Parts()
        outcome = timed.wrap("total", match_attempt.play_match)(context, MatchId(line.strip()))
        if outcome != "accepted":
            raise RuntimeError(f"{line.strip()}: {outcome}")
        print(json.dumps(asdict(timed.parts)), flush=True)


if __name__ == "__main__":
    main()
