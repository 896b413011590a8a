"""Control groups: a bubblewrap box's limits, and every box's match group for the clock.

A *box group* limits memory, processes and CPU, on version 2 or version 1 trees.

A *match group* is a version 2 group without limits around the processes that run an agent's code.
It also works beside version 1 controllers. Its files report CPU time and waiting, and can stop and
kill the processes.

Each run directory has one folder of groups, named after its digest. So a node can find and remove
what a dead predecessor left. Source: the kernel's admin-guide/cgroup-v1 and cgroup-v2, and
accounting/psi.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import HostFault

_CONTROLLERS = ("memory", "pids", "cpu")
_ALL = "+memory +pids +cpu"
_KILL_SECONDS = 5.0
_PERIOD_MICROSECONDS = 100_000
TCP_BYTES = 8 << 20
"""Most TCP memory of one box. The whole host shares this memory."""
_CORES = os.cpu_count() or 1
PROCESSES_A_CORE = 10
"""All boxes together have the weight of this many busy processes on each core."""
SHARES = min(262_144, 1024 * PROCESSES_A_CORE * _CORES)
"""The boxes' CPU weight in units of version 1 and of container engines: 1024 a process."""
_WEIGHT = min(10_000, 100 * PROCESSES_A_CORE * _CORES)
"""The boxes' CPU weight in units of version 2: 100 a process."""


@dataclass(frozen=True)
class BoxGroup:
    """One box's group: one folder on version 2, one per controller on version 1."""

    folders: Mapping[str, Path]
    version: int

    @property
    def process_files(self) -> tuple[Path, ...]:
        """Files into which a process writes its pid to enter the group."""
        return tuple(dict.fromkeys(folder / "cgroup.procs" for folder in self.folders.values()))

    def oom_kills(self) -> int:
        """How often the kernel has killed for memory in this group."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        with contextlib.suppress(OSError):
            for line in (self.folders["memory"] / name).read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0

    def remove(self) -> None:
        for folder in dict.fromkeys(self.folders.values()):
            remove_group(folder)


ABILITIES: Mapping[str, tuple[str, int]] = {
    "cpu_stat": ("cpu.stat", os.O_RDONLY),
    "cpu_pressure": ("cpu.pressure", os.O_RDONLY),
    "freeze": ("cgroup.freeze", os.O_WRONLY),
    "kill": ("cgroup.kill", os.O_WRONLY),
}
"""Files of a match group whose descriptors go to the worker with a loan: name, file, flags."""


class MatchGroup:
    """The version 2 group of one box's zygote and match children. Owns the descriptors."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.entry = -1
        """A process that writes ``0`` to this descriptor enters the group, whatever its own
        rights.
        """
        self.powers: dict[str, int] = {}
        self._lock = threading.Lock()
        try:
            folder.mkdir()
            self.entry = os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
            for name, (file, flags) in ABILITIES.items():
                with contextlib.suppress(OSError):  # no psi, or a kernel without cgroup.kill
                    self.powers[name] = _open_readable(folder / file, flags)
        except OSError as error:
            self.remove()
            raise HostFault(f"no match group could be made: {error}") from None

    def cpu_seconds(self) -> float:
        """CPU time of everything that ever ran in it. 0 if the kernel does not report it."""
        with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
            return int(os.pread(self.powers["cpu_stat"], 64, 0).split()[1]) * 1e-6
        return 0.0

    def processes(self) -> frozenset[int]:
        """The pids of its processes. Empty once it is removed."""
        with contextlib.suppress(OSError):
            return frozenset(map(int, (self._folder / "cgroup.procs").read_text().split()))
        return frozenset()

    def kill(self) -> None:
        """Kill all its processes, frozen or not. The zygote is one of them, so the box ends too."""
        _kill_all(self._folder)

    def thaw(self) -> None:
        """Let the processes run again, whoever stopped them."""
        with contextlib.suppress(OSError, KeyError):
            os.write(self.powers["freeze"], b"0")

    def remove(self) -> None:
        """Close the descriptors, kill everything in the group, and remove it. Safe to repeat."""
        with self._lock:  # two threads may remove it, and a second close could hit another file
            descriptors = [self.entry, *self.powers.values()]
            self.entry, self.powers = -1, {}
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        remove_group(self._folder)


