"""Many watchers of running matches at one API process: its cores, memory, and the delay."""

from __future__ import annotations

import asyncio
import re
import resource
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import redis

from benchmarks.report_tables import quantile
from games import GAMES
from ladder.database import db
from ladder.entries import entries
from ladder.enums import MatchKind
from ladder.ids import MatchId
from ladder.leagues import leagues, seasons
from ladder.matches import lease, live_stream, matches, workers
from ladder.matches.records import LineupSeat, MatchOrder
from sandbox.match.clock import Clock
from sandbox.match.match_record import EpisodeRecord
from tests.stack import Stack
from workers.live_publishing import LivePublisher

HEAD = (
    *("watchers", "matches", "slow ones", "events/s", "cores of the API", "MB before", "MB after"),
    *("median ms", "p95 ms", "worst ms"),
)
STEPS_A_SECOND = 5
SLOW_READERS = 50
WORKER = workers.WorkerHello("bench", "here", "here", matches.QUEUES, 999, ("numpy",))
TICKS = 100
"""Clock ticks a second in /proc."""
PLACE = re.compile(rb"id: \d+\.\d+\.(\d+)\n")


def allow_connections(count: int) -> None:
    """Lets this process and its children open so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def rows(stack: Stack, watchers: int, seconds: float) -> Iterator[tuple[str, ...]]:
    """One match; the same with readers that take nothing; and as many matches as 100."""
    for count, slow in ((1, 0), (1, SLOW_READERS), (100, 0)):
        with Feed(stack, count) as feed:
            time.sleep(1)
            yield asyncio.run(watch(stack, feed, watchers, slow, seconds))


class Feed:
    """Running matches that get a step every fifth of a second."""

    def __init__(self, stack: Stack, count: int) -> None:
        self._ending = threading.Event()
        self.orders = [begin(stack) for _ in range(count)]
        client = redis.Redis.from_url(stack.instance.settings.redis_url)
        self.records = [record_of(order) for order in self.orders]
        self._publishers = []
        for order, record in zip(self.orders, self.records, strict=True):
            key = live_stream.stream_key(order.match_id, order.attempt)
            publisher = LivePublisher(client, key, is_remote=False)
            publisher.publish(record)
            self._publishers.append(publisher)
        self.played_at: list[list[float]] = [[] for _ in self.orders]
        """When each step of each match was played."""
        self._thread = threading.Thread(target=self._play, daemon=True)

    def __enter__(self) -> Feed:
        for publisher in self._publishers:
            publisher.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()
        for publisher in self._publishers:
            publisher.stop(is_over=False)

    def _play(self) -> None:
        game, rng = GAMES["hungry_geese"], Random(1)
        states = [
            game.reset(order.configuration, len(order.digests), Random(order.seed))[0]
            for order in self.orders
        ]
        moves = {seat: "EAST" for seat in range(len(self.orders[0].digests))}
        next_at = time.monotonic()
        while not self._ending.is_set():
            for number, record in enumerate(self.records):
                if self._ending.wait(max(0.0, next_at - time.monotonic())):
                    return
                next_at += 1 / STEPS_A_SECOND / len(self.records)
                alive = {seat: moves[seat] for seat in game.to_move(states[number])}
                states[number], chance = game.step(states[number], alive, rng)
                record.add(alive, {}, chance)
                self.played_at[number].append(time.monotonic())


def begin(stack: Stack) -> MatchOrder:
    """A running match of the league whose lease does not run out."""
    with db.connect(stack.instance.settings.database_url) as conn:
        workers.register_worker(conn, WORKER)
        season = seasons.current_season(conn, leagues.get_league(conn, "live").id)
        assert season is not None
        found = entries.list_entries(conn, season_id=season.id, limit=season.seats)
        lineup = [LineupSeat(one.id, one.submission_id, one.agent_id, one.team_id) for one in found]
        match_id = matches.create_match(conn, season=season, kind=MatchKind.RATED, lineup=lineup)
        conn.execute("update matches set lease_seconds = 3600 where id = %s", (match_id,))
        order = lease.claim_match(conn, MatchId(match_id), WORKER.id)
    assert order is not None
    return replace(order, configuration={**order.configuration, "episodeSteps": 10_000})


def record_of(order: MatchOrder) -> EpisodeRecord:
    game = GAMES[order.game]
    _, chance = game.reset(order.configuration, len(order.digests), Random(order.seed))
    return EpisodeRecord(
        game=game.name,
        version=game.version,
        configuration=order.configuration,
        clock=Clock.from_json(order.clock),
        seats=len(order.digests),
        chance=chance,
    )


async def watch(
    stack: Stack, feed: Feed, watchers: int, slow: int, seconds: float
) -> tuple[str, ...]:
    """Opens all streams, then measures for some seconds."""
    api = next(
        part.child.process.pid
        for part in stack.instance.parts
        if part.name == "api" and part.child is not None
    )
    before = megabytes(api)
    place = urlsplit(stack.address)
    sleepers = [await connect(place, feed.orders[0].match_id) for _ in range(slow)]
    came: list[list[tuple[int, float]]] = [[] for _ in range(watchers)]
    tasks = []
    for number in range(watchers):
        order = feed.orders[number % len(feed.orders)]
        tasks.append(asyncio.create_task(read(place, order.match_id, came[number])))
        if number % 20 == 19:
            await asyncio.sleep(0.05)
    while not all(came):
        await asyncio.sleep(0.2)
    await asyncio.sleep(2)
    began, spent = time.monotonic(), cpu_seconds(api)
    await asyncio.sleep(seconds)
    ended = time.monotonic()
    cores = (cpu_seconds(api) - spent) / (ended - began)
    after = megabytes(api)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for _, writer in sleepers:
        writer.close()
    events, delays = 0, []
    for number, seen in enumerate(came):
        played = feed.played_at[number % len(feed.orders)]
        known = 0
        for frames, at in seen:
            if began <= at <= ended:
                events += 1
                new = range(max(1, known), frames)
                delays += [1000 * (at - played[number - 1]) for number in new]
            known = frames
    return (
        *(f"{watchers:,}", str(len(feed.orders)), str(slow), f"{events / (ended - began):,.0f}"),
        *(f"{cores:.2f}", f"{before:.0f}", f"{after:.0f}"),
        *(f"{quantile(delays, share):.0f}" for share in (0.5, 0.95, 1.0)),
    )


async def connect(place: Any, match_id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """An open stream; the reader of the tuple takes only what is read from it."""
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=1 << 16)
    writer.write(
        f"GET /v1/matches/{match_id}/live HTTP/1.1\r\nHost: {place.netloc}\r\n"
        "Accept: text/event-stream\r\n\r\n".encode()
    )
    await writer.drain()
    return reader, writer


async def read(place: Any, match_id: str, came: list[tuple[int, float]]) -> None:
    """Notes the number of frames after each event, and when it came."""
    reader, writer = await connect(place, match_id)
    try:
        rest = b""
        while chunk := await reader.read(1 << 16):
            now = time.monotonic()
            found = PLACE.findall(rest + chunk)
            rest = chunk[-60:]
            if found and (not came or int(found[-1]) > came[-1][0]):
                came.append((int(found[-1]), now))
    finally:
        writer.close()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) / 1024
