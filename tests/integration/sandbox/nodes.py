"""A real node daemon for tests, and a small referee to talk to what it lends."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import HostFault
from sandbox.match import loans
from sandbox.match.clock import Clock
from sandbox.match.questions import FROM_CHILD_CAP
from tests.daemon import daemon_of

ROOT = Path(__file__).parents[3]
STATE = ROOT / ".state" / "test-node"
SEED = "00112233445566778899aabbccddeeff"
READY_SECONDS = 240.0
MEMORY_MB = 192
HONEST = "def agent(obs):\n    return 'NORTH'\n"


@dataclass
class Node:
    """A daemon started for tests."""

    process: subprocess.Popen[str]
    socket: Path
    run_dir: Path
    log: Path

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def kill(self) -> None:
        """SIGKILL of the daemon; its guard removes what it left and ends."""
        os.kill(daemon_of(self.process.pid), signal.SIGKILL)
        self.process.wait(10)


def start_node(folder: Path, launcher: str, *options: str, python: str = sys.executable) -> Node:
    """A daemon that is ready to lend; its output as the error when it is not."""
    socket, log = folder / "node.sock", folder / "node.log"
    command = [python, "-m", "sandbox.node", "--socket", str(socket), "--run-dir", str(folder)]
    command += ["--state-dir", str(STATE), "--launcher", launcher]
    command += ["--memory-mb", str(MEMORY_MB), *options]
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, stderr=out, text=True)
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"the node ended: {log.read_text()}")
        with contextlib.suppress(HostFault):
            loans.node_hello(socket, 5, started=process.pid)
            return Node(process, socket, folder, log)
        time.sleep(0.05)
    process.kill()
    raise AssertionError(f"the node was not ready in time: {log.read_text()}")


class FrameError(Exception):
    """The child wrote something that is no message of the protocol."""


class Player:
    """One seat's conversation, with no clock."""

    def __init__(self, loan: loans.Loan) -> None:
        self.loan = loan

    def ask(self, message: dict[str, Any], seconds: float = 20.0) -> dict[str, Any]:
        """Send one message and take the next packet; EOFError when the process has gone,
        TimeoutError when nothing comes, FrameError for what is no answer."""
        sock = self.loan.socket
        try:
            sock.send(json.dumps(message).encode())
            poll = select.poll()
            poll.register(sock, select.POLLIN)
            if not poll.poll(seconds * 1000):
                raise TimeoutError
            packet = sock.recv(FROM_CHILD_CAP + 1)
        except ConnectionError:
            packet = b""
        if not packet:
            raise EOFError("the agent's process has gone")
        try:
            answer = json.loads(packet)
        except (ValueError, RecursionError) as error:
            raise FrameError(f"the answer is no JSON: {error}") from None
        if not isinstance(answer, dict) or answer.get("k") not in ("ready", "reply", "error"):
            raise FrameError("the answer is of no known kind")
        if message["k"] == "act" and answer.get("n") != message["n"]:
            raise FrameError("the answer is to something else")
        return answer

    def start(self, load: str = "own", seed: str = SEED, seconds: float = 20.0) -> dict[str, Any]:
        """The answer to ``start``."""
        told: dict[str, Any] = {"k": "start", "seed": seed, "load": load}
        told["configuration"] = {"rows": 7, "columns": 11, "actTimeout": 1}
        told["clock"] = Clock().to_json()
        return self.ask(told, seconds)

    def act(self, seconds: float = 20.0, **observation: Any) -> dict[str, Any]:
        """The whole answer to one ``act``."""
        number = secrets.randbits(48)
        return self.ask({"k": "act", "n": number, "observation": observation}, seconds)

    def move(self, **observation: Any) -> Any:
        """The action of one ``act``; the traceback fails the test."""
        answer = self.act(**observation)
        assert answer["k"] == "reply", answer.get("trace")
        return answer["action"]


@dataclass
class Bench:
    """A node, and agents written on the spot."""

    node: Node
    launcher: str
    folder: Path

    def bundle(self, source: str) -> Path:
        """A file with this agent's source."""
        path = self.folder / f"{secrets.token_hex(6)}.py"
        path.write_text(source)
        return path

    def borrow(
        self, bundle: Path, profile: str = "python", memory_mb: int = MEMORY_MB
    ) -> loans.Loan:
        """A loan of this bundle."""
        request = loans.SeatRequest(profile, bundle, memory_mb)
        return loans.borrow(self.node.socket, request, 60)

    @contextlib.contextmanager
    def seat(self, bundle: Path, profile: str = "python") -> Iterator[Player]:
        """A player that has not been started yet; the loan ends with the block."""
        with self.borrow(bundle, profile) as loan:
            yield Player(loan)

    def findings(self, source: str, **observation: Any) -> Any:
        """What an agent written as a probe answers; its box must be clean afterwards."""
        with self.seat(self.bundle(source)) as player:
            assert player.start() == {"k": "ready"}
            action = player.move(**observation)
            assert player.loan.end().clean
        return action


def still_works(bench: Bench) -> None:
    """An honest agent plays after (or beside) whatever was done."""
    assert bench.findings(HONEST, step=0) == "NORTH"


def failing(bench: Bench, body: str, *, seconds: float = 20.0) -> Player:
    """A player whose first move ends its process; the loan has ended too."""
    source = "import os, sys, ctypes, signal, time\n" + body
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        with pytest.raises(EOFError):
            player.act(seconds, step=0)
        player.loan.end()
    return player


def processes_of_box(uid: int) -> list[int]:
    """Pids on this host that run with a uid of the box that gave this one to a match."""
    return [pid for pid, owner in _owners() if owner // 1000 == uid // 1000]


def processes_of(uid: int) -> list[int]:
    """Pids on this host that run with exactly this uid, which one match has to itself."""
    return [pid for pid, owner in _owners() if owner == uid]


def _owners() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            yield int(name), os.stat(f"/proc/{int(name)}").st_uid