class MatchGroups:
    """Makes match groups outside of box groups. The place is found once at start."""

    def __init__(self, parent: Path, root: Path) -> None:
        self._parent, self._root = parent, root

    def create(self, name: str) -> MatchGroup:
        with contextlib.suppress(OSError):
            self._parent.mkdir(exist_ok=True)
        return MatchGroup(self._parent / name)

    def sweep(self) -> None:
        """Remove every group of this run directory."""
        _remove_groups_of_run_dir(self._root, self._parent.name)


class BoxGroups:
    """Makes box groups. The place is found once at start."""

    def __init__(self, version: int, parents: Mapping[str, Path], roots: Sequence[Path]) -> None:
        self._version = version
        self._parents = parents
        self._roots = roots

    def create(self, name: str, memory_mb: int, processes: int, cpus: float) -> BoxGroup:
        group = BoxGroup({c: parent / name for c, parent in self._parents.items()}, self._version)
        try:
            self._prepare_parents()
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
        """Remove every group of this run directory, wherever an earlier node was started."""
        (name,) = {parent.name for parent in self._parents.values()}
        for root in self._roots:
            _remove_groups_of_run_dir(root, name)

    def _prepare_parents(self) -> None:
        for parent in dict.fromkeys(self._parents.values()):
            parent.mkdir(exist_ok=True)
            if self._version == 2:
                for folder in (parent.parent, parent):
                    (folder / "cgroup.subtree_control").write_text(_ALL)
        _set_weight(self._parents["cpu"])


def set_weight_of_boxes(name: str) -> None:
    """Set the weight of all boxes on the group that a container engine made below its root.

    Does nothing if this process cannot see that group.
    """
    for mount in _cgroup_mounts().values():
        _set_weight(mount / name)


def remove_groups_of_engine(name: str) -> None:
    """Remove the groups of this name, with all inside, that an engine left below its root.

    An engine makes a group for each container in each hierarchy. On a busy host it gives up to
    remove them, and they stay empty. Call it when their containers are removed.
    """
    for mount in set(_cgroup_mounts().values()):
        with contextlib.suppress(HostFault):
            remove_group(mount / name)


def find_box_groups(name: str) -> BoxGroups | None:
    """Find a tree that allows groups with memory, process and CPU limits below ``name``.

    Makes one to try. Returns None if this user may not, or the kernel has no such groups.
    """
    mounts = _cgroup_mounts()
    own = _own_paths()
    candidates = []
    if "unified" in mounts:
        # Our own group first. A group with processes cannot have limited children; the root can.
        mount = mounts["unified"]
        for base in dict.fromkeys((mount / own.get("", "/").lstrip("/"), mount)):
            candidates.append(BoxGroups(2, dict.fromkeys(_CONTROLLERS, base / name), [mount]))
    if all(controller in mounts for controller in _CONTROLLERS):
        parents = {c: mounts[c] / own.get(c, "/").lstrip("/") / name for c in _CONTROLLERS}
        candidates.append(BoxGroups(1, parents, [mounts[c] for c in _CONTROLLERS]))
    for tree in candidates:
        try:
            tree.create("probe", 64, 8, 1.0).remove()
        except HostFault:
            tree.sweep()
            continue
        return tree
    return None


def find_match_groups(name: str) -> MatchGroups | None:
    """Find a place for match groups below ``name`` by making one. None if there is none."""
    mount = _cgroup_mounts().get("unified")
    if mount is None:
        return None
    for base in dict.fromkeys((mount / _own_paths().get("", "/").lstrip("/"), mount)):
        groups = MatchGroups(base / name, mount)
        try:
            groups.create("probe").remove()
        except HostFault:
            with contextlib.suppress(OSError):
                (base / name).rmdir()
            continue
        return groups
    return None


