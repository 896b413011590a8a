"""Reads the facts about this machine: /proc, /sys, /dev and /etc below a given root.

It tries and makes nothing, so a test can pass a tree of files. A missing or unreadable file is a
fact, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
    memory_kilobytes: int
    gpus: tuple[str, ...]
    """Names of the NVIDIA device nodes of whole GPUs."""
    cdi_files: tuple[str, ...]
    """Files that describe NVIDIA devices for containers."""


def read_machine(root: Path, uid: int) -> Machine:
    """Read the machine below ``root``, as this user sees it."""
    proc = root / "proc"
    mounts = _cgroup_mounts(_read_text(proc / "self/mountinfo"))
    unified = mounts.get("unified")
    first = {name for name in mounts if name != "unified"}
    own = _own_group(_read_text(proc / "self/cgroup"))
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
        memory_kilobytes=_memory_kilobytes(_read_text(proc / "meminfo")),
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


def _cgroup_mounts(mountinfo: str) -> Mapping[str, Path]:
    found: dict[str, Path] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = (*right.split(" ", 2), "", "")[:3]
        if kind == "cgroup2":
            found.setdefault("unified", Path(left.split()[4]))
        elif kind == "cgroup":
            for option in options.split(","):
                found.setdefault(option, Path(left.split()[4]))
    return found


def _own_group(lines: str) -> str:
    for line in lines.splitlines():
        if line.startswith("0::"):
            return line[3:]
    return "/"


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


def _memory_kilobytes(meminfo: str) -> int:
    found = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    return int(found[1]) if found else 0


def _cdi_files(root: Path) -> tuple[str, ...]:
    found = []
    for folder in ("etc/cdi", "var/run/cdi"):
        for name in _names_matching(root / folder, r".*\.(json|ya?ml)"):
            if "nvidia" in _read_text(root / folder / name):
                found.append(f"/{folder}/{name}")
    return tuple(found)
