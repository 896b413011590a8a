"""Many watchers of running matches at one API process: its processor time, memory, and the delay.

The API process, Redis, Postgres, the feed and all readers share this machine. The delay counts from
the moment at which a match plays a step. So it has the wait for the worker's thread, up to 0.2 s.
"""

from __future__ import annotations

import re
import select
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.live_feed import Feed, Marks, feeding, weigh_as_service
from benchmarks.processes import allow_files, read_process
from benchmarks.rated_season import create_rated_season
from benchmarks.report_tables import quantile
from benchmarks.site_process import serving
from ladder.database import db
from ladder.entries import entries
from ladder.enums import MatchKind
from ladder.ids import MatchId, SeasonId
from ladder.leagues import seasons
from ladder.matches import lease, live_stream, matches, workers
from ladder.matches.records import LineupSeat
from services.run.embedded_servers import start_redis
from tests import servers

HEAD = (
    *("watchers", "matches", "events/s", "cores of the API", "us an event"),
    *("MB before", "MB after", "median ms", "p95 ms", "worst ms", "sample", "feed late ms"),
)
AIMS = "aims: at most 1 core of the API; p95 at most 1,000 ms"
CASES = (1, 100)
"""Matches."""
SAMPLED = 20
"""One reader of so many notes when frames came."""
SETTLE_SECONDS = 2.0
PORT = 8104
WORKER = workers.WorkerHello("bench", "here", "here", matches.QUEUES, 999, ("numpy",))
PLACE = re.compile(rb"id: \d+\.\d+\.(\d+)\n")
EVENT = b"event: frames"
TAIL = 60
"""Bytes kept of a sampled stream, so that an id in two parts is found."""
OPENING = 30
"""Requests without an answer at a time."""
OPEN_SECONDS = 120.0


@dataclass
class Reader:
    """One stream, a socket. A reader counts events; a sampled one notes when each frame came."""

    match: int
    """Number of the match."""
    is_sampled: bool
    socket: socket.socket
    events: int = 0
    tail: bytes = b""
    came: list[tuple[int, float]] = field(default_factory=list)
    """Frames after an event, and the time in seconds of ``time.monotonic``."""

    def take(self, chunk: bytes) -> None:
        self.events += chunk.count(EVENT)
        if not self.is_sampled:
            return
        now = time.monotonic()
        found = PLACE.findall(self.tail + chunk)
        self.tail = chunk[-TAIL:]
        if found and (not self.came or int(found[-1]) > self.came[-1][0]):
            self.came.append((int(found[-1]), now))


class Readers:
    """Open streams of one server, in one process that takes little of the processor."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._poll = select.epoll()
        self._readers: dict[int, Reader] = {}

    def open(self, paths: Sequence[str], *, sampled: int) -> None:
        """Opens so many streams, of which each ``sampled``-th is sampled. Raises on a refusal."""
        until = time.monotonic() + OPEN_SECONDS
        waiting: set[int] = set()
        left = list(enumerate(paths))[::-1]
        while left or waiting:
            assert time.monotonic() < until, f"{len(left) + len(waiting)} streams did not open"
            while left and len(waiting) < OPENING:
                number, path = left.pop()
                made = self._connect(path)
                self._readers[made.fileno()] = Reader(number, number % sampled == 0, made)
                self._poll.register(made.fileno(), select.EPOLLIN)
                waiting.add(made.fileno())
            for number in self._read_once(0.1):
                waiting.discard(number)

    def read_until(self, until: float) -> None:
        """Reads all streams until this moment of ``time.monotonic``."""
        while (left := until - time.monotonic()) > 0:
            self._read_once(min(left, 0.1))

    def readers(self) -> list[Reader]:
        """All readers, in the order in which they opened."""
        return list(self._readers.values())

    def close(self) -> None:
        """Closes all streams."""
        self._poll.close()
        for one in (reader.socket for reader in self._readers.values()):
            one.close()

    def _connect(self, path: str) -> socket.socket:
        made = socket.socket()
        made.connect(("127.0.0.1", self._port))
        made.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        made.setblocking(False)
        return made

    def _read_once(self, seconds: float) -> list[int]:
        """Reads what came; returns the file numbers of these streams."""
        ready = [number for number, _ in self._poll.poll(seconds)]
        for number in ready:
            reader = self._readers[number]
            chunk = reader.socket.recv(1 << 16)
            assert chunk, "a stream ended"
            assert chunk[:9] != b"HTTP/1.1 " or chunk[9:12] == b"200", chunk
            reader.take(chunk)
        return ready


@dataclass(frozen=True)
class Site:
    """One API process, and a season in which matches can begin."""

    pid: int
    redis_url: str
    database_url: str
    season: str


def rows(watchers: int, seconds: float) -> Iterator[tuple[str, ...]]:
    """One match, and 100."""
    allow_files(3 * watchers + 1000)
    weigh_as_service()
    with started() as site:
        for count in CASES:
            yield watch(site, watchers, count, seconds)


@contextmanager
def started() -> Iterator[Site]:
    """The API process with its servers."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="peck-live-")))
        server_url = stack.enter_context(servers.postgres())
        template = servers.template(server_url)
        url = stack.enter_context(servers.cloned(server_url, template))
        redis = start_redis(stack.enter_context(servers.short_folder()))
        stack.callback(redis.stop)
        season = create_rated_season(url, 4)
        pid = stack.enter_context(
            serving(
                "services.app:create_app",
                PORT,
                folder,
                PECK_DATABASE_URL=url,
                PECK_REDIS_URL=redis.url,
                PECK_BLOBS_URL=folder.as_uri(),
                PECK_LIVE_STREAMS="25000",  # one address gets a fifth
            )
        )
        yield Site(pid, redis.url, url, season)


