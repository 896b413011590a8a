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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import HostFault

_CONTROLLERS = ("memory", "pids", "cpu")
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

    def __init__(self, version: int, parents: Mapping[str, Path]) -> None:
        self._version = version
        self._parents = parents

    def create(self, name: str, memory_mb: int, processes: int, cpus: float) -> Group:
        """A new group with these limits; no swap beside the memory."""
        group = Group({c: parent / name for c, parent in self._parents.items()}, self._version)
        try:
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
        """Remove every group in our folder, and the folder."""
        for parent in dict.fromkeys(self._parents.values()):
            if not parent.exists():
                continue
            for folder in [path for path in parent.iterdir() if path.is_dir()]:
                Group({"memory": folder}, self._version).remove()

    def remove(self) -> None:
        """Remove the empty parent folders at the node's end."""
        for parent in dict.fromkeys(self._parents.values()):
            with contextlib.suppress(OSError):
                parent.rmdir()


def find(name: str) -> Tree | None:
    """A tree in which groups with memory, processes and cpu limits can be made below ``name``.

    None when this user may not, or the kernel has none of it.
    """
    mounts = _mounts()
    own = _own_paths()
    if "unified" in mounts and (tree := _version_2(mounts["unified"], own.get("", "/"), name)):
        return tree
    parents = {}
    for controller in _CONTROLLERS:
        if controller not in mounts:
            return None
        parents[controller] = mounts[controller] / own.get(controller, "/").lstrip("/") / name
    return Tree(1, parents) if _can_make(parents) else None


def _version_2(mount: Path, own: str, name: str) -> Tree | None:
    # Our own group first; a group with processes in it cannot have limited children, the root can.
    for base in dict.fromkeys((mount / own.lstrip("/"), mount)):
        parent = base / name
        try:
            controllers = (base / "cgroup.controllers").read_text().split()
            if not set(_CONTROLLERS) <= set(controllers):
                continue
            wanted = " ".join(f"+{c}" for c in _CONTROLLERS)
            (base / "cgroup.subtree_control").write_text(wanted)
            parent.mkdir(exist_ok=True)
            (parent / "cgroup.subtree_control").write_text(wanted)
        except OSError:
            continue
        return Tree(2, dict.fromkeys(_CONTROLLERS, parent))
    return None


def _can_make(parents: Mapping[str, Path]) -> bool:
    try:
        for parent in parents.values():
            parent.mkdir(exist_ok=True)
    except OSError:
        return False
    return True


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
