"""Starting and stopping boxes: the seam between the node daemon and Docker or bubblewrap."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sandbox.box import user_and_openmp
from sandbox.launchers.cgroups import MatchGroup
from sandbox.launchers.gpu import Gpu
from sandbox.profiles import Profile, Say

OVERHEAD_MB = 64
"""Memory a box gets beside the agent's: supervisor, zygote, and bookkeeping of its scratch."""


SCRATCH_MB = 64


SCRATCH_INODES = 4096


AGENT_INODES = 32_768
"""Above the entries that an archive may name (``box.unpack``), with room for folders that it does
not name. Each takes 1 KB of the box's memory."""


AGENT = "/kaggle_simulations/agent"
"""The bundle's folder in a box, as on Kaggle: the match's working folder, in which it may write."""


SCRATCH = "/tmp"  # noqa: S108  inside the box
"""The other place that an agent may write; both are swept after every match."""


OWN = "/peck/own"
"""Where a box keeps its own files: the user's name, and links to libraries."""


OWN_KB = 64


OWN_LINKS = {"/etc/passwd": f"{OWN}/passwd"}
"""Links from the box's root into that folder."""


PATH = "/peck/python/bin:/usr/bin:/bin"


CPUS = 1.0


PROBE_MB = 256


MOST_PROCESSES = 64
"""Processes of a box; a match's uid has fewer, so that the supervisor can always fork."""


CORE_BYTES = 1
"""No core file is as short; and where the kernel pipes cores to a program of the host's, 1 and only
1 keeps it from starting that (0 does not)."""


LIMITS: Mapping[str, int] = {
    "NPROC": 44,
    "NOFILE": 64,
    "CORE": CORE_BYTES,
    "FSIZE": SCRATCH_MB << 20,
    "MEMLOCK": 64 << 10,
    "MSGQUEUE": 0,
    "SIGPENDING": 256,
    "NICE": 0,
    "RTPRIO": 0,
}


GPU_LIMITS: Mapping[str, int] = {"NOFILE": 1024}
"""A CUDA context opens many files of its own."""


UNPACK_LIMITS: Mapping[str, int] = {
    "NPROC": 4,
    "NOFILE": 32,
    "CORE": CORE_BYTES,
    "CPU": 8,
    "AS": 1 << 30,
}


@dataclass(frozen=True)
class BoxSpec:
    """One box to be started; ``slot`` gives it a range of uids of its own on this host."""

    name: str
    profile: Profile
    memory_mb: int
    slot: int
    warms_page_cache: bool = False
    """Whether it is the first of its profile here and brings the libraries into memory."""
    gpu: Gpu | None = None
    """Its own for its life, where the profile needs one."""

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
    complaint: Callable[[], str] = str
    """What the box's own program wrote when it did not come up."""
    group: MatchGroup | None = None
    """Around its zygote and match children; None where no such group can be made."""
    lines: list[socket.socket] = field(default_factory=list)
    """The worker's end of the connection of the child that is pre-forked, until it is lent."""

    def disconnect(self) -> None:
        """End the connection, so that a thread that waits for the box's answer stops waiting."""
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)

    def hang_up(self) -> None:
        """Close every connection to it; its supervisor ends then."""
        self.control.close()
        while self.lines:
            self.lines.pop().close()


class Launcher(Protocol):
    """Starts boxes of one kind. Methods may be called from several threads at once."""

    name: str
    reusable: bool
    """Whether a box can be proven clean after a match and take the next one."""

    def prepare(self, profile: Profile, say: Say) -> str:
        """Make ready what boxes of this profile need; returns the digest matches record."""

    def has(self, profile: Profile) -> bool:
        """Whether boxes of a profile that is only built on command could be started here."""

    def gpus(self) -> tuple[Gpu, ...]:
        """What boxes of GPU profiles can be given, one each."""

    def start(self, spec: BoxSpec) -> Box:
        """A running box whose supervisor has connected; HostFault when it cannot be had.

        EngineAway at once while the engine is away.
        """

    def stop(self, box: Box) -> None:
        """The box and everything in it is gone when this returns. Safe to repeat."""

    def oom_kills(self, box: Box) -> int:
        """How often the kernel has killed for memory in this box, 0 where it cannot be seen."""

    def lost_by_host(self, box: Box) -> str | None:
        """Why the loss of this box is the host's doing; None when its agent may have done it.

        Asked for a box that failed, before it is stopped. May wait some seconds for the answer.
        """

    def usable(self, box: Box) -> bool:
        """Whether the box can be lent; False once the engine it was started by has gone."""

    def sweep(self) -> None:
        """Remove what a dead predecessor of this node has left behind."""

    def lacks(self) -> tuple[str, ...]:
        """What this launcher cannot give on this machine, a sentence each."""


def unpacked_limit_mb(memory_mb: int) -> int:
    """What a bundle may occupy: it stays in memory for the box's life, beside what the agent is to
    have."""
    return memory_mb // 2


def overhead_mb(profile: Profile) -> int:
    """Memory that a box of this profile has beside the agent's."""
    return OVERHEAD_MB + profile.zygote_mb


def supervisor_setup(
    spec: BoxSpec, mode: str, *, home: str = SCRATCH, **more: Any
) -> dict[str, Any]:
    """The supervisor's instructions that are the same for every launcher."""
    folders = spec.gpu.library_folders() if spec.gpu is not None else ()
    searched = {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}
    return {
        "op": "setup",
        "mode": mode,
        "imports": list(spec.profile.imports),
        "environment": {**spec.profile.environment, **searched, **_user_environment(home)},
        "uid_base": spec.uid_base,
        "warms_page_cache": spec.warms_page_cache,
        "agent_dir": AGENT,
        "scratch": [SCRATCH],
        "own_dir": OWN,
        "library_paths": [],
        "limits": {**LIMITS, **(GPU_LIMITS if spec.profile.gpu else {})},
        "unpack_limits": {**UNPACK_LIMITS, "FSIZE": unpacked_limit_mb(spec.memory_mb) << 20},
        "unpacked_bytes": unpacked_limit_mb(spec.memory_mb) << 20,
        "own_network": True,
        **more,
    }


def _user_environment(home: str) -> dict[str, str]:
    """Variables that programs expect; ``home`` is a folder in which a match may write."""
    return {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "USER": user_and_openmp.USER,
        "LOGNAME": user_and_openmp.USER,
        "HOME": home,
        "NUMBA_CACHE_DIR": f"{home}/numba",
    }


def has_hung_up(box: Box) -> bool:
    """Whether the box's supervisor has closed its connection, as it does only by ending."""
    box.control.setblocking(False)  # else it waits as long as was waited last, MSG_DONTWAIT or not
    try:
        return box.control.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
