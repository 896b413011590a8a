"""Measures what a match costs more on a machine that joined than on the site's own machine.

    python -m benchmarks.joined [--matches 20] [--distance-ms 0 40] [--steps 100]

The same lineup plays on three workers in turn, all with one node: one of the site, which reads and
stores blobs in the local folder, and one that joined for each distance, which reaches the site,
Postgres and Redis over TLS through a proxy that delays. A distance is the time there and back.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from benchmarks.report_tables import aligned, describe_machine, quantile
from games import GAMES
from ladder.database import db
from ladder.database.blobs import Blobs, open_blobs
from ladder.entries import entries
from ladder.ids import EntryId
from ladder.leagues import seasons
from ladder.people import tokens, users
from ladder.settings import Settings
from services.api_client import Client
from services.app import create_app
from services.cli.machines import request_credentials
from services.run import embedded_servers
from services.run.joined_machine import Credentials, site_connections
from tests import servers, tls_front
from tests.certificates import Authority, serving
from tests.integration import real_node
from tests.integration.api.serving import serve
from tests.integration.ladder.contest import Contest, digest, make_contest
from tests.servers import with_login

AGENT: Final = Path(__file__).resolve().parents[1] / "agents/hungry_geese/greedy/main.py"
PARTS: Final = ("claim", "bundles", "play", "storing", "result", "connections", "total")
HOST: Final = "127.0.0.1"
PIECE_BYTES: Final = 1 << 16


@dataclass
class Player:
    """A worker's process, and the seconds of its matches."""

    name: str
    process: subprocess.Popen[str]
    matches: list[dict[str, float]] = field(default_factory=list)

    def play(self, match: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{match}\n")
        self.process.stdin.flush()
        self.matches.append(json.loads(self.line()))

    def line(self) -> str:
        assert self.process.stdout is not None
        found = self.process.stdout.readline()
        if not found:
            raise RuntimeError(f"the worker {self.name} ended with {self.process.wait()}")
        return found.strip()


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--matches", type=int, default=20, help="matches of each worker")
    parser.add_argument("--distance-ms", type=float, nargs="+", default=[0.0, 40.0])
    parser.add_argument("--steps", type=int, default=100, help="steps of a match")
    asked = parser.parse_args()
    with ExitStack() as stack:
        players, contest, lineup = set_up(stack, asked.distance_ms, asked.steps)
        for number in range(asked.matches + 1):
            for player in players:
                player.play(contest.rated(*lineup))
            if number == 0:  # the first ones open connections and fill caches
                for player in players:
                    player.matches.clear()
    print(f"{describe_machine()}; {asked.matches} matches of four seats, {asked.steps} steps")
    print(table(players))


def table(players: Sequence[Player]) -> str:
    """Medians of each part in ms, and what is added to a match of the site."""
    rows = [["worker", *(f"{part}, ms" for part in PARTS), "p90 total", "added"]]
    at_home = median(one["total"] - one["play"] for one in players[0].matches)
    for player in players:
        own = [median(one[part] for one in player.matches) * 1000 for part in PARTS]
        late = quantile([one["total"] for one in player.matches], 0.9) * 1000
        more = median(one["total"] - one["play"] for one in player.matches) - at_home
        rows.append([player.name, *(f"{value:.0f}" for value in (*own, late, more * 1000))])
    return aligned(rows)


def set_up(
    stack: ExitStack, distances_ms: Sequence[float], steps: int
) -> tuple[list[Player], Contest, list[EntryId]]:
    """The site, its worker, a joined worker for each distance, and a lineup."""
    folder = stack.enter_context(servers.short_folder())
    server = stack.enter_context(servers.postgres())
    database_url = stack.enter_context(servers.cloned(server, servers.template(server)))
    stack.enter_context(servers.worker_role(server))
    redis = embedded_servers.start_redis(folder)
    stack.callback(redis.stop)
    node = stack.enter_context(real_node.running("bubblewrap"))
    authority = Authority(folder)
    context = serving(authority.sign(f"IP:{HOST}"))
    front = stack.enter_context(tls_front.running(HOST, context))
    settings = Settings(
        database_url=database_url,
        blobs_url=(folder / "blobs").as_uri(),
        redis_url=redis.url,
        machine_database_url=front.postgres(database_url),
        machine_redis_url=front.redis(redis.url),
        machine_certificates=str(authority.certificate),
        session_secret="x" * 32,
    )
    (folder / "blobs").mkdir()
    conn = stack.enter_context(db.connect(database_url, autocommit=True))
    db.set_worker_login(conn, servers.WORKER_PASSWORD)
    contest = make_geese_contest(conn, steps)
    common = {"PECK_NODE_SOCKET": str(node.socket)}
    worker_url = with_login(database_url, db.WORKER_ROLE, servers.WORKER_PASSWORD)
    home = {
        "PECK_WORKER_DATABASE_URL": worker_url,
        "PECK_REDIS_URL": redis.url,
        "PECK_BLOBS_URL": settings.blobs_url,
    }
    players = [stack.enter_context(player("site", folder, {**common, **home}))]
    lineup = enter_agents(contest, open_blobs(settings.blobs_url), players[0])
    plain = stack.enter_context(serve(create_app(settings)))
    settings.base_url = front.site(lambda: plain)
    root = users.create_user(conn, "root", is_admin=True).id
    admin = stack.enter_context(Client(plain, tokens.mint_token(conn, root, "x", tokens.SCOPES)[1]))
    for distance in distances_ms:
        name = f"joined-{distance:g}ms"
        code = admin.post("/v1/machines/invitations", {"tier": "trusted"})["code"]
        credentials = request_credentials(settings.base_url, code, name)
        before = stack.enter_context(delayed(distance / 2000))
        environment = joined_environment(folder, name, credentials, before)
        players.append(stack.enter_context(player(name, folder, {**common, **environment})))
    return players, contest, lineup


def make_geese_contest(conn: db.Connection, steps: int) -> Contest:
    """A season of Hungry Geese."""
    made = make_contest(conn)
    season = seasons.create_season(
        conn,
        made.league.id,
        seasons.SeasonColumns(
            configuration=GAMES["hungry_geese"].configure({"episodeSteps": steps}),
            configuration_digest=digest("of the benchmark"),
            clock={"act_seconds": 1.0, "bank_seconds": 60.0},
            seats=4,
        ),
    )
    return Contest(conn, made.host, made.league, season)


def enter_agents(contest: Contest, blobs: Blobs, worker: Player) -> list[EntryId]:
    """Four entries whose bytes differ; the worker plays their validation matches."""
    sources = [f"{AGENT.read_text()}\n# {number}\n" for number in range(4)]
    lineup = []
    for source in sources:
        blobs.put_bytes(source.encode())
        lineup.append(contest.pending(content=source, profile="python"))
        match = entries.get_entry(contest.conn, lineup[-1]).validation_match_id
        assert match is not None
        worker.play(match)
    return lineup


def joined_environment(
    folder: Path, name: str, credentials: Credentials, before: Callable[[int], int]
) -> dict[str, str]:
    """The settings of a joined worker, whose three connections go through the proxy."""
    own = folder / f"{name}-own"
    own.mkdir()
    connections = site_connections(own, credentials)

    def far(url: str) -> str:
        parts = urlsplit(url)
        assert parts.port is not None
        login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        return urlunsplit(parts._replace(netloc=f"{login}{HOST}:{before(parts.port)}"))

    return {
        "PECK_WORKER_DATABASE_URL": far(connections.database_url),
        "PECK_REDIS_URL": far(connections.redis_url),
        "PECK_BLOBS_URL": far(connections.site),
        "PECK_MACHINE_SECRET": credentials.secret,
        "PECK_MACHINE_CERTIFICATES": str(connections.authorities or ""),
    }


@contextmanager
def player(name: str, folder: Path, environment: Mapping[str, str]) -> Iterator[Player]:
    """A worker's process that waits for matches."""
    run_dir = folder / f"{name}-run"
    run_dir.mkdir(mode=0o711)
    kept = {key: text for key, text in os.environ.items() if not key.startswith("PECK_")}
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.joined_player", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**kept, **environment, "PECK_RUN_DIR": str(run_dir)},
    ) as process:
        made = Player(name, process)
        assert made.line() == "ready"
        yield made
        process.terminate()