def watch(site: Site, watchers: int, count: int, seconds: float) -> tuple[str, ...]:
    """Opens all streams, then measures for some seconds."""
    running = begin(site, count)
    keys = tuple(key for _, key in running)
    asked = Feed(site.redis_url, keys, OPEN_SECONDS + SETTLE_SECONDS + seconds)
    before = megabytes(site.pid)
    with feeding(asked) as marks, closing(Readers(PORT)) as readers:
        paths = [f"/v1/matches/{running[n % count][0]}/live" for n in range(watchers)]
        readers.open(paths, sampled=SAMPLED)
        readers.read_until(time.monotonic() + SETTLE_SECONDS)
        began, spent, had = time.monotonic(), read_process(site.pid).own_seconds, events_of(readers)
        readers.read_until(began + seconds)
        ended = time.monotonic()
        used, events = read_process(site.pid).own_seconds - spent, events_of(readers) - had
        after = megabytes(site.pid)
        found = delays_of(readers, asked, marks, began, ended)
        delays, late = [1000 * one for one in found], 1000 * marks.latest.value
    elapsed = ended - began
    return (
        *(f"{watchers:,}", str(count), f"{events / elapsed:,.0f}"),
        *(f"{used / elapsed:.2f}", f"{1e6 * used / max(1, events):.0f}"),
        *(f"{before:.0f}", f"{after:.0f}"),
        *(f"{quantile(delays, share):.0f}" for share in (0.5, 0.95, 1.0)),
        *(f"{len(delays):,}", f"{late:.0f}"),
    )


def begin(site: Site, count: int) -> list[tuple[MatchId, str]]:
    """Running matches, whose leases do not run out, and their streams in Redis."""
    made = []
    with db.connect(site.database_url) as conn:
        workers.register_worker(conn, WORKER)
        season = seasons.get_season(conn, SeasonId(site.season))
        found = entries.list_entries(conn, season_id=season.id, limit=season.seats)
        lineup = [LineupSeat(one.id, one.submission_id, one.agent_id, one.team_id) for one in found]
        for _ in range(count):
            match = matches.create_match(conn, season=season, kind=MatchKind.RATED, lineup=lineup)
            conn.execute("update matches set lease_seconds = 3600 where id = %s", (match,))
            order = lease.claim_match(conn, match, WORKER.id)
            assert order is not None
            made.append((order.match_id, live_stream.stream_key(order.match_id, order.attempt)))
    return made


def events_of(readers: Readers) -> int:
    return sum(one.events for one in readers.readers())


def delays_of(
    readers: Readers, asked: Feed, marks: Marks, began: float, ended: float
) -> Iterator[float]:
    """Seconds from each step to its frame at the sampled readers, for frames within the time."""
    first_at, count = marks.began_at.value, len(asked.keys)
    for reader in readers.readers():
        known = 0
        for frames, at in reader.came:
            if began <= at <= ended:
                for step in range(max(1, known), frames):
                    yield at - first_at - asked.played_at(reader.match % count, step)
            known = frames


def megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) / 1024
