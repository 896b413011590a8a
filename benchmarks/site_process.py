"""Runs one process of the site, and reads its processor time."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.site_readers import Row, fetch
from services.child_processes import spawn

CHECKOUT = Path(__file__).resolve().parents[1]
CORES = sorted(os.sched_getaffinity(0))


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
