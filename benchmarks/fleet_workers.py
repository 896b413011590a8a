"""Many simulated workers in one process; ``benchmarks.fleet`` starts several such processes.

A simulated worker waits for messages in Redis, claims the match, holds it, and reports a result. It
sends a heartbeat and renews its lease as real workers do. No game is played.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb
from redis.asyncio import Redis

from ladder import ids

QUEUE: Final = "bench.play"
PACE_SECONDS: Final = 5.0
"""Between two heartbeats of a worker, and two renewals of its lease."""
LOGINS_AT_A_TIME: Final = 16
FILES: Final = 30_000


@dataclass(frozen=True)
class Load:
    """What the workers of one process do."""

    database_urls: Sequence[str]
    """Of the machines; workers use them in turn."""
    redis_url: str
    first: int
    count: int
    hold_seconds: float
    keeps: bool
    """Whether a worker keeps its connection to Postgres, or opens one for each call."""
    replay: str


@dataclass
class Counts:
    """What the workers saw: seconds of each call, and calls that failed."""

    claims: list[float] = field(default_factory=list)
    results: list[float] = field(default_factory=list)
    heartbeats: list[float] = field(default_factory=list)
    logins: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0


class Workers:
    """The workers of one process."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.counts = Counts()
        self.logins = asyncio.Semaphore(LOGINS_AT_A_TIME)
        self.tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        workers = [Worker(self, number) for number in range(self.load.count)]
        await asyncio.gather(*(worker.begin() for worker in workers))
        print("ready", flush=True)
        self.tasks = [
            asyncio.create_task(act) for one in workers for act in (one.beat(), one.play())
        ]
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        self.counts = Counts()  # the first seconds do not count
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        print(json.dumps(asdict(self.counts)), flush=True)
        os._exit(0)  # ten thousand connections need no farewell


class Worker:
    """One simulated worker."""

    def __init__(self, workers: Workers, number: int) -> None:
        load = workers.load
        self.workers, self.load = workers, load
        self.id = f"w-{load.first + number}"
        self.url = load.database_urls[(load.first + number) % len(load.database_urls)]
        self.redis = Redis.from_url(load.redis_url)
        self.conn: AsyncConnection[Any] | None = None
        self.turn = asyncio.Lock()

    async def begin(self) -> None:
        hello = {
            "id": self.id, "host": self.id, "node": self.id, "queues": ["play.cpu"], "slots": 1,
            "profiles": ["numpy", "python"], "gpu": 0, "speed_class": "any", "lacks": [],
            "image_digests": {},
        }  # fmt: skip
        await self.call("select lease_register(%s)", Jsonb(hello))

    async def call(self, query: str, *values: Any) -> Any:
        """The first value of the answer. Opens a connection if the worker has none."""
        async with self.turn:
            if self.conn is None:
                self.conn = await self.login()
            try:
                cursor = await self.conn.execute(query.encode(), values)
                row = await cursor.fetchone()
                return None if row is None else row[0]
            except psycopg.OperationalError:
                await self.close()
                raise
            finally:
                if not self.load.keeps:
                    await self.close()

    async def login(self) -> AsyncConnection[Any]:
        async with self.workers.logins:
            began = time.perf_counter()
            made = await AsyncConnection.connect(self.url, autocommit=True, prepare_threshold=None)
            self.workers.counts.logins.append(time.perf_counter() - began)
        return made

    async def close(self) -> None:
        if self.conn is not None:
            conn, self.conn = self.conn, None
            await conn.close()

    async def timed(self, into: str, query: str, *values: Any) -> Any:
        began = time.perf_counter()
        try:
            return await self.call(query, *values)
        except psycopg.Error as error:
            self.workers.counts.failed += 1
            if self.workers.counts.failed < 3:
                print(f"{into}: {error}", file=sys.stderr, flush=True)
            return None
        finally:
            getattr(self.workers.counts, into).append(time.perf_counter() - began)

    async def beat(self) -> None:
        await asyncio.sleep(random.random() * PACE_SECONDS)
        while True:
            await self.timed("heartbeats", "select lease_heartbeat(%s)", self.id)
            await asyncio.sleep(PACE_SECONDS)

    async def play(self) -> None:
        while True:
            match = await self.next_match()
            order = await self.timed("claims", "select lease_claim(%s, %s)", match, self.id)
            if order is None:
                self.workers.counts.refused += 1
                continue
            match, attempt = order["match_id"], order["attempt"]
            ends_at = time.monotonic() + self.load.hold_seconds
            while (left := ends_at - time.monotonic()) > 0:
                await asyncio.sleep(min(left, PACE_SECONDS))
                if left > PACE_SECONDS:
                    with suppress(psycopg.Error):
                        await self.call(
                            "select match_id from lease_renew(%s, %s)", [match], [attempt]
                        )
            await self.report(match, attempt)

    async def next_match(self) -> str:
        """The id of the next message; waits for it."""
        found: Any = await self.redis.brpop(QUEUE, 0)
        return str(found[1].decode())

    async def report(self, match: str, attempt: int) -> None:
        seats = [
            {
                "seat": seat, "placement": seat + 1, "reward": 1.0, "verdict": "DONE",
                "reason": None, "failed_step": None, "charged_seconds": 0.5,
                "max_move_seconds": 0.1, "log_digest": None, "statistics": None, "answered": True,
            }
            for seat in range(4)
        ]  # fmt: skip
        episode = {
            "id": ids.new_id("epi"), "position": 0, "steps": 10, "replay_digest": self.load.replay
        }  # fmt: skip
        await self.timed(
            "results",
            "select lease_finish(%s, %s, %s, %s, %s, %s, %s, %s)",
            *(match, attempt, self.id, Jsonb(seats), Jsonb([episode]), self.id, "image", "rules"),
        )


def main() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(FILES, hard)), hard))
    asyncio.run(Workers(Load(**json.loads(sys.argv[1]))).run())


if __name__ == "__main__":
    main()