def find_container_group(container: str, parent: str | None = None) -> Path | None:
    """The version 2 group of a container: at the engines' default place, or below ``parent``.

    None if there is none.
    """
    mount = _cgroup_mounts().get("unified")
    if mount is None:
        return None
    places = (
        f"system.slice/docker-{container}.scope",
        f"docker/{container}",
        *(() if parent is None else (f"{parent}/{container}",)),
    )
    return next((mount / place for place in places if (mount / place).is_dir()), None)


def match_group_abilities(groups: MatchGroups | None) -> frozenset[str]:
    """The names of the descriptors that match groups have here. Makes one to find out."""
    if groups is None:
        return frozenset()
    probe = groups.create("probe")
    try:
        return frozenset(probe.powers)
    finally:
        probe.remove()


def _set_weight(folder: Path) -> None:
    for name, weight in (("cpu.weight", _WEIGHT), ("cpu.shares", SHARES)):
        path = folder / name
        with contextlib.suppress(
            OSError
        ):  # if the host forbids it, boxes get a smaller share of the cores
            if path.exists():
                path.write_text(str(weight))


def _limits(
    version: int, memory: int, processes: int, cpus: float
) -> list[tuple[str, str, str, bool]]:
    """(controller, file, value, whether it must exist), in the order to write them."""
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
        # Version 2 counts it as memory. Version 1 counts it separately, without a limit.
        ("memory", "memory.kmem.tcp.limit_in_bytes", str(TCP_BYTES), False),
        ("pids", "pids.max", str(processes), True),
        ("cpu", "cpu.cfs_period_us", str(_PERIOD_MICROSECONDS), True),
        ("cpu", "cpu.cfs_quota_us", quota, True),
    ]


def _cgroup_mounts() -> dict[str, Path]:
    return parse_mounts(Path("/proc/self/mountinfo").read_text())


def parse_mounts(mountinfo: str) -> dict[str, Path]:
    """Mount points by controller (version 1), and ``unified`` (version 2)."""
    points: dict[str, Path] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = (*right.split(" ", 2), "", "")[:3]
        names = {"cgroup2": ["unified"], "cgroup": options.split(",")}.get(kind, [])
        for name in names:
            points.setdefault(name, Path(left.split()[4]))
    return points


def _own_paths() -> dict[str, str]:
    return parse_own_paths(Path("/proc/self/cgroup").read_text())


def parse_own_paths(lines: str) -> dict[str, str]:
    """The paths of a process's groups by controller; of version 2 by an empty name."""
    paths: dict[str, str] = {}
    for line in lines.splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    return paths


def _open_readable(path: Path, flags: int) -> int:
    """Open a group's file. If it is opened for reading, check that a read works."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        if flags == os.O_RDONLY:
            os.pread(descriptor, 1, 0)  # without psi the file exists and a read gives EOPNOTSUPP
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def remove_group(folder: Path) -> None:
    """Kill everything in the group and its child groups, and remove them.

    Raises HostFault if the group stays.
    """
    deadline = time.monotonic() + _KILL_SECONDS
    with contextlib.suppress(OSError):
        for inner in [path for path in folder.iterdir() if path.is_dir()]:
            remove_group(inner)
    while folder.exists():
        _kill_all(folder)
        with contextlib.suppress(OSError):
            folder.rmdir()
            break
        if time.monotonic() > deadline:
            raise HostFault(f"the control group {folder} cannot be emptied")
        time.sleep(0.005)


def _remove_groups_of_run_dir(root: Path, name: str) -> None:
    for folder in [Path(at) for at, _, _ in os.walk(root) if at.endswith(f"/{name}")]:
        for box in [path for path in folder.iterdir() if path.is_dir()]:
            remove_group(box)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _kill_all(folder: Path) -> None:
    with contextlib.suppress(OSError):
        (folder / "cgroup.kill").write_text("1")
        return
    with contextlib.suppress(OSError, ValueError):
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)
