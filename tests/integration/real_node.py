"""A node daemon for tests, and matches through it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from games import GAMES
from games.protocol import Game
from sandbox.errors import HostFault
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.loans import SeatRequest, borrow_seats, node_hello
from sandbox.match.match_record import PlayedMatch
from sandbox.match.referee import EpisodeRequest
from tests.daemon import LIBRARIES, daemon_of

GEESE = GAMES["hungry_geese"]
EAST = "def agent(observation, configuration):\n    return 'EAST'\n"
"""Geese that all go east keep their distances: none dies before the hunger of step 40."""
SEED = bytes(range(16))
MEMORY_MB = 1024
"""A season's and the command line's default, so that all find the same waiting boxes."""


@dataclass
class RealNode:
    """A running daemon."""

    socket: Path
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """SIGKILL the guard and the daemon, like a machine failure."""
        os.kill(daemon_of(self.process.pid), signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def play(
        self,
        folder: Path,
        sources: Sequence[str],
        **options: Any,
    ) -> PlayedMatch:
        """Play a match between agents given by the text of their main.py."""
        paths = [folder / f"seat{seat}.py" for seat in range(len(sources))]
        for path, source in zip(paths, sources, strict=True):
            path.write_text(textwrap.dedent(source))
        return self.play_files(paths, **options)

    def play_files(
        self,
        paths: Sequence[Path],
        *,
        configuration: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        seed: bytes = SEED,
        max_parallel_seats: int = 4,
        stop_after_seconds: float = 120.0,
        on_step: Callable[[int], None] | None = None,
        memory_mb: int = MEMORY_MB,
        game: Game[Any] = GEESE,
        stops_at_fault: bool = False,
    ) -> PlayedMatch:
        """Play a match between bundles."""
        requests = [SeatRequest("python", path, memory_mb) for path in paths]
        with borrow_seats(self.socket, requests, 60.0) as loans:
            return referee.play_episode(
                EpisodeRequest(
                    game,
                    game.configure(configuration or {}),
                    clock or Clock(),
                    seed,
                    loans,
                    max_parallel_seats=max_parallel_seats,
                    stop_after_seconds=stop_after_seconds,
                    on_step=on_step,
                    stops_at_fault=stops_at_fault,
                )
            )


@contextlib.contextmanager
def running(launcher: str) -> Iterator[RealNode]:
    """A node with this launcher; fails the test with the daemon's output if it does not start."""
    # pytest's folder is too long: a unix socket's path has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="peck-node-"))
    log = folder / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "sandbox.node", "--launcher", launcher),
                *("--socket", str(folder / "sock"), "--run-dir", str(folder / "run")),
                *("--state-dir", str(LIBRARIES), "--profile", "python"),
                *("--memory-mb", str(MEMORY_MB), "--keep", "8"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(folder / "sock", process, log)
        yield RealNode(folder / "sock", process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(120)
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def missing(launcher: str) -> str | None:
    """The reason why tests with this launcher cannot run here, or None."""
    if launcher == "bubblewrap" and shutil.which("bwrap") is None:
        return "bubblewrap is not installed: apt-get install bubblewrap"
    return None


def require(launcher: str) -> None:
    """Skip without this launcher; fail if all launchers are required."""
    reason = missing(launcher)
    if reason is None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _wait_for(socket: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    give_up_at = time.monotonic() + 120
    while True:
        try:
            node_hello(socket, started=process.pid)
            return
        except HostFault:
            if process.poll() is not None or time.monotonic() > give_up_at:
                pytest.fail(f"the node did not come up: {log.read_text()[-2000:]}", pytrace=False)
        time.sleep(0.05)
