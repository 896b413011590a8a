"""Starts a node daemon for a benchmark, and uses its boxes as a worker does."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import signal
import socket as socketlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from games import GAMES
from games.protocol import Verdict
from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.loans import Loan, SeatRequest, borrow_seats, node_hello
from sandbox.match.questions import ask_all
from sandbox.match.referee import EpisodeRequest
from sandbox.match.seat import MatchTiming, Seat
from sandbox.match.seeds import game_random

LAUNCHERS = ("docker", "bubblewrap")
SEATS = 4
STEPS = 100
MEMORY_MB = 256
BORROW_SECONDS = 120.0
READY_SECONDS = 240.0
CHECKOUT = Path(__file__).resolve().parents[1]
STATE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pecking-order"
"""The default folder for the libraries of bubblewrap boxes; `peck run` uses it too."""
GEESE = GAMES["hungry_geese"]
# Geese that all go east never meet on a board of many rows, and hunger never ends them.
CONFIGURATION = GEESE.configure({"episodeSteps": STEPS + 1, "hunger_rate": 1000, "rows": 30})
TRIVIAL = "def agent(observation, configuration):\n    return 'EAST'\n"
SEED = bytes(range(16))


@dataclass(frozen=True)
class Node:
    """A daemon that lends boxes of one profile."""

    socket: Path
    pid: int
    name: str
    launcher: str
    profile: str
    memory_mb: int

    def request(self, bundle: Path) -> SeatRequest:
        """The request for one seat with this bundle."""
        return SeatRequest(self.profile, bundle, self.memory_mb)


@contextlib.contextmanager
def running(
    launcher: str,
    profile: str,
    *options: str,
    state: Path = STATE,
    memory_mb: int = MEMORY_MB,
) -> Iterator[Node | str]:
    """Runs a node of this kind; yields a reason in words if this machine has none."""
    if profile not in profiles.PROFILES:
        yield "not built here"
        return
    with tempfile.TemporaryDirectory(prefix="peck-bench-") as folder:
        os.chmod(folder, 0o711)
        socket, log = Path(folder, "sock"), Path(folder, "log")
        command = [sys.executable, "-m", "sandbox.node", "--launcher", launcher, *options]
        command += ["--profile", profile, "--memory-mb", str(memory_mb)]
        command += ["--socket", str(socket), "--run-dir", str(Path(folder, "run"))]
        command += ["--state-dir", str(state), "--parent", str(os.getpid())]
        with log.open("wb") as sink:
            process = subprocess.Popen(command, stdout=sink, stderr=sink, cwd=CHECKOUT)
        try:
            if wait_for_node(socket, process):
                name = node_hello(socket).node
                yield Node(socket, _listener(socket), name, launcher, profile, memory_mb)
            else:
                yield f"not built here ({_last_line(log)})"
        except HostFault:
            print(log.read_text(errors="replace"), file=sys.stderr)
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def wait_for_node(socket: Path, process: subprocess.Popen[bytes]) -> bool:
    """Whether the daemon answers on the socket; False after its end."""
    give_up_at = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < give_up_at:
        with contextlib.suppress(HostFault):
            node_hello(socket)
            return True
        time.sleep(0.05)
    return False


def _listener(path: Path) -> int:
    """The process that listens there; the started process is only its guard."""
    with socketlib.socket(socketlib.AF_UNIX) as connection:
        connection.connect(str(path))
        told = connection.getsockopt(socketlib.SOL_SOCKET, socketlib.SO_PEERCRED, 12)
    return int(struct.unpack("=iII", told)[0])


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:60] if lines else "the node printed nothing"


def write_agents(folder: Path, source: str, count: int = SEATS) -> list[Path]:
    """Write that many different submissions with the same behaviour."""
    paths = [folder / f"agent{number}.py" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(f"{source}# {number}\n")
    return paths


def write_large_bundle(path: Path, source: str, mib: int) -> Path:
    """A bundle with incompressible weights, different each time."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in (("main.py", source.encode()), ("weights.bin", os.urandom(mib << 20))):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return path


