"""Reads the facts about this machine, and tries what cannot be read.

The reading makes nothing, so a test can pass a tree of files as the root. A missing or unreadable
file is a fact, never an error. Each probe makes a thing, looks at it and removes it. Probes use no
network, build no image and leave no setting changed. A failed probe gives the reason as a sentence.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.launchers import cgroups, choose, gpu
from sandbox.launchers.bubblewrap import BubblewrapLauncher
from sandbox.match import steal_monitor

CONTROLLERS = ("memory", "pids", "cpu")


@dataclass(frozen=True)
class Machine:
    """The facts of one reading. Paths are as the machine sees them, without the given root."""

    uid: int
    kernel: str
    cgroup_version: str
    """``2``, ``hybrid`` (version 1 controllers beside a version 2 tree), ``1`` or ``none``."""
    unified: Path | None
    """Mount point of the version 2 tree."""
    own_group: str
    """Path of our own group, from the tree's root."""
    controllers: tuple[str, ...]
    """Which of memory, pids and cpu our mounts offer, in either version."""
    system_pressure: bool
    """Whether /proc/pressure/cpu can be read (psi is on)."""
    schedstat: bool
    virtual: bool
    """Whether there is a hypervisor, or nothing shows that there is none."""
    uid_spans: tuple[tuple[int, int], ...]
    """(first, past the last) uid of this user namespace, from its map."""
    seccomp_actions: frozenset[str]
    user_namespaces: str
    """What forbids ordinary users to make user namespaces. Empty if nothing does."""
    swap_kilobytes: int
    core_pattern: str
    gpus: tuple[str, ...]
    """Names of the NVIDIA device nodes of whole GPUs."""
    cdi_files: tuple[str, ...]
    """Files that describe NVIDIA devices for containers."""


