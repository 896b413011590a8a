"""Many watchers of running matches at one API process: its processor time, memory, and the delay.

The API process, Redis, Postgres, the feed and all readers share this machine. The delay counts from
the moment at which a match plays a step. So it has the wait for the worker's thread, up to 0.2 s.
"""

from __future__ import annotations

import re
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.live_feed import Feed, Marks, feeding, weigh_as_service
from benchmarks.live_readers import OPEN_SECONDS, Readers
from benchmarks.processes import read_process
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
from services.embedded_servers import start_redis
from tests import servers

HEAD = (
    *("watchers", "matches", "asleep", "events/s", "cores of the API", "us an event"),
    *("MB before", "MB after", "median ms", "p95 ms", "worst ms", "sample", "feed late ms"),
)
AIMS = "aims: at most 1 core of the API; p95 at most 1,000 ms; readers asleep change nothing"
CASES = ((1, 0), (1, 50), (100, 0))
"""Matches, and readers who read nothing."""
SAMPLED = 20
"""Every so-manieth reader notes when frames came."""
LONG_STEPS = 4000
"""Steps of the match that those who are asleep get at once, some megabytes."""
SETTLE_SECONDS = 2.0
PORT = 8104
WORKER = workers.WorkerHello("bench", "here", "here", matches.QUEUES, 999, ("numpy",))


@dataclass(frozen=True)
class Site:
    """One API process, and a season in which matches can begin."""

    pid: int
    redis_url: str
    database_url: str
    season: str


def allow_connections(count: int) -> None:
    """Lets this process and its children open so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def rows(watchers: int, seconds: float) -> Iterator[tuple[str, ...]]:
    """One match; the same with readers that read nothing; and as many matches as 100."""
    allow_connections(3 * watchers + 1000)
    weigh_as_service()
    with started() as site:
        for count, asleep in CASES:
            yield watch(site, watchers, count, asleep, seconds)


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


def watch(site: Site, watchers: int, count: int, asleep: int, seconds: float) -> tuple[str, ...]:
    """Opens all streams, then measures for some seconds."""
    running = begin(site, count + 1)
    long_match, keys = running[0][0], [key for _, key in running[1:]]
    asked = Feed(
        site.redis_url,
        tuple(keys),
        OPEN_SECONDS + SETTLE_SECONDS + seconds,
        running[0][1] if asleep else "",
        LONG_STEPS,
    )
    before = megabytes(site.pid)
    with feeding(asked) as marks, closing(Readers(PORT)) as readers:
        paths = [f"/v1/matches/{running[1 + n % count][0]}/live" for n in range(watchers)]
        readers.open(paths, sampled=SAMPLED)
        for _ in range(asleep):
            readers.sleep_at(f"/v1/matches/{long_match}/live")
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
        *(f"{watchers:,}", str(count), str(asleep), f"{events / elapsed:,.0f}"),
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
