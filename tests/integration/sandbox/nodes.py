"""Starts a real node daemon for tests, and talks to its boxes as a small referee."""

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
from collections.abc import Callable, Iterator
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
PROBER = """
def agent(obs):
    namespace = {}
    exec(obs["source"], namespace)
    return namespace["agent"](obs)
"""
"""Answers as each probe agent whose source text it gets."""
WORKER = """
import json, sys, time
from pathlib import Path
from sandbox.match import loans
request = loans.SeatRequest("python", Path(sys.argv[2]), int(sys.argv[3]))
loan = loans.borrow(Path(sys.argv[1]), request, 60)
loan.socket.setblocking(True)
def ask(**message):
    loan.socket.send(json.dumps(message).encode())
    return json.loads(loan.socket.recv(1 << 16))
ask(k="start", seed="00" * 16, load="own", configuration={})
print(json.dumps(ask(k="act", n=1, observation={"step": 0})["action"]), flush=True)
time.sleep(100)
"""


@dataclass
class Node:
    """A daemon started for tests."""

    process: subprocess.Popen[str]
    socket: Path
    run_dir: Path
    log: Path

    def stop(self) -> int:
        """Send SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)

    def kill(self) -> None:
        """SIGKILL the daemon; its guard removes the leftovers and ends."""
        os.kill(daemon_of(self.process.pid), signal.SIGKILL)
        self.process.wait(120)


def start_node(folder: Path, launcher: str, *options: str, python: str = sys.executable) -> Node:
    """A daemon that is ready to lend; on failure the error shows its output."""
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
    """The child wrote bytes that are no message of the protocol."""


class Player:
    """The conversation with one seat, without a clock."""

    def __init__(self, loan: loans.Loan) -> None:
        self.loan = loan

    def ask(self, message: dict[str, Any], seconds: float = 60.0) -> dict[str, Any]:
        """Send one message and return the next packet.

        Raises EOFError after the process's end, TimeoutError without an answer, FrameError for an
        invalid one.
        """
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

    def start(self, load: str = "own", seed: str = SEED, seconds: float = 60.0) -> dict[str, Any]:
        """The answer to ``start``."""
        told: dict[str, Any] = {"k": "start", "seed": seed, "load": load}
        told["configuration"] = {"rows": 7, "columns": 11, "actTimeout": 1}
        told["clock"] = Clock().to_json()
        return self.ask(told, seconds)

    def act(self, seconds: float = 60.0, **observation: Any) -> dict[str, Any]:
        """The whole answer to one ``act``."""
        number = secrets.randbits(48)
        return self.ask({"k": "act", "n": number, "observation": observation}, seconds)

    def move(self, **observation: Any) -> Any:
        """The action of one ``act``; a traceback fails the test."""
        answer = self.act(**observation)
        assert answer["k"] == "reply", answer.get("trace")
        return answer["action"]


@dataclass
class Bench:
    """A node, and agents from source text."""

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
    def seat(
        self, bundle: Path, profile: str = "python", memory_mb: int = MEMORY_MB
    ) -> Iterator[Player]:
        """A player before its start; the loan ends with the block."""
        with self.borrow(bundle, profile, memory_mb) as loan:
            yield Player(loan)

    def findings(self, source: str, **observation: Any) -> Any:
        """The answer of a probe agent; its box must be clean afterwards."""
        with self.seat(self.bundle(source)) as player:
            assert player.start() == {"k": "ready"}
            action = player.move(**observation)
            assert player.loan.end().clean
        return action

    @contextlib.contextmanager
    def prober(self) -> Iterator[Probe]:
        """Asks probe agents in one box, one after another; it must be clean afterwards."""
        with self.seat(self.bundle(PROBER)) as player:
            assert player.start() == {"k": "ready"}

            def probe(source: str, **observation: Any) -> Any:
                return player.move(source=source, **{"step": 0, **observation})

            yield probe
            assert player.loan.end().clean


Probe = Callable[..., Any]
"""Gives the answer of the agent with this source to an observation."""


@contextlib.contextmanager
def borrowing_worker(node: Node, bundle: Path) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A process that has borrowed a box, and its agent's first answer."""
    command = [sys.executable, "-c", WORKER, str(node.socket), str(bundle), str(MEMORY_MB)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        try:
            yield worker, json.loads(worker.stdout.readline())
        finally:
            worker.kill()


def still_works(bench: Bench) -> None:
    """Check that an honest agent still plays after (or beside) the attack."""
    assert bench.findings(HONEST, step=0) == "NORTH"


def failing(bench: Bench, body: str, *, seconds: float = 60.0) -> Player:
    """A player whose first move ends its process; the loan has ended too."""
    source = "import os, sys, ctypes, signal, time\n" + body
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        with pytest.raises(EOFError):
            player.act(seconds, step=0)
        player.loan.end()
    return player


def processes_of_box(uid: int) -> list[int]:
    """Pids on this host with any uid of the box that gave this one to a match."""
    return [pid for pid, owner in _owners() if owner // 1000 == uid // 1000]


def processes_of(uid: int) -> list[int]:
    """Pids on this host with exactly this uid, which belongs to one match."""
    return [pid for pid, owner in _owners() if owner == uid]


def _owners() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            yield int(name), os.stat(f"/proc/{int(name)}").st_uid
