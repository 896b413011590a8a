"""Finds all resources of one node on the host; all must be gone after its end."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import docker

from sandbox.launchers.base import SLOTS, UID_BASE
from sandbox.launchers.docker import RUN_LABEL
from tests.integration.sandbox.nodes import Node

PROMISED_SECONDS = 2.0
"""The promised time until nothing is left."""
MOST_SECONDS = 300.0
"""The time limit of a test on a busy machine; the measured time is printed."""
SETTLED_SECONDS = 0.5
KEPT = (".lock", ".log", ".py")


@dataclass(frozen=True)
class Census:
    """The resources by kind."""

    processes: frozenset[str] = frozenset()
    uids: frozenset[str] = frozenset()
    mounts: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    sockets: frozenset[str] = frozenset()

    @property
    def move_costs(self) -> dict[str, int]:
        """The number of each kind."""
        return {field.name: len(getattr(self, field.name)) for field in fields(self)}

    @property
    def all(self) -> frozenset[str]:
        """Everything, each entry with its kind."""
        return frozenset(
            f"{field.name}: {entry}"
            for field in fields(self)
            for entry in getattr(self, field.name)
        )


class Taker:
    """Takes the census of one node; remembers processes, even when they change parents."""

    def __init__(self, node: Node, engine: str | None = None) -> None:
        self._node = node
        self._key = hashlib.sha256(str(node.run_dir.resolve()).encode()).hexdigest()[:12]
        self.engine = engine
        """The address of the engine, where boxes are containers."""
        self._seen: set[tuple[int, str]] = set()
        self._layers: set[str] = set()
        self._ids: set[str] = set()

    def take(self) -> Census:
        """Count everything now; an unreachable engine counts as one container."""
        containers = self._containers()
        groups = frozenset(
            at
            for at, _, _ in os.walk("/sys/fs/cgroup")
            if f"/peck-{self._key}" in at or any(name in at for name in self._ids)
        )
        processes = self._processes()
        mounts = Path("/proc/mounts").read_text().splitlines()
        ours = {str(self._node.run_dir), *self._layers, *self._ids}
        sockets = Path("/proc/net/unix").read_text().splitlines()
        return Census(
            processes=processes,
            uids=_uids(processes),
            mounts=frozenset(line for line in mounts if any(part in line for part in ours)),
            groups=groups,
            containers=containers,
            files=frozenset(
                os.path.join(folder, name)
                for folder, folders, files in os.walk(self._node.run_dir)  # skips vanished ones
                for name in (*folders, *files)
                if Path(name).suffix not in KEPT and name != "log"
            ),
            sockets=frozenset(
                line.split()[-1] for line in sockets if f"{self._node.run_dir}/" in line
            ),
        )

    def _containers(self) -> frozenset[str]:
        if self.engine is None:
            return frozenset()
        found = set[str]()
        try:
            with contextlib.closing(docker.APIClient(self.engine, timeout=60)) as client:
                label = f"{RUN_LABEL}={self._key}"
                for entry in client.containers(all=True, filters={"label": label}):
                    self._ids.add(entry["Id"])
                    # After a crash, Docker 20.10 sometimes still lists a removed container as dead.
                    # It answers every other request for it with 404, so it is not counted.
                    with contextlib.suppress(docker.errors.NotFound):
                        driver = client.inspect_container(entry["Id"]).get("GraphDriver") or {}
                        found.add(entry["Id"][:12])
                        with contextlib.suppress(KeyError, TypeError):
                            self._layers.add(driver["Data"]["MergedDir"])
        except (docker.errors.DockerException, OSError) as error:
            return frozenset({f"the engine is away: {error}"})
        return frozenset(found)

    def _processes(self) -> frozenset[str]:
        parents, found = {}, set()
        for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
            with contextlib.suppress(OSError):
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                if state[0] == "Z":
                    continue  # its parent has not yet reaped it
                identity = (pid, state[19])
                parents[pid] = int(state[1])
                group = Path(f"/proc/{pid}/cgroup").read_text()
                marks = (f"peck-{self._key}", *self._ids)
                if identity in self._seen or any(mark in group for mark in marks):
                    found.add(identity)
        for pid in parents:
            if self._node.process.pid in _line(pid, parents):
                with contextlib.suppress(OSError):
                    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    found.add((pid, stat[19]))
        self._seen |= found
        return frozenset(f"{pid}" for pid, _ in found)

    def settled(self) -> Census:
        """The census once it is stable: an idle box forks its next child."""
        before, same_since = self.take(), time.monotonic()
        begun = same_since
        while time.monotonic() - same_since < SETTLED_SECONDS:
            assert time.monotonic() - begun < MOST_SECONDS, "the node does not come to rest"
            time.sleep(0.05)
            now = self.take()
            if now != before:
                before, same_since = now, time.monotonic()
        return before

    def supervisor(self) -> int:
        """The pid of the only box's supervisor."""
        (pid,) = [pid for pid in self._pids() if _is_supervisor(pid)]
        return pid

    def _pids(self) -> list[int]:
        return [int(pid) for pid in self.take().processes]


def wait_until(done: Callable[[], bool], what: Callable[[], object]) -> float:
    """The seconds until the condition was true; on failure it shows ``what()``."""
    begun = time.monotonic()
    while not done():
        took = time.monotonic() - begun
        assert took < MOST_SECONDS, f"after {took:.1f} s there still is: {what()}"
        time.sleep(0.02)
    return time.monotonic() - begun


def _line(pid: int, parents: dict[int, int]) -> list[int]:
    line = [pid]
    while line[-1] in parents and parents[line[-1]] not in line:
        line.append(parents[line[-1]])
    return line


def _uids(processes: frozenset[str]) -> frozenset[str]:
    found = set()
    for pid in processes:
        with contextlib.suppress(OSError):
            uid = os.stat(f"/proc/{pid}").st_uid
            if UID_BASE <= uid < UID_BASE + SLOTS * 1000:
                found.add(str(uid))
    return frozenset(found)


def _is_supervisor(pid: int) -> bool:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return words[0].endswith(b"python3") and any(b"peckbox.supervisor" in w for w in words)
    return False
