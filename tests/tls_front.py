"""TLS before servers that speak without it: how machines of tests reach a site."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

ASKS_FOR_TLS: Final = bytes.fromhex("0000000804d2162f")
"""First message of a client of Postgres that wants TLS."""
PIECE_BYTES: Final = 1 << 16
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Opener = Callable[[], Awaitable[Streams]]


@dataclass
class TlsFront:
    """Ports with TLS for a site, Postgres and Redis, served by one thread."""

    host: str
    context: ssl.SSLContext
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    servers: list[asyncio.Server] = field(default_factory=list)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)
    """Those of open connections."""

    def site(self, find: Callable[[], str]) -> str:
        """The https address before the http address, which it finds when a client comes."""

        async def opener() -> Streams:
            parts = urlsplit(find())
            return await asyncio.open_connection(parts.hostname, parts.port)

        return f"https://{self.host}:{self._listen(opener)}"

    def redis(self, url: str) -> str:
        """The address with TLS, without a login, before Redis at a Unix socket."""
        path = unquote(urlsplit(url).path)
        port = self._listen(lambda: asyncio.open_unix_connection(path))
        return f"rediss://{self.host}:{port}/0"

    def postgres(self, url: str) -> str:
        """The address with TLS, without a login, before Postgres at a Unix socket."""
        parts = urlsplit(url)
        path = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.{parts.port or 5432}"
        port = self._listen(lambda: asyncio.open_unix_connection(path), asks_first=True)
        return f"postgresql://{self.host}:{port}{parts.path}?sslmode=verify-full"

    def ports(self) -> list[int]:
        """The ports that machines may reach."""
        return [int(server.sockets[0].getsockname()[1]) for server in self.servers]

    def _listen(self, opener: Opener, *, asks_first: bool = False) -> int:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            opened = {writer}
            self.writers.add(writer)
            try:
                if asks_first:
                    if await reader.readexactly(len(ASKS_FOR_TLS)) != ASKS_FOR_TLS:
                        return
                    writer.write(b"S")
                    await writer.start_tls(self.context)
                far = await opener()
                opened.add(far[1])
                self.writers.add(far[1])
                await _join((reader, writer), far)
            except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass  # the client left, or the test ends
            finally:
                for one in opened:
                    one.close()
                self.writers -= opened

        begun = asyncio.start_server(
            answer, self.host, 0, ssl=None if asks_first else self.context, backlog=256
        )
        server = asyncio.run_coroutine_threadsafe(begun, self.loop).result(20)
        self.servers.append(server)
        return int(server.sockets[0].getsockname()[1])


async def _join(near: Streams, far: Streams) -> None:
    """Passes bytes both ways until one side ends."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ssl.SSLError):
            while piece := await reader.read(PIECE_BYTES):
                writer.write(piece)
                await writer.drain()
        writer.close()

    await asyncio.gather(copy(near[0], far[1]), copy(far[0], near[1]))


@contextmanager
def running(host: str, context: ssl.SSLContext) -> Iterator[TlsFront]:
    """A front on this address of the machine; its ports close at the end."""
    front = TlsFront(host, context)
    thread = threading.Thread(target=front.loop.run_forever, daemon=True)
    thread.start()

    async def end() -> None:
        for server in front.servers:
            server.close()
        await asyncio.sleep(0.02)  # a connection of this moment becomes known
        for writer in [*front.writers]:
            writer.transport.abort()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(5):  # transports close in later turns of the loop
            await asyncio.sleep(0)

    try:
        yield front
    finally:
        asyncio.run_coroutine_threadsafe(end(), front.loop).result(20)
        front.loop.call_soon_threadsafe(front.loop.stop)
        thread.join(20)
        front.loop.close()
