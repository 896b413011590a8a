"""The interface between the node daemon and the launchers, which start and stop boxes."""

from __future__ import annotations

import contextlib
import hashlib
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sandbox.box import wire, working_folder
from sandbox.launchers import cgroups, gpu
from sandbox.launchers.cgroups import MatchGroup
from sandbox.launchers.gpu import Gpu
from sandbox.profiles import Profile, Say

OVERHEAD_MB = 64
"""Memory of a box beside the agent's: supervisor, zygote and bookkeeping of its scratch."""


SCRATCH_MB = 64


SCRATCH_INODES = 4096


AGENT_INODES = 32_768
"""More than the entries of an archive (``box.unpack``), because it need not name its folders.
Each takes 1 KB of the box's memory.
"""


AGENT = "/kaggle_simulations/agent"
"""The bundle's folder in a box, as on Kaggle. It is the match's writable working folder."""


SCRATCH = "/tmp"  # noqa: S108  inside the box
"""The other folder that an agent may write. Both are cleaned after every match."""


OWN = "/peck/own"
"""Where a box keeps its own files: the user's name and links to libraries."""


OWN_KB = 64


OWN_LINKS = {"/etc/passwd": f"{OWN}/passwd"}
"""Links from the box's root into that folder."""


PATH = "/peck/python/bin:/usr/bin:/bin"


CPUS = 1.0


PROBE_MB = 256


MOST_PROCESSES = 64
"""Most processes of a box. A match's uid may have fewer, so that the supervisor can always fork."""


CORE_BYTES = 1
"""Every core file is longer. If the kernel pipes cores to a program of the host, exactly 1 stops
this; 0 does not.
"""


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
    """A box to start. ``slot`` gives it its own range of uids on this host."""

    name: str
    profile: Profile
    memory_mb: int
    slot: int
    warms_page_cache: bool = False
    """Whether it is the first box of its profile here and reads the libraries into memory."""
    gpu: Gpu | None = None
    """The GPU of the box for its life, or its share of one, if the profile needs one."""

    @property
    def uid_base(self) -> int:
        """First of the 1000 uids that this box gives to its matches."""
        return UID_BASE + self.slot * 1000


UID_BASE = 1_900_000_000


SLOTS = 200_000
"""Number of uid ranges, above all uids that distributions and containers use."""


@dataclass(frozen=True)
class Box:
    """A started box: the connection to its supervisor, its setup, and data of the launcher."""

    spec: BoxSpec
    control: socket.socket
    setup: Mapping[str, Any]
    handle: Any
    complaint: Callable[[], str] = str
    """What the box's own program wrote when it failed to start."""
    group: MatchGroup | None = None
    """The group around its zygote and match children. None if no such group can be made."""
    lines: list[socket.socket] = field(default_factory=list)
    """The worker's end of the pre-forked child's connection, until it is lent."""

    def disconnect(self) -> None:
        """Shut the connection down, so that a thread waiting for the box's answer stops."""
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)

    @property
    def has_hung_up(self) -> bool:
        """Whether its supervisor has closed its connection. It does so only by ending."""
        return wire.has_closed(self.control)

    def hang_up(self) -> None:
        """Close every connection to the box. Its supervisor then ends."""
        self.control.close()
        while self.lines:
            self.lines.pop().close()


class Launcher(Protocol):
    """Starts boxes of one kind. Several threads may call its methods at once."""

    name: str
    reusable: bool
    """Whether a box can be checked after a match and play the next one."""

    def prepare(self, profile: Profile, say: Say) -> str:
        """Prepare what boxes of this profile need. Returns the digest that matches record."""

    def has(self, profile: Profile) -> bool:
        """Whether boxes of a profile that is only built on command could start here."""

    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs for boxes of GPU profiles."""

    def start(self, spec: BoxSpec) -> Box:
        """Start a box and return it when its supervisor has connected. Raises HostFault.

        Raises EngineAway at once while the engine is away.
        """

    def stop(self, box: Box) -> None:
        """Remove the box and everything in it before returning. Safe to repeat."""

    def oom_kills(self, box: Box) -> int:
        """How often the kernel has killed for memory in this box; 0 if that is unknown."""

    def lost_by_host(self, box: Box) -> str | None:
        """Why the host lost this box. None if its agent may have caused it.

        Call it for a failed box before ``stop``. It may take some seconds.
        """

    def usable(self, box: Box) -> bool:
        """Whether the box can be lent. False once the engine that started it has gone."""

    def sweep(self) -> None:
        """Remove what a dead predecessor of this node left behind."""

    def lacks(self) -> tuple[str, ...]:
        """What this launcher cannot give on this machine, one sentence each."""


CAPABILITIES = ("SETUID", "SETGID", "KILL", "CHOWN", "SETPCAP")
"""Capabilities of a supervisor that is root in its box. Agents have none."""
PROGRAM = "import sys; sys.path.append('/peck'); from peckbox.supervisor import main; main()"
PROGRAM_OPTIONS = ("-I", "-S", "-B", "-c", PROGRAM)
"""Arguments of the interpreter that starts a supervisor."""


class GroupedLauncher:
    """What the launchers share that put boxes into control groups."""

    def __init__(self, run_dir: Path) -> None:
        self._key = hashlib.sha256(str(run_dir).encode()).hexdigest()[:12]
        self._groups_name = f"peck-{self._key}"
        self._match_groups = cgroups.find_match_groups(self._groups_name)
        self._powers = cgroups.match_group_abilities(self._match_groups)

    def _sweep_match_groups(self) -> None:
        if self._match_groups is not None:
            self._match_groups.sweep()


def writable_folders(memory_mb: int) -> list[tuple[str, str, tuple[str, ...]]]:
    """Path, options and flags of each tmpfs of a box with this memory for its agent."""
    # No access times: a match could leave them on files that it may only read.
    flags = ("nosuid", "nodev", "noatime")
    sizes = (
        (SCRATCH, f"mode=1777,size={SCRATCH_MB}m,nr_inodes={SCRATCH_INODES}", ("noexec",)),
        (AGENT, f"mode=755,size={unpacked_limit_mb(memory_mb)}m,nr_inodes={AGENT_INODES}", ()),
        (OWN, f"mode=755,size={OWN_KB}k,nr_inodes=16", ("noexec",)),
    )
    return [(path, options, (*flags, *more)) for path, options, more in sizes]


def unpacked_limit_mb(memory_mb: int) -> int:
    """Most memory of an unpacked bundle. It stays for the box's life, beside the agent's memory."""
    return memory_mb // 2


def overhead_mb(profile: Profile) -> int:
    return OVERHEAD_MB + profile.zygote_mb


def supervisor_setup(
    spec: BoxSpec, mode: str, *, home: str = SCRATCH, **more: Any
) -> dict[str, Any]:
    """The setup message for the supervisor, as far as all launchers share it."""
    folders = spec.gpu.library_folders() if spec.gpu is not None else ()
    searched = {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}
    shared = gpu.share_environment(spec.gpu) if spec.gpu is not None else {}
    return {
        "op": "setup",
        "mode": mode,
        "imports": list(spec.profile.imports),
        "environment": {
            **spec.profile.environment,
            **searched,
            **shared,
            **_user_environment(home),
        },
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
    """Environment variables that programs expect. ``home`` is a folder that a match may write."""
    return {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "USER": working_folder.USER,
        "LOGNAME": working_folder.USER,
        "HOME": home,
        "NUMBA_CACHE_DIR": f"{home}/numba",
    }
