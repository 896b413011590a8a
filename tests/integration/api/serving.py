"""The application on a real socket, served by uvicorn in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI


@contextmanager
def serve(app: FastAPI) -> Iterator[str]:
    """The address of the running application; it is stopped at the end."""
    # By its protocol asyncio knows it for TCP and takes Nagle's delay away: 40 ms an answer.
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        # Connections outlive the 5 seconds after which clients drop them: else a request can meet
        # the server's closing on a busy machine.
        config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_keep_alive=60)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the application did not start"
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
