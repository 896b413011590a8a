"""Runs one process of the site, and reads its pages: once, or with many clients without a pause."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from services.run.child_processes import spawn

CHECKOUT = Path(__file__).resolve().parents[1]
CORES = sorted(os.sched_getaffinity(0))
THREADS = 4
WHOLE_SECONDS = 120
"""Longest read of a whole board on a busy machine."""
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One kind of read."""

    name: str
    port: int
    path: str
    headers: dict[str, str]
    status: int = 200


def fetch(row: Row) -> http.client.HTTPResponse:
    """One read on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", row.port, timeout=WHOLE_SECONDS)
    connection.request("GET", row.path, headers=row.headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def read_once(client: socket.socket, request: bytes) -> bytes:
    """Send a request and return the status line after reading the whole answer.

    ``http.client`` takes more time for an answer than the server.
    """
    client.sendall(request)
    answer = client.recv(1 << 18)
    while (head := answer.find(b"\r\n\r\n")) < 0:
        answer += client.recv(1 << 18)
    declared = LENGTH.search(answer, 0, head)
    missing = head + 4 + (int(declared[1]) if declared is not None else 0) - len(answer)
    while missing > 0:
        missing -= len(client.recv(1 << 18))
    return answer[:12]


def read_until(row: Row, until: float, reads: list[list[float]]) -> None:
    """Run one keep-alive client: read until the given time and append the seconds of each read."""
    lines = [f"GET {row.path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in row.headers.items()]
    request = ("\r\n".join(lines) + "\r\n\r\n").encode()
    seconds = list[float]()
    with socket.create_connection(("127.0.0.1", row.port), timeout=10) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (began := time.monotonic()) < until:
            status = read_once(client, request)
            assert status == f"HTTP/1.1 {row.status}".encode(), status
            seconds.append(time.monotonic() - began)
    reads.append(seconds)


def time_reads(row: Row, seconds: float) -> tuple[list[float], float]:
    """The seconds of each read by all clients in that time, and the processor time of this."""
    until, reads = time.monotonic() + seconds, list[list[float]]()
    used = time.process_time()
    threads = [
        threading.Thread(target=read_until, args=(row, until, reads)) for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reads) == THREADS, "a client failed"
    return [one for each in reads for one in each], time.process_time() - used


@contextmanager
def serving(factory: str, port: int, state: Path, **environment: str) -> Iterator[int]:
    """Runs one uvicorn process; yields its process id."""
    child = spawn(
        factory,
        [
            *(sys.executable, "-P", "-m", "uvicorn", factory, "--factory", "--no-access-log"),
            *("--port", str(port), "--log-level", "warning"),
        ],
        log=state / f"{port}.log",
        death_signal=signal.SIGKILL,
        environment={**os.environ, "PYTHONPATH": str(CHECKOUT), **environment},
        cwd=CHECKOUT,
    )
    deadline = time.monotonic() + 180
    while True:
        try:
            fetch(Row("", port, "/openapi.json", {}))
            break
        except OSError:
            assert child.alive(), (state / f"{port}.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    try:
        yield child.process.pid
    finally:
        child.stop()


def pin_server(pid: int) -> None:
    """Keep the process on the last core."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), CORES[-1:])
