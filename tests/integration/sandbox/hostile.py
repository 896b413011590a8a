"""Matches of a hostile agent between honest neighbours, and their effects.

Only this module of the hostile suite calls the product, through its public interfaces.
"""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from games import GAMES
from games.protocol import Json, Verdict
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.loans import SeatRequest, borrow_seats
from sandbox.match.match_record import SeatReport, read_log
from sandbox.match.referee import EpisodeRequest
from tests.integration.sandbox.hostile_table import CLOCK
from tests.integration.sandbox.nodes import ROOT

AGENTS = ROOT / "tests" / "agents" / "hostile"
NOT_HOSTILE = frozenset({"chosen", "kit", "neighbour", "thinker"})
KIT = "tests/agents/hostile/kit.py"
CHOSEN = "chosen"
"""The bundle with all hostile agents, of which a match's configuration chooses one."""
FIRST_NUMBER = 1000
"""The configuration's number of the first hostile agent, in the order of ``choices``."""
GEESE = GAMES["hungry_geese"]
SEED = bytes(range(16))
STEPS = 6
"""Moves of a complete match: the game counts its first position too."""
MEMORY_MB = 128
BORROW_SECONDS = 60.0


@dataclass(frozen=True)
class Seat:
    """One seat after a match."""

    verdict: Verdict
    reason: str
    log: str
    """Both streams of all moves."""
    moves: tuple[Json, ...]
    """One for each step with a question, faults included."""
    charged_seconds: float
    longest_seconds: float
    bank_seconds: float
    """The bank at the end."""

    @property
    def breaches(self) -> list[str]:
        """The breaches that the agent reports, by its own acts."""
        return [line for line in self._told("BREACH: ") if line not in self.leftovers]

    @property
    def leftovers(self) -> list[str]:
        """What it found of an earlier match in its box."""
        return self._told("BREACH: left over")

    @property
    def stands(self) -> list[str]:
        """The failed attempts that the agent reports."""
        return self._told("HELD: ")

    def _told(self, kind: str) -> list[str]:
        return [line for line in self.log.splitlines() if line.startswith(kind)]

    @property
    def used_seconds(self) -> float:
        """The time until its last move, by the agent's own report."""
        lines = [line.split() for line in self.log.splitlines() if line.startswith("USED: ")]
        return max((float(words[1]) for words in lines), default=0.0)

    @property
    def uids(self) -> list[int]:
        """The uids that it reports: one range a box, one uid a match."""
        lines = [line.split() for line in self.log.splitlines() if line.startswith("uid ")]
        return [int(words[1]) for words in lines if len(words) == 2 and words[1].isdigit()]


def processes_of(uid: int) -> list[int]:
    """Pids on this host with this real uid."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if f"\nUid:\t{uid}\t" in (folder / "status").read_text():
                found.append(int(folder.name))
    return found


def sources() -> list[str]:
    """The names of the hostile agents."""
    return sorted(path.stem for path in AGENTS.glob("*.py") if path.stem not in NOT_HOSTILE)


def choices() -> list[str]:
    """What the bundle CHOSEN can become: each hostile agent, or an honest one."""
    return [*sources(), "neighbour"]


def pack(name: str, folder: Path, extra: str = "") -> Path:
    """The bundle of an agent with the kit beside it; ``extra`` makes it another submission."""
    path = folder / f"{name}{extra}.tar.gz"
    if path.exists():
        return path
    files = {"main.py": (AGENTS / f"{name}.py").read_bytes(), KIT: (AGENTS / "kit.py").read_bytes()}
    if name == CHOSEN:
        texts = [(AGENTS / f"{choice}.py").read_text() for choice in choices()]
        files["tests/agents/hostile/agents.json"] = json.dumps(texts).encode()
    if extra:
        files["tests/extra"] = extra.encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for member_name, content in files.items():
            member = tarfile.TarInfo(member_name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    new = folder / f"{name}{extra}.new"
    new.write_bytes(buffer.getvalue())
    new.rename(path)
    return path


def play(
    node_socket: Path,
    bundles: Sequence[Path],
    *,
    agent: str = "",
    clock: Clock = CLOCK,
    steps: int = STEPS,
    memory_mb: int = MEMORY_MB,
    max_parallel_seats: int = 2,
    seed: bytes = SEED,
) -> list[Seat]:
    """Play a match between these bundles; ``agent`` names what the bundle CHOSEN becomes.

    HostFault if no agent is to blame, which no agent may cause.
    """
    number = {"hunger_rate": FIRST_NUMBER + choices().index(agent)} if agent else {}
    requests = [SeatRequest("python", path, memory_mb) for path in bundles]
    with borrow_seats(node_socket, requests, BORROW_SECONDS) as loans:
        played = referee.play_episode(
            EpisodeRequest(
                GEESE,
                GEESE.configure({"episodeSteps": steps, **number}),
                clock,
                seed,
                loans,
                max_parallel_seats=max_parallel_seats,
                stop_after_seconds=clock.longest_seconds(steps, len(bundles), max_parallel_seats)
                + 60.0,
            )
        )
    return [_seat(played.episode.steps, played.seats[at], at, clock) for at in range(len(bundles))]


def _seat(steps: Sequence[Any], report: SeatReport, at: int, clock: Clock) -> Seat:
    log = "".join(m["stdout"] + m["stderr"] for m in read_log(report.log)["moves"])
    banks = [step.bank_seconds[at] for step in steps if step.bank_seconds[at] is not None]
    return Seat(
        verdict=report.verdict,
        reason=report.reason or "",
        log=log,
        moves=tuple(step.moves[at] for step in steps if step.moves[at] is not None),
        charged_seconds=report.charged_seconds,
        longest_seconds=report.max_move_seconds,
        bank_seconds=banks[-1] if banks else clock.bank_seconds,
    )
