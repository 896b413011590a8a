"""Serves the application on a real socket, with uvicorn in a thread."""

from __future__ import annotations

import asyncio
import faulthandler
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI


class Server(uvicorn.Server):
    """A uvicorn server that ends at once; uvicorn itself polls every 0.1 s and waits 0.1 s more."""

    loop: asyncio.AbstractEventLoop
    ending: asyncio.Event

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_serving = threading.Event()

    async def main_loop(self) -> None:
        self.loop, self.ending = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        self.is_serving.set()
        await self.ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.server_state.connections:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        await self.lifespan.shutdown()

    def end(self) -> None:
        """Stop accepting connections, finish the requests and end."""
        self.loop.call_soon_threadsafe(self.ending.set)


@contextmanager
def serve(app: FastAPI) -> Iterator[str]:
    """The address of the running application, which stops at the end."""
    # asyncio disables Nagle's delay (40 ms an answer) only if the socket names TCP.
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        # Connections live longer than the 5 s after which clients drop them. Otherwise a request
        # could meet a closing connection on a busy machine.
        config = uvicorn.Config(
            app,
            log_level="warning",
            lifespan="on",
            timeout_keep_alive=60,
            timeout_graceful_shutdown=5,
        )
        server = Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.is_serving.wait(0.1):
            assert thread.is_alive(), "the application did not start"
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.loop.call_soon_threadsafe(app.state.peck.ending.begin)
            server.end()
            thread.join(20)
            if thread.is_alive():  # tells where it hangs
                faulthandler.dump_traceback()