@dataclass
class Match:
    """The time of one match by part, in seconds."""

    wall: float
    steps: list[float] = field(default_factory=list)
    """Seconds of each joint step after the first; the first loads the agents."""


def play(
    node: Node,
    bundles: Sequence[Path],
) -> Match:
    """Play one match of ``STEPS`` joint steps; raises if the match has another length."""
    marks: list[float] = []
    began = time.perf_counter()
    with borrow_seats(
        node.socket, [node.request(path) for path in bundles], BORROW_SECONDS
    ) as loans:
        played = referee.play_episode(
            EpisodeRequest(
                GEESE,
                CONFIGURATION,
                Clock(),
                SEED,
                loans,
                max_parallel_seats=SEATS,
                stop_after_seconds=600.0,
                on_step=lambda _: marks.append(time.perf_counter()),
            )
        )
    wall = time.perf_counter() - began
    if len(played.episode.steps) != STEPS or set(played.episode.verdicts) != {"DONE"}:
        raise SystemExit(f"the match did not go as planned: {played.seats}")
    times = [later - earlier for earlier, later in itertools.pairwise(marks)]
    return Match(wall, times)


class Table:
    """Seats as in a referee but without the game, to question them one by one."""

    def __init__(self, loans: Sequence[Loan], clock: Clock) -> None:
        self.own = OwnRunQueue()
        timing = MatchTiming(clock, self.own, 150.0)
        meters = [loan.meter for loan in loans]
        self.seats = [
            Seat(number, loan, timing, meters[:number] + meters[number + 1 :])
            for number, loan in enumerate(loans)
        ]
        self._steps = 0

    def start(self) -> None:
        """Load every agent; each then waits for its first move."""
        questions = [seat.build_start_question(CONFIGURATION, SEED) for seat in self.seats]
        ask_all(questions, self.own, time.monotonic() + 60)
        for seat, question in zip(self.seats, questions, strict=True):
            seat.accept_start_answer(question)
            if seat.fault is not None:
                raise SystemExit(f"an agent did not load: {seat.fault.reason}")

    def step(
        self, observation: dict[str, object], parse: Callable[[object], object] | None = None
    ) -> tuple[float, float, float]:
        """Ask every seat for one move.

        Returns seconds until all questions were written, until all answers came, and until all were
        checked. The geese's rules check the answers unless ``parse`` is given.
        """
        self._steps += 1
        at = time.perf_counter()
        questions = [seat.build_move_question(self._steps, observation) for seat in self.seats]
        asked = [question for question in questions if not isinstance(question, Verdict)]
        asked_at = time.perf_counter()
        ask_all(asked, self.own, time.monotonic() + 60)
        answered_at = time.perf_counter()
        for seat, question in zip(self.seats, asked, strict=True):
            seat.judge_answer(self._steps, question, parse or _parse)
            if seat.fault is not None:
                raise SystemExit(f"an agent failed: {seat.fault.reason}")
        return asked_at - at, answered_at - asked_at, time.perf_counter() - answered_at

    def close(self) -> None:
        """Close the resources of the table; the borrower keeps the loans."""
        self.own.close()


@contextlib.contextmanager
def seated(node: Node, bundles: Sequence[Path], clock: Clock) -> Iterator[Table]:
    """Agents that are started and ready; ``node`` may be a remote daemon."""
    requests = [node.request(path) for path in bundles]
    with borrow_seats(node.socket, requests, BORROW_SECONDS, node.socket) as lent:
        loans = [loan for loan in lent if isinstance(loan, Loan)]
        with contextlib.closing(Table(loans, clock)) as table:
            table.start()
            yield table


def observation() -> dict[str, object]:
    """An observation from the middle of a game."""
    random = game_random(SEED)
    state, _ = GEESE.reset(CONFIGURATION, SEATS, random)
    for _ in range(STEPS // 2):
        state, _ = GEESE.step(state, dict.fromkeys(range(SEATS), "EAST"), random)
    return dict(GEESE.observe(state, 0))


def _parse(raw: object) -> object:
    state, _ = _START
    return GEESE.parse(state, 0, raw)


_START = GEESE.reset(CONFIGURATION, SEATS, game_random(SEED))
