"""Starting and stopping boxes: the seam between the node daemon and Docker or bubblewrap."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sandbox.errors import HostFault
from sandbox.profiles import Profile, Say

CHOICES = ("auto", "docker", "bubblewrap", "process")
OVERHEAD_MB = 64
"""Memory a box gets beside the agent's: supervisor, zygote, and bookkeeping of its scratch."""
SCRATCH_MB = 64
SCRATCH_INODES = 4096
UNPACKED_MB = 256
CPUS = 1.0
MOST_PROCESSES = 64
"""Processes of a box; a match's uid has fewer, so that the supervisor can always fork."""

LIMITS: Mapping[str, int] = {
    "NPROC": 44,
    "NOFILE": 64,
    "CORE": 0,
    "FSIZE": SCRATCH_MB << 20,
    "MEMLOCK": 64 << 10,
    "MSGQUEUE": 0,
    "SIGPENDING": 256,
    "NICE": 0,
    "RTPRIO": 0,
}
UNPACK_LIMITS: Mapping[str, int] = {
    "NPROC": 4,
    "NOFILE": 32,
    "CORE": 0,
    "FSIZE": UNPACKED_MB << 20,
    "CPU": 30,
    "AS": 1 << 30,
}


@dataclass(frozen=True)
class BoxSpec:
    """One box to be started; ``slot`` gives it a range of uids of its own on this host."""

    name: str
    profile: Profile
    memory_mb: int
    slot: int

    @property
    def uid_base(self) -> int:
        """First of the 1000 uids this box gives to its matches."""
        return UID_BASE + self.slot * 1000


UID_BASE = 1_900_000_000
SLOTS = 200_000
"""Uid ranges to draw from, above everything that distributions and containers hand out."""


@dataclass(frozen=True)
class Box:
    """A started box: the connection to its supervisor, what to tell it, and the launcher's own."""

    spec: BoxSpec
    control: socket.socket
    setup: Mapping[str, Any]
    handle: Any


class Launcher(Protocol):
    """Starts boxes of one kind. Methods may be called from several threads at once."""

    name: str
    reusable: bool
    """Whether a box can be proven clean after a match and take the next one."""

    def prepare(self, profile: Profile, say: Say) -> str:
        """Make ready what boxes of this profile need; returns the digest matches record."""

    def start(self, spec: BoxSpec) -> Box:
        """A running box whose supervisor has connected; HostFault when it cannot be had."""

    def stop(self, box: Box) -> None:
        """The box and everything in it is gone when this returns. Safe to repeat."""

    def oom_kills(self, box: Box) -> int:
        """How often the kernel has killed for memory in this box, 0 where it cannot be seen."""

    def healthy(self) -> bool:
        """Whether boxes could be started now; tells an engine's death from an agent's."""

    def sweep(self) -> None:
        """Remove what a dead predecessor of this node has left behind."""

    def lacks(self) -> tuple[str, ...]:
        """What this launcher cannot give on this machine, a sentence each."""


def setup_of(spec: BoxSpec, mode: str, **more: Any) -> dict[str, Any]:
    """The supervisor's instructions that are the same for every launcher."""
    return {
        "op": "setup",
        "mode": mode,
        "imports": list(spec.profile.imports),
        "environment": dict(spec.profile.environment),
        "uid_base": spec.uid_base,
        "agent_dir": "/kaggle_simulations/agent",
        "scratch": ["/tmp"],  # noqa: S108  inside the box
        "library_paths": [],
        "limits": dict(LIMITS),
        "unpack_limits": dict(UNPACK_LIMITS),
        "unpacked_bytes": UNPACKED_MB << 20,
        **more,
    }


def choose(name: str, node: str, run_dir: Path, state_dir: Path, say: Say) -> Launcher:
    """The launcher of this name; ``auto`` takes Docker, else bubblewrap, else refuses.

    HostFault says in one line what to type where neither is there. The process launcher, which
    isolates nothing, is only ever taken by name.
    """
    if name == "process":
        from sandbox.plain import PlainLauncher

        say("WARNING: launcher 'process' isolates nothing; agents run as this user, for tests only")
        return PlainLauncher(run_dir)
    if name == "bubblewrap":
        from sandbox.bubblewrap import BubblewrapLauncher

        return BubblewrapLauncher(run_dir, state_dir, say)
    raise HostFault(f"launcher {name!r} is not one of {', '.join(CHOICES)}")
