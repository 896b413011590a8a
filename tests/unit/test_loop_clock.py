"""A request that arrived while the event loop was held up counts from before."""

from __future__ import annotations

import asyncio
import time

from services.http.body_limits import TICK_SECONDS, LoopClock
from tests.loops import run_coroutine


def test_a_request_seen_after_a_pause_may_have_arrived_before_it() -> None:
    async def scene() -> tuple[float, float]:
        clock, server_side = LoopClock(), asyncio.Event()
        seen: list[float] = []

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            seen.append(clock.earliest_arrival())
            writer.close()
            server_side.set()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with clock.ticking(), server:
            await asyncio.sleep(3 * TICK_SECONDS)
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"x")
            sent_at = time.monotonic()
            time.sleep(0.3)  # holds up the loop
            await server_side.wait()
            writer.close()
        return sent_at, seen[0]

    sent_at, earliest = run_coroutine(scene())
    assert earliest <= sent_at


def test_a_clock_that_does_not_tick_says_now() -> None:
    before = time.monotonic()
    assert before <= LoopClock().earliest_arrival() <= time.monotonic()