def read_machine(root: Path, uid: int) -> Machine:
    """Read the machine below ``root``, as this user sees it."""
    proc = root / "proc"
    mounts = cgroups.parse_mounts(_read_text(proc / "self/mountinfo"))
    unified = mounts.get("unified")
    first = {name for name in mounts if name != "unified"}
    own = cgroups.parse_own_paths(_read_text(proc / "self/cgroup")).get("", "/")
    offered = first
    if unified is not None:
        mount = root / unified.relative_to("/")
        offered = first | set(_read_text(mount / own.lstrip("/") / "cgroup.controllers").split())
        offered |= set(_read_text(mount / "cgroup.controllers").split())
    return Machine(
        uid=uid,
        kernel=_read_text(proc / "sys/kernel/osrelease").strip() or "unknown",
        cgroup_version=_cgroup_version(unified is not None, bool(first & set(CONTROLLERS))),
        unified=unified,
        own_group=own,
        controllers=tuple(name for name in CONTROLLERS if name in offered),
        system_pressure=_read_text(proc / "pressure/cpu").startswith("some "),
        schedstat=re.fullmatch(r"\d+ \d+ \d+\s*", _read_text(proc / "self/schedstat")) is not None,
        virtual=steal_monitor.may_have_hypervisor(proc / "cpuinfo"),
        uid_spans=_uid_spans(_read_text(proc / "self/uid_map")),
        seccomp_actions=frozenset(_read_text(proc / "sys/kernel/seccomp/actions_avail").split()),
        user_namespaces=_user_namespace_switch(proc / "sys"),
        swap_kilobytes=sum(
            int(line.split()[2])
            for line in _read_text(proc / "swaps").splitlines()[1:]
            if line.strip()
        ),
        core_pattern=_read_text(proc / "sys/kernel/core_pattern").strip(),
        gpus=_names_matching(root / "dev", r"nvidia\d+"),
        cdi_files=_cdi_files(root),
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _names_matching(folder: Path, pattern: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(p.name for p in folder.iterdir() if re.fullmatch(pattern, p.name)))
    except OSError:
        return ()


def _cgroup_version(second: bool, first: bool) -> str:
    if second:
        return "hybrid" if first else "2"
    return "1" if first else "none"


def _uid_spans(uid_map: str) -> tuple[tuple[int, int], ...]:
    spans = []
    for line in uid_map.splitlines():
        inside, _, count = map(int, line.split())
        spans.append((inside, inside + count))
    return tuple(spans)


def _user_namespace_switch(sys: Path) -> str:
    """Which switch denies user namespaces to ordinary users. Empty if none does."""
    for name, closed in (
        ("user/max_user_namespaces", "0"),
        ("kernel/unprivileged_userns_clone", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):
        if _read_text(sys / name).strip() == closed:
            return f"{name.replace('/', '.')} = {closed}"
    return ""


def _cdi_files(root: Path) -> tuple[str, ...]:
    paths = []
    for folder in ("etc/cdi", "var/run/cdi"):
        for name in _names_matching(root / folder, r".*\.(json|ya?ml)"):
            if "nvidia" in _read_text(root / folder / name):
                paths.append(f"/{folder}/{name}")
    return tuple(paths)


_FROZEN_SECONDS = 2.0
_PROFILE = "python"
"""The profile that needs no installation."""


@dataclass(frozen=True)
class MatchGroupProbe:
    """What a new version 2 group could do."""

    trouble: str = ""
    """Why no group could be made. Empty if one could."""
    freezes: bool = False
    kills: bool = False
    counts: bool = False
    pressure: bool = False

    @property
    def can_hold_match(self) -> bool:
        """Whether it can hold a match: freeze and count. The node can kill without it."""
        return self.freezes and self.counts


@dataclass(frozen=True)
class ProbeResults:
    """The result of every probe."""

    engine: Mapping[str, Any] | None
    """The engine's ``info``."""
    engine_trouble: str
    engine_cannot: tuple[str, ...]
    bubblewrap: str
    """bubblewrap's version line. Empty if it is not installed."""
    bubblewrap_trouble: str
    """Why no box started. Empty if one did."""
    limited_groups: bool
    """Whether a group with memory, process and CPU limits could be made."""
    match_group: MatchGroupProbe
    above_all: bool = True
    """Whether a thread may run above all others."""
    gpu_memory_mb: Mapping[str, int] = field(default_factory=dict)
    """Memory of each GPU by its number and its UUID. Empty without ``nvidia-smi``."""


def run_probes(machine: Machine) -> ProbeResults:
    """Run every probe, one after another."""
    engine, engine_trouble, cannot = _probe_engine()
    with _restore_controllers(machine):
        limited = _probe_limited_groups()
        version, trouble = _probe_bubblewrap()
    group = _probe_match_group(machine)
    above = steal_monitor.may_run_above_others()
    memory = gpu.read_memory() if machine.gpus else {}
    return ProbeResults(
        engine,
        engine_trouble,
        cannot,
        version,
        trouble,
        limited,
        group,
        above,
        gpu_memory_mb=memory,
    )


def _probe_engine() -> tuple[Mapping[str, Any] | None, str, tuple[str, ...]]:
    # Imported here: only machines with an engine need Docker's library.
    from sandbox.launchers import docker

    try:
        info = docker.describe_engine()
    except HostFault as fault:
        return None, str(fault), ()
    return info, "", docker.engine_lacks(info)


def _probe_limited_groups() -> bool:
    tree = cgroups.find_box_groups(_unique_name())
    if tree is not None:
        tree.sweep()
    return tree is not None


def _probe_bubblewrap() -> tuple[str, str]:
    """bubblewrap's version, and why the launcher's own probe started no box."""
    program = shutil.which("bwrap")
    if program is None:
        return "", "bubblewrap is not installed"
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    version = answer.stdout.strip() or "bubblewrap"
    with tempfile.TemporaryDirectory(prefix=f"{_unique_name()}-") as folder:
        path = Path(folder)
        try:
            kind = BubblewrapLauncher(path, path)
            try:
                kind.prepare(profiles.get_profile(_PROFILE), lambda _: None)
                choose.probe_launcher(kind, _PROFILE)
            finally:
                kind.sweep()
        except HostFault as fault:
            return version, str(fault)
        except OSError as error:
            return version, f"no box started: {error}"
    return version, ""


def _unique_name() -> str:
    """A name for what a probe makes, used by nobody else."""
    return f"peck-doctor-{os.getpid()}"


def _probe_match_group(machine: Machine) -> MatchGroupProbe:
    """Make a group in our own group, or at the tree's root, with a process in it."""
    if machine.unified is None:
        return MatchGroupProbe("no version 2 tree is mounted")
    trouble = ""
    for base in dict.fromkeys((machine.unified / machine.own_group.lstrip("/"), machine.unified)):
        folder = base / f"{_unique_name()}-match"
        try:
            folder.mkdir()
        except OSError as error:
            trouble = trouble or f"no group can be made in {base}: {error.strerror}"
            continue
        try:
            return _examine_group(folder)
        except OSError as error:
            trouble = trouble or f"no process can be put into a group of {base}: {error.strerror}"
        finally:
            with contextlib.suppress(HostFault):
                cgroups.remove_group(folder)
    return MatchGroupProbe(trouble)


def _examine_group(folder: Path) -> MatchGroupProbe:
    """Freeze, thaw and kill a process in the group. Raises OSError if it cannot enter."""
    process = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL)
    try:
        (folder / "cgroup.procs").write_text(str(process.pid))
        freezes = _try_write(folder / "cgroup.freeze", "1") and _wait_until_frozen(folder)
        _try_write(folder / "cgroup.freeze", "0")
        kills = _try_write(folder / "cgroup.kill", "1")
        if kills:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_FROZEN_SECONDS)
            kills = process.poll() is not None
        counts = "usage_usec" in _read_text(folder / "cpu.stat")
        pressure = _read_text(folder / "cpu.pressure").startswith("some ")
        return MatchGroupProbe("", freezes, kills, counts, pressure)
    finally:
        process.kill()
        process.wait()


def _wait_until_frozen(folder: Path) -> bool:
    deadline = time.monotonic() + _FROZEN_SECONDS
    while time.monotonic() < deadline:
        if "frozen 1" in _read_text(folder / "cgroup.events"):
            return True
        time.sleep(0.001)
    return False


def _try_write(path: Path, value: str) -> bool:
    try:
        # Write-only: cgroup.kill cannot be read, and root may lack that right anyway.
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(descriptor, value.encode())
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


@contextlib.contextmanager
def _restore_controllers(machine: Machine) -> Iterator[None]:
    """Switch off again the controllers that a probe switched on for child groups."""
    if machine.unified is None:
        yield
        return
    bases = (machine.unified / machine.own_group.lstrip("/"), machine.unified)
    files = [base / "cgroup.subtree_control" for base in dict.fromkeys(bases)]
    before = {file: set(_read_text(file).split()) for file in files}
    try:
        yield
    finally:
        for file in files:
            added = set(_read_text(file).split()) - before[file]
            if added and os.access(file, os.W_OK):
                _try_write(file, " ".join(f"-{name}" for name in sorted(added)))
