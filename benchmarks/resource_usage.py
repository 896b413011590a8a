"""Measures the processor time and the own memory of a node and its boxes.

The kernel counts processor time in version 2 control groups. The benchmark runs in its own group
with its node and all child processes. For Docker it adds each container's group: zygote and match
children, init and supervisor. It adds the container shims thread by thread.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.node_harness import Node
from benchmarks.processes import process_table, process_tree, read_process
from sandbox.launchers import cgroups

SETTLE_SECONDS = 60.0
RESTING_SECONDS = 0.004
"""The processor time that idle boxes of a node use between two readings."""
_UNIFIED = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))


@contextlib.contextmanager
def enter_own_cgroup() -> Iterator[Path | None]:
    """Puts this process and all its children inside the block into their own group.

    Yields None if that is not permitted.
    """
    root = next((path for path in _UNIFIED if (path / "cgroup.procs").exists()), None)
    before = _own_path()
    if root is None or before is None:
        yield None
        return
    folder = root / f"peck-bench-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "cgroup.procs").write_text("0")
    except OSError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        yield None
        return
    try:
        yield folder
    finally:
        (root / before.lstrip("/") / "cgroup.procs").write_text("0")
        _remove(folder)


def _remove(folder: Path) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError):
            for inner in [path for path in folder.iterdir() if path.is_dir()]:
                inner.rmdir()
            folder.rmdir()
            return
        time.sleep(0.05)


def _own_path() -> str | None:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return line[3:]
    return None


@dataclass(frozen=True)
class Spent:
    """Processor seconds in all and by part; ``children`` are the processes of matches."""

    total: float
    referee: float
    node: float
    supervisors: float
    zygotes: float
    shims: float

    @property
    def children(self) -> float:
        """The seconds that no other part used."""
        known = self.referee + self.node + self.supervisors + self.zygotes + self.shims
        return max(0.0, self.total - known)

    def __sub__(self, earlier: Spent) -> Spent:
        return Spent(
            self.total - earlier.total,
            self.referee - earlier.referee,
            self.node - earlier.node,
            self.supervisors - earlier.supervisors,
            self.zygotes - earlier.zygotes,
            self.shims - earlier.shims,
        )


def spent(group: Path, node: Node) -> Spent:
    """The seconds used until now; removed boxes drop out of the parts."""
    containers = containers_of(node)
    total = group_seconds(group)
    for container in containers:
        folder = cgroups.find_container_group(container)
        if folder is not None:
            total += group_seconds(folder)
    kinds = _kinds(processes_of(node, containers))
    shims = sum(_thread_seconds(pid) for pid in kinds["shim"])
    own = os.times()
    return Spent(
        total=total + shims,
        referee=own.user + own.system + own.children_user + own.children_system,
        node=read_process(node.pid).own_seconds,
        supervisors=sum(_thread_seconds(pid) for pid in kinds["supervisor"]),
        zygotes=sum(_thread_seconds(pid) for pid in kinds["zygote"]),
        shims=shims,
    )


def containers_of(node: Node) -> list[str]:
    """Ids of the current containers of this node."""
    if node.launcher != "docker":
        return []
    import docker

    engine = docker.from_env()
    with contextlib.closing(engine):
        # Container names contain the run directory's key, which we do not know, and the node's
        # name.
        found = engine.api.containers(quiet=True, filters={"name": f"-{node.name}-"})
    return [str(entry["Id"]) for entry in found]


def processes_of(node: Node, containers: list[str]) -> list[int]:
    """Every process of this node's boxes on this host, and their shims."""
    table = process_table()
    if node.launcher == "docker":
        roots = {pid for pid, one in table.items() if _is_shim(one.command, containers)}
    else:
        roots = {
            pid
            for pid, one in table.items()
            if one.parent == node.pid and "peckbox.supervisor" in one.command
        }
    return sorted(process_tree(table, roots))


def wait_until_idle(node: Node) -> None:
    """Wait until no box of the node starts or forks its next child."""
    give_up_at = time.monotonic() + SETTLE_SECONDS
    containers, used = containers_of(node), -1.0
    while time.monotonic() < give_up_at:
        pids = processes_of(node, containers)
        now = sum(map(_thread_seconds, pids))
        again = containers_of(node)
        if used >= 0 and abs(now - used) < RESTING_SECONDS and again == containers:
            return
        used, containers = now, again
        time.sleep(0.4)


def anonymous_mib(node: Node) -> float:
    """Memory of the boxes that belongs to no file, shared pages by their share, in MiB."""
    return sum(map(_anonymous_kib, processes_of(node, containers_of(node)))) / 1024


def anonymous_by_kind(node: Node) -> Mapping[str, float]:
    """The same by kind of process."""
    kinds = _kinds(processes_of(node, containers_of(node)))
    return {kind: sum(map(_anonymous_kib, pids)) / 1024 for kind, pids in kinds.items() if pids}


def _kinds(pids: list[int]) -> dict[str, list[int]]:
    table = process_table()
    lines = {pid: one.command for pid, one in table.items()}
    parents = {pid: one.parent for pid, one in table.items()}
    kinds: dict[str, list[int]] = {
        kind: [] for kind in ("supervisor", "zygote", "child", "shim", "init")
    }
    for pid in pids:
        line, above = lines.get(pid, ""), lines.get(parents.get(pid, 0), "")
        if "containerd-shim" in line:
            kind = "shim"
        elif "peckbox.zygote" in line:
            kind = "child" if "peckbox.zygote" in above else "zygote"
        elif "peckbox.supervisor" in line and "bwrap" not in line and "-init" not in line:
            kind = "supervisor"
        else:
            kind = "init"
        kinds[kind].append(pid)
    return kinds


def _is_shim(line: str, containers: list[str]) -> bool:
    return "containerd-shim" in line and any(one in line for one in containers)


def group_seconds(folder: Path) -> float:
    """Processor seconds of a version 2 group and all groups below it."""
    with contextlib.suppress(OSError):
        return int((folder / "cpu.stat").read_text().split()[1]) / 1e6
    return 0.0


def _thread_seconds(pid: int) -> float:
    """Processor seconds of the current threads of a process."""
    total = 0
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def _anonymous_kib(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss_Anon:"):
                return int(line.split()[1])
    return 0
