"""Many simulated workers in one process; ``benchmarks.fleet`` starts several such processes.

A simulated worker waits for messages in Redis, claims the match, holds it, and reports a result. It
sends a heartbeat and renews its lease as real workers do. No game is played.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from psycopg import AsyncConnection, Error, OperationalError
from psycopg.pq import ExecStatus
from redis.asyncio import Redis

from benchmarks.processes import allow_files
from ladder import ids

QUEUE: Final = "bench.play"
PACE_SECONDS: Final = 5.0
"""Between two renewals of a lease."""
LONGEST_PAUSE_SECONDS: Final = 20.0
"""Longest pause between two heartbeats of a worker. The first heartbeats spread over it."""
HEARTBEAT: Final = "select lease_alive($1)"
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
    replay: str


@dataclass
class Counts:
    """What the workers saw: seconds of each call, and calls that failed."""

    claims: list[float] = field(default_factory=list)
    results: list[float] = field(default_factory=list)
    heartbeats: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0


class Database:
    """A connection that uses little processor time, so that many fit beside the servers: it calls
    libpq itself and keeps its place in the loop."""

    def __init__(self, conn: AsyncConnection[Any]) -> None:
        self.conn, self.low = conn, conn.pgconn
        self.answer: asyncio.Future[None] | None = None
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(self.low.socket, self.read)

    async def call(self, query: str, values: Sequence[str]) -> bytes | None:
        """The first value of the answer."""
        self.answer = self.loop.create_future()
        self.low.send_query_params(query.encode(), [value.encode() for value in values])
        self.low.flush()
        await self.answer
        found = None
        while (result := self.low.get_result()) is not None:
            if result.status != ExecStatus.TUPLES_OK:
                raise OperationalError(result.error_message.decode())
            found = result.get_value(0, 0) if result.ntuples else None
        return found

    def read(self) -> None:
        waiting = self.answer
        try:
            self.low.consume_input()
            if waiting is not None and not waiting.done() and not self.low.is_busy():
                waiting.set_result(None)
        except Error as error:
            self.loop.remove_reader(self.low.socket)
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)

    async def close(self) -> None:
        if self.low.socket >= 0:
            self.loop.remove_reader(self.low.socket)
        await self.conn.close()


class Workers:
    """The workers of one process."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.counts = Counts()
        self.hold_seconds = 0.0
        self.logins = asyncio.Semaphore(LOGINS_AT_A_TIME)
        self.tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Obeys lines of the parent: how long a match is held, or that counts are wanted."""
        workers = [Worker(self, number) for number in range(self.load.count)]
        await asyncio.gather(*(worker.begin() for worker in workers))
        print("ready", flush=True)
        self.tasks = [
            asyncio.create_task(act) for one in workers for act in (one.beat(), one.play())
        ]
        for task in self.tasks:
            task.add_done_callback(self.end)
        loop = asyncio.get_running_loop()
        while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
            if line == "report":
                print(json.dumps(asdict(self.counts)), flush=True)
            else:
                self.hold_seconds = float(line)
            self.counts = Counts()
        os._exit(0)  # ten thousand connections need no farewell

    def end(self, task: asyncio.Task[None]) -> None:
        """A worker without an end of its own has failed: the measurement would be wrong."""
        print(f"a worker ended: {task.exception()!r}", file=sys.stderr, flush=True)
        os._exit(1)


class Worker:
    """One simulated worker."""

    def __init__(self, workers: Workers, number: int) -> None:
        load = workers.load
        self.workers, self.load = workers, load
        self.id = f"w-{load.first + number}"
        self.url = load.database_urls[(load.first + number) % len(load.database_urls)]
        self.redis = Redis.from_url(load.redis_url, socket_timeout=None)
        self.database: Database | None = None
        self.turn = asyncio.Lock()

    async def begin(self) -> None:
        """Opens both connections."""
        await self.call(HEARTBEAT, self.id)
        async with self.workers.logins:
            await self.redis.llen(QUEUE)

    async def call(self, query: str, *values: str) -> bytes | None:
        """The first value of the answer. Opens a connection if the worker has none."""
        async with self.turn:
            if self.database is None:
                self.database = await self.login()
            try:
                return await self.database.call(query, values)
            except OperationalError:
                await self.close()
                raise

    async def login(self) -> Database:
        async with self.workers.logins:
            return Database(
                await AsyncConnection.connect(self.url, autocommit=True, prepare_threshold=None)
            )

    async def close(self) -> None:
        if self.database is not None:
            database, self.database = self.database, None
            await database.close()

    async def timed(self, into: str, query: str, *values: str) -> bytes | None:
        began = time.perf_counter()
        try:
            return await self.call(query, *values)
        except Error as error:
            self.workers.counts.failed += 1
            if self.workers.counts.failed < 3:
                print(f"{into}: {error}", file=sys.stderr, flush=True)
            return None
        finally:
            getattr(self.workers.counts, into).append(time.perf_counter() - began)

    async def beat(self) -> None:
        seconds = LONGEST_PAUSE_SECONDS * random.random()
        while True:
            await asyncio.sleep(seconds)
            answer = await self.timed("heartbeats", HEARTBEAT, self.id)
            seconds = PACE_SECONDS if answer is None else float(answer)

    async def play(self) -> None:
        while True:
            match = await self.next_match()
            order = await self.timed("claims", "select lease_claim($1, $2)", match, self.id)
            if order is None:
                self.workers.counts.refused += 1
                continue
            found = json.loads(order)
            match, attempt = found["match_id"], str(found["attempt"])
            ends_at = time.monotonic() + self.workers.hold_seconds
            while (left := ends_at - time.monotonic()) > 0:
                await asyncio.sleep(min(left, PACE_SECONDS))
                if left > PACE_SECONDS:
                    with suppress(Error):
                        await self.call(
                            "select match_id from lease_renew(array[$1], array[$2]::integer[])",
                            *(match, attempt),
                        )
            await self.report(match, attempt)

    async def next_match(self) -> str:
        """The id of the next message; waits for it."""
        found: Any = await self.redis.brpop(QUEUE, 0)
        return str(found[1].decode())

    async def report(self, match: str, attempt: str) -> None:
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
            "select lease_finish($1, $2, $3, $4, $5, $6, $7, $8)",
            *(match, attempt, self.id, json.dumps(seats), json.dumps([episode]), self.id),
            *("image", "rules"),
        )


def main() -> None:
    allow_files(FILES)
    asyncio.run(Workers(Load(**json.loads(sys.argv[1]))).run())


if __name__ == "__main__":
    main()
