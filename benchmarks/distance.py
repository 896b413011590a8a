"""A TCP proxy that delays bytes as a distance does: this kernel may have no netem."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

HOST = "127.0.0.1"
PIECE_BYTES = 1 << 16


@contextmanager
def delayed(one_way_seconds: float) -> Iterator[Callable[[int], int]]:
    """A function that returns a port before the given port of this machine. Bytes take this long in
    each direction, and a new connection takes both ways once more, as TCP's handshake does."""
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
