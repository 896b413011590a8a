"""A control group per bubblewrap box: memory, processes and cpu, on version 2 or version 1 trees.

Groups lie below one folder per run directory, named after a digest of it, so that a node can find
and remove what a dead predecessor of the same run directory left. Source: the kernel's
admin-guide/cgroup-v1 and cgroup-v2.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import HostFault

_CONTROLLERS = ("memory", "pids", "cpu")
_ALL = "+memory +pids +cpu"
_KILL_SECONDS = 5.0
_PERIOD_MICROSECONDS = 100_000


@dataclass(frozen=True)
class Group:
    """One box's group: one folder on version 2, one per controller on version 1."""

    folders: Mapping[str, Path]
    version: int

    @property
    def process_files(self) -> tuple[Path, ...]:
        """Files into which a process writes its pid to come in."""
        return tuple(dict.fromkeys(folder / "cgroup.procs" for folder in self.folders.values()))

    def oom_kills(self) -> int:
        """How often the kernel has killed in this group for memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        with contextlib.suppress(OSError):
            for line in (self.folders["memory"] / name).read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0

    def remove(self) -> None:
        """Kill whatever is in the group, wait until it is empty, and remove it."""
        deadline = time.monotonic() + _KILL_SECONDS
        for folder in dict.fromkeys(self.folders.values()):
            while folder.exists():
                _kill_all(folder)
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                if time.monotonic() > deadline:
                    raise HostFault(f"the control group {folder} cannot be emptied")
                time.sleep(0.005)


class Tree:
    """Where this node may make groups; found once at start."""

    def __init__(self, version: int, parents: Mapping[str, Path], roots: Sequence[Path]) -> None:
        self._version = version
        self._parents = parents
        self._roots = roots

    def create(self, name: str, memory_mb: int, processes: int, cpus: float) -> Group:
        """A new group with these limits; no swap beside the memory."""
        group = Group({c: parent / name for c, parent in self._parents.items()}, self._version)
        try:
            self._open()
            for folder in dict.fromkeys(group.folders.values()):
                folder.mkdir()
            for controller, file, value, needed in _limits(
                self._version, memory_mb << 20, processes, cpus
            ):
                path = group.folders[controller] / file
                if needed or path.exists():
                    path.write_text(value)
        except OSError as error:
            with contextlib.suppress(HostFault):
                group.remove()
            raise HostFault(f"no control group could be made: {error}") from None
        return group

    def sweep(self) -> None:
        """Remove every group of this run directory, wherever a node before us was started."""
        (name,) = {parent.name for parent in self._parents.values()}
        for root in self._roots:
            for folder in [Path(at) for at, _, _ in os.walk(root) if at.endswith(f"/{name}")]:
                for box in [path for path in folder.iterdir() if path.is_dir()]:
                    Group({"memory": box}, self._version).remove()
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def _open(self) -> None:
        for parent in dict.fromkeys(self._parents.values()):
            parent.mkdir(exist_ok=True)
            if self._version == 2:
                for folder in (parent.parent, parent):
                    (folder / "cgroup.subtree_control").write_text(_ALL)


def find(name: str) -> Tree | None:
    """A tree in which groups with memory, processes and cpu limits can be made below ``name``.

    Tried by making one. None when this user may not, or the kernel has none of it.
    """
    mounts = _mounts()
    own = _own_paths()
    candidates = []
    if "unified" in mounts:
        # Our own group first; one with processes in it cannot have limited children, the root can.
        mount = mounts["unified"]
        for base in dict.fromkeys((mount / own.get("", "/").lstrip("/"), mount)):
            candidates.append(Tree(2, dict.fromkeys(_CONTROLLERS, base / name), [mount]))
    if all(controller in mounts for controller in _CONTROLLERS):
        parents = {c: mounts[c] / own.get(c, "/").lstrip("/") / name for c in _CONTROLLERS}
        candidates.append(Tree(1, parents, [mounts[c] for c in _CONTROLLERS]))
    for tree in candidates:
        try:
            tree.create("probe", 64, 8, 1.0).remove()
        except HostFault:
            tree.sweep()
            continue
        return tree
    return None


def _limits(
    version: int, memory: int, processes: int, cpus: float
) -> list[tuple[str, str, str, bool]]:
    """(controller, file, value, whether it must exist), in the order they must be written."""
    quota = str(round(cpus * _PERIOD_MICROSECONDS))
    if version == 2:
        return [
            ("memory", "memory.max", str(memory), True),
            ("memory", "memory.swap.max", "0", False),
            ("pids", "pids.max", str(processes), True),
            ("cpu", "cpu.max", f"{quota} {_PERIOD_MICROSECONDS}", True),
        ]
    return [
        ("memory", "memory.limit_in_bytes", str(memory), True),
        ("memory", "memory.memsw.limit_in_bytes", str(memory), False),
        ("pids", "pids.max", str(processes), True),
        ("cpu", "cpu.cfs_period_us", str(_PERIOD_MICROSECONDS), True),
        ("cpu", "cpu.cfs_quota_us", quota, True),
    ]


def _mounts() -> dict[str, Path]:
    """Mount points by controller (version 1), and ``unified`` (version 2)."""
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        point = Path(left.split()[4])
        if kind == "cgroup2":
            found.setdefault("unified", point)
        elif kind == "cgroup":
            for option in options.split(","):
                found.setdefault(option, point)
    return found


def _own_paths() -> dict[str, str]:
    paths = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def _kill_all(folder: Path) -> None:
    with contextlib.suppress(OSError):
        (folder / "cgroup.kill").write_text("1")
        return
    with contextlib.suppress(OSError, ValueError):
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