@contextmanager
def delayed(one_way_seconds: float) -> Iterator[Callable[[int], int]]:
    """A function that puts a TCP proxy before a port, since this kernel may have no netem. Bytes
    take this long in each direction. A new connection takes both ways once more."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def before(port: int) -> int:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, asyncio.CancelledError):
                await asyncio.sleep(2 * one_way_seconds)
                far = await asyncio.open_connection(HOST, port)
                await asyncio.gather(
                    _copy(reader, far[1], one_way_seconds), _copy(far[0], writer, one_way_seconds)
                )

        begun = asyncio.start_server(answer, HOST, 0, backlog=256)
        server = asyncio.run_coroutine_threadsafe(begun, loop).result(20)
        return int(server.sockets[0].getsockname()[1])

    async def end() -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    try:
        yield before
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_seconds: float
) -> None:
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def send() -> None:
        while True:
            due, piece = await pieces.get()
            if (rest := due - loop.time()) > 0:
                await asyncio.sleep(rest)
            if not piece:
                break
            writer.write(piece)
            await writer.drain()

    sender = asyncio.create_task(send())
    with suppress(OSError):
        while piece := await reader.read(PIECE_BYTES):
            pieces.put_nowait((loop.time() + delay_seconds, piece))
    pieces.put_nowait((loop.time() + delay_seconds, b""))
    with suppress(OSError):
        await sender
    writer.close()


if __name__ == "__main__":
    main()
