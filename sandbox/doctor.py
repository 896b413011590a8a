"""Reports what this machine can give to boxes and what it cannot, for ``peck doctor``.

First it reads facts. A missing or unreadable file is a fact, never an error. Reading makes nothing,
so a test can pass a tree of files as the root. Then each probe makes a thing, looks at it and
removes it. Probes use no network, build no image and leave no setting changed. A failed probe gives
the reason as a sentence. Last it judges what was read and tried, row by row.

The report has the rows, a verdict, and the attack rows that are weaker with each launcher.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from sandbox import profiles
from sandbox.box import seccomp
from sandbox.errors import HostFault
from sandbox.launchers import (
    base,
    bubblewrap,
    cgroups,
    choose,
    degraded_defences,
    docker_engine,
    gpu,
)
from sandbox.launchers.bubblewrap import BubblewrapLauncher
from sandbox.launchers.degraded_defences import DegradedRow
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
    return f"peck-doctor-{os.getpid()}"


def _probe_match_group(machine: Machine) -> MatchGroupProbe:
    """Make a group in our own group, or at the tree's root, with a process in it."""
    if machine.unified is None:
        return MatchGroupProbe("no version 2 tree is mounted")
    trouble = ""
    for parent in dict.fromkeys((machine.unified / machine.own_group.lstrip("/"), machine.unified)):
        folder = parent / f"{_unique_name()}-match"
        try:
            folder.mkdir()
        except OSError as error:
            trouble = trouble or f"no group can be made in {parent}: {error.strerror}"
            continue
        try:
            return _examine_group(folder)
        except OSError as error:
            trouble = trouble or f"no process can be put into a group of {parent}: {error.strerror}"
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
    files = [folder / "cgroup.subtree_control" for folder in dict.fromkeys(bases)]
    before = {file: set(_read_text(file).split()) for file in files}
    try:
        yield
    finally:
        for file in files:
            added = set(_read_text(file).split()) - before[file]
            if added and os.access(file, os.W_OK):
                _try_write(file, " ".join(f"-{name}" for name in sorted(added)))


_SECCOMP_ACTIONS = {"kill_process", "errno", "allow"}
_MAPPED_BASE, _MAPPED_SPAN = 20_000, 40_000
"""Where the supervisor looks for uids in a user namespace that maps few."""


class CheckState(StrEnum):
    """The state of one part of the machine."""

    OK = "ok"
    """Full strength."""
    DEGRADED = "degraded"
    """Agents are isolated, but with a weakness that the row names."""
    MISSING = "missing"
    """The part is missing."""
    NOT_NEEDED = "not needed"
    """The part is missing and not needed."""


@dataclass(frozen=True)
class Check:
    name: str
    state: CheckState
    found: str
    costs: str = ""
    """What the lack costs. Empty if nothing is lost."""
    remedy: str = ""
    """One line that says how to cure it. Empty with ``costs``."""


def judge_machine(
    machine: Machine, tried: ProbeResults, python: str, architecture: str
) -> tuple[Check, ...]:
    return (
        Check("python", CheckState.OK, python),
        _check_kernel(machine, architecture),
        _check_user(machine, tried),
        _check_engine(machine, tried),
        _check_runtimes(tried),
        _check_bubblewrap(machine, tried),
        _check_namespaces(machine),
        _check_limits(machine, tried),
        _check_match_groups(machine, tried),
        _check_pressure(machine, tried),
        _check_schedstat(machine),
        _check_steal_monitor(machine, tried),
        _check_uids(machine),
        _check_seccomp(machine),
        _check_swap(machine, tried),
        _check_core_files(machine),
        _check_gpu(machine, tried),
    )


def working_launchers(tried: ProbeResults) -> tuple[str, ...]:
    """The launchers that isolate agents here, in the order ``auto`` tries them."""
    launchers = ["docker"] if tried.engine is not None else []
    if tried.bubblewrap and not tried.bubblewrap_trouble:
        launchers.append("bubblewrap")
    return tuple(launchers)


def _check_kernel(machine: Machine, architecture: str) -> Check:
    text = f"Linux {machine.kernel} on {architecture}"
    try:
        calls = len(seccomp.filter_program(architecture))
    except KeyError:
        return Check(
            "kernel",
            CheckState.MISSING,
            text,
            "the table of system calls has no column for this architecture, so no box starts",
            "run nodes on x86_64 or aarch64",
        )
    return Check("kernel", CheckState.OK, f"{text}; our filter for it has {calls} instructions")


def _check_user(machine: Machine, tried: ProbeResults) -> Check:
    if machine.uid == 0:
        return Check("user", CheckState.OK, "root")
    if "docker" in working_launchers(tried):
        costs = "this node makes no match groups: no freezing, and wall time is charged"
    else:
        costs = "boxes have one uid and play one match each; see the degraded rows below"
    return Check(
        "user",
        CheckState.DEGRADED,
        f"uid {machine.uid}",
        costs,
        "run the node, and only it, as root",
    )


def _check_engine(machine: Machine, tried: ProbeResults) -> Check:
    if tried.engine is None:
        if machine.uid == 0 and "bubblewrap" in working_launchers(tried):
            return Check("docker engine", CheckState.NOT_NEEDED, tried.engine_trouble)
        return Check(
            "docker engine",
            CheckState.MISSING,
            tried.engine_trouble,
            "only bubblewrap can make boxes",
            "install an engine and let this user reach its socket, or set DOCKER_HOST",
        )
    info = tried.engine
    options = [str(option) for option in info.get("SecurityOptions") or ()]
    text = (
        f"{info.get('ServerVersion')}, cgroup driver {info.get('CgroupDriver')}, "
        f"cgroup version {info.get('CgroupVersion')}, {'; '.join(options) or 'no security options'}"
    )
    if any(option.startswith("name=rootless") for option in options):
        return Check(
            "docker engine",
            CheckState.DEGRADED,
            text,
            "a rootless engine enforces its limits only with version 2 groups and systemd, and "
            "maps few uids; this project does not test it",
            "see docs.docker.com/engine/security/rootless",
        )
    if tried.engine_cannot:
        return Check(
            "docker engine",
            CheckState.DEGRADED,
            text,
            "; ".join(tried.engine_cannot),
            "switch the controller on (boot parameter swapaccount=1 for swap), or use bubblewrap",
        )
    return Check("docker engine", CheckState.OK, text)


def _check_runtimes(tried: ProbeResults) -> Check:
    if tried.engine is None:
        return Check("docker runtimes", CheckState.NOT_NEEDED, "no engine")
    names = sorted(map(str, tried.engine.get("Runtimes") or ()))
    text = f"{', '.join(names)}; default {tried.engine.get('DefaultRuntime')}"
    if docker_engine.GVISOR not in names:
        return Check("docker runtimes", CheckState.OK, f"{text}; no gVisor")
    if docker_engine.misses_socket_option(tried.engine["Runtimes"][docker_engine.GVISOR]):
        text += f"; gVisor cannot run boxes without {docker_engine.SOCKETS}"
    else:
        text += f"; gVisor is available: {docker_engine.USE}"
    return Check("docker runtimes", CheckState.OK, text)


def _check_bubblewrap(machine: Machine, tried: ProbeResults) -> Check:
    engine = tried.engine is not None
    if not tried.bubblewrap:
        state = CheckState.NOT_NEEDED if engine else CheckState.MISSING
        costs = "" if engine else "there is no engine either, so agents cannot be isolated"
        remedy = "" if engine else bubblewrap.INSTALL
        return Check("bubblewrap", state, "not installed", costs, remedy)
    if tried.bubblewrap_trouble:
        uids = _check_uids(machine)
        return Check(
            "bubblewrap",
            CheckState.DEGRADED if engine else CheckState.MISSING,
            f"{tried.bubblewrap}: {tried.bubblewrap_trouble}",
            "it cannot replace the engine if that fails"
            if engine
            else "there is no engine either, so agents cannot be isolated",
            uids.remedy if uids.state is CheckState.MISSING else bubblewrap.TRY,
        )
    mode = "as root" if machine.uid == 0 else "as this user, one match each"
    return Check("bubblewrap", CheckState.OK, f"{tried.bubblewrap}; a real box started {mode}")


def _check_namespaces(machine: Machine) -> Check:
    if not machine.user_namespaces:
        return Check("user namespaces", CheckState.OK, "ordinary users may make them")
    if machine.uid == 0:
        text = f"kept from ordinary users ({machine.user_namespaces}); root needs none"
        return Check("user namespaces", CheckState.NOT_NEEDED, text)
    switch, _, value = machine.user_namespaces.partition(" = ")
    allowed = {"user.max_user_namespaces": "15000"}.get(switch, "0" if value == "1" else "1")
    return Check(
        "user namespaces",
        CheckState.MISSING,
        machine.user_namespaces,
        "bubblewrap cannot start for this user unless it is set-uid root or has a profile of "
        "its own",
        f"as root: sysctl -w {switch}={allowed}, or run the node as root",
    )


def _check_limits(machine: Machine, tried: ProbeResults) -> Check:
    text = f"cgroups {machine.cgroup_version}; offered: {', '.join(machine.controllers) or 'none'}"
    if tried.limited_groups:
        text += "; a group with memory, processes and cpu limits was made"
        return Check("control groups", CheckState.OK, text)
    if "docker" in working_launchers(tried) and not tried.engine_cannot:
        text += "; this user cannot make one; the engine makes its own"
        return Check("control groups", CheckState.NOT_NEEDED, text)
    return Check(
        "control groups",
        CheckState.DEGRADED if "bubblewrap" in working_launchers(tried) else CheckState.MISSING,
        f"{text}; this user cannot make one",
        "memory has a limit per process, processes per uid, and cpu none",
        "run as root, or start the node with: systemd-run --user --scope -p Delegate=yes ...",
    )


def _check_match_groups(machine: Machine, tried: ProbeResults) -> Check:
    group = tried.match_group
    if group.can_hold_match and group.kills:
        place = f"tree at {machine.unified}; one was made: it freezes, kills and counts"
        return Check("match groups", CheckState.OK, place)
    if group.can_hold_match:
        return Check(
            "match groups",
            CheckState.DEGRADED,
            "a group was made, but it has no cgroup.kill",
            "the node kills a hanging box process by process",
            "use a kernel from 5.14 on",
        )
    return Check(
        "match groups",
        CheckState.DEGRADED,
        group.trouble or "a group was made that neither freezes nor counts",
        "off-turn cpu is neither measured nor stopped; wall time is charged and waiting is not "
        "forgiven",
        _tree_remedy(machine),
    )


def _tree_remedy(machine: Machine) -> str:
    if machine.uid != 0:
        return "run the node, and only it, as root"
    if machine.unified is None:
        return (
            "mount -t cgroup2 none /sys/fs/cgroup/unified (a container: --cgroupns=host "
            "-v /sys/fs/cgroup:/sys/fs/cgroup)"
        )
    return "make the tree writable (a container: --cgroupns=host -v /sys/fs/cgroup:/sys/fs/cgroup)"


def _check_pressure(machine: Machine, tried: ProbeResults) -> Check:
    if tried.match_group.pressure:
        return Check("pressure (psi)", CheckState.OK, "cpu.pressure of a group can be read")
    system = "on for the machine" if machine.system_pressure else "off or not built into the kernel"
    text = f"{system}, and no group's cpu.pressure can be read"
    remedy = "boot parameter psi=1"
    if machine.system_pressure:
        remedy = "make match groups possible (row above), and write 1 to their cgroup.pressure"
    costs = "waiting for a core is not forgiven: wall time decides on a timeout"
    return Check("pressure (psi)", CheckState.DEGRADED, text, costs, remedy)


def _check_schedstat(machine: Machine) -> Check:
    if machine.schedstat:
        return Check("schedstat", CheckState.OK, "a thread's wait on the run queue can be read")
    return Check(
        "schedstat",
        CheckState.DEGRADED,
        "/proc/self/schedstat cannot be read",
        "only pressure shows short waits, with a coarser resolution",
        "use a kernel built with CONFIG_SCHED_INFO",
    )


def _check_steal_monitor(machine: Machine, tried: ProbeResults) -> Check:
    if not machine.virtual:
        return Check(
            "lost cores", CheckState.NOT_NEEDED, "no hypervisor that could take cores away"
        )
    if tried.above_all:
        return Check(
            "lost cores", CheckState.OK, "the steal monitor may run above all others on each core"
        )
    (lack,) = degraded_defences.DEGRADED[degraded_defences.NO_STEAL_MONITOR]
    return Check(
        "lost cores",
        CheckState.DEGRADED,
        "there may be a hypervisor, but no thread may run above all others",
        lack.costs,
        lack.remedy,
    )


def _check_uids(machine: Machine) -> Check:
    first, last = base.UID_BASE, base.UID_BASE + base.SLOTS * 1000
    spans = machine.uid_spans
    if machine.uid != 0:
        text = "an ordinary user has no further uids; an engine has its own"
        return Check("uid ranges", CheckState.NOT_NEEDED, text)
    if any(low <= first and last <= high for low, high in spans):
        return Check("uid ranges", CheckState.OK, f"1000 uids for each box, from {first} on")
    low, high = _MAPPED_BASE, _MAPPED_BASE + _MAPPED_SPAN
    if any(start <= low and high <= end for start, end in spans):
        return Check(
            "uid ranges",
            CheckState.DEGRADED,
            f"this user namespace maps few: 40 ranges from {low} on",
            "two boxes can draw the same uids, and then share the kernel's limits per uid",
            "map all uids, or run in the machine's own user namespace",
        )
    return Check(
        "uid ranges",
        CheckState.MISSING,
        "this user namespace maps fewer than 1000 uids in a row",
        "boxes of bubblewrap as root do not start",
        f"map at least {_MAPPED_SPAN} uids from {low} on, or run the node as an ordinary user",
    )


def _check_seccomp(machine: Machine) -> Check:
    if machine.seccomp_actions >= _SECCOMP_ACTIONS:
        return Check("seccomp", CheckState.OK, "filters that kill and refuse")
    return Check(
        "seccomp",
        CheckState.MISSING,
        "the kernel has no filters, or /proc/sys is hidden",
        "no box starts: an agent never runs without our filter",
        "use a kernel built with CONFIG_SECCOMP_FILTER",
    )


def _check_swap(machine: Machine, tried: ProbeResults) -> Check:
    if not machine.swap_kilobytes:
        return Check("swap", CheckState.OK, "none, so no agent's memory is ever on a disk")
    text = f"{machine.swap_kilobytes >> 10} MiB"
    if tried.limited_groups and "the engine cannot limit swap on this kernel" not in (
        tried.engine_cannot
    ):
        return Check("swap", CheckState.OK, f"{text}; boxes get none of it")
    return Check(
        "swap",
        CheckState.DEGRADED,
        text,
        "boxes can use it: agents above their memory limit become slow instead of ending",
        "boot parameter swapaccount=1, or swapoff -a",
    )


def _check_core_files(machine: Machine) -> Check:
    if not machine.core_pattern.startswith("|"):
        return Check(
            "core files", CheckState.OK, f"core_pattern is {machine.core_pattern or 'empty'}"
        )
    text = "the host pipes crashes to a program; a core limit of 1 prevents this for boxes"
    return Check("core files", CheckState.OK, text)


def _check_gpu(machine: Machine, tried: ProbeResults) -> Check:
    runtimes = tried.engine.get("Runtimes") or () if tried.engine is not None else ()
    files = [path for path in machine.cdi_files if path.endswith(".json")]
    ways = [*files, *(["the engine's runtime nvidia"] if "nvidia" in runtimes else [])]
    if not machine.gpus:
        return Check(
            "gpu", CheckState.NOT_NEEDED, "no NVIDIA device node; GPU profiles are not served"
        )
    text = ", ".join(f"/dev/{name}" for name in machine.gpus)
    memory = {n: mb for n, mb in tried.gpu_memory_mb.items() if n.isdigit()}
    rooms = [f"{n} has {mb} MB, room for {mb // profiles.GPU_MB} boxes" for n, mb in memory.items()]
    text += "".join(f"; GPU {room}" for room in rooms)
    if ways and any(mb < profiles.GPU_MB for mb in memory.values()):
        return Check(
            "gpu",
            CheckState.DEGRADED,
            text,
            f"a box needs {profiles.GPU_MB} MB, so a GPU with less memory serves no box",
            "use a GPU with more memory",
        )
    if ways:
        return Check("gpu", CheckState.OK, f"{text}; described by {', '.join(ways)}")
    lack = "a CDI file in YAML, which is not read" if machine.cdi_files else "no CDI file"
    return Check(
        "gpu",
        CheckState.DEGRADED,
        f"{text}; {lack}, and no nvidia runtime",
        "boxes cannot get the driver's files, so GPU profiles are not served",
        "as root: nvidia-ctk cdi generate --format=json --output=/etc/cdi/nvidia.json",
    )


FATAL = ("kernel", "seccomp")
"""Rows whose ``missing`` means that no launcher can start a box."""
_ENGINE_REMEDY = "switch the controller on at the kernel's command line, or use bubblewrap as root"


@dataclass(frozen=True)
class DoctorReport:
    checks: tuple[Check, ...]
    launcher: str | None
    """The launcher that ``auto`` takes here. None if agents cannot be isolated."""
    verdict: str
    """The verdict as one sentence."""
    degraded: Mapping[str, tuple[tuple[str, DegradedRow], ...]]
    """(lack, row) by launcher that works here."""

    def as_json(self) -> dict[str, Any]:
        return {
            "isolated": self.launcher is not None,
            "launcher": self.launcher,
            "verdict": self.verdict,
            "checks": [asdict(check) for check in self.checks],
            "degraded": {
                name: [{"because": because, **asdict(row)} for because, row in rows]
                for name, rows in self.degraded.items()
            },
        }


def examine_machine() -> DoctorReport:
    """Examine this machine as this user. Removes everything it makes."""
    read = read_machine(Path("/"), os.geteuid())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return build_report(read, run_probes(read), python, platform.machine())


def build_report(
    read: Machine, tried: ProbeResults, python: str, architecture: str
) -> DoctorReport:
    """Build the report from what was read and tried. Changes nothing."""
    rows = judge_machine(read, tried, python, architecture)
    fatal = any(row.name in FATAL and row.state is CheckState.MISSING for row in rows)
    names = () if fatal else working_launchers(tried)
    losses = {
        name: degraded_defences.degraded_rows(
            name,
            root=read.uid == 0,
            limits=tried.limited_groups,
            match_groups=tried.match_group.can_hold_match,
            pressure=tried.match_group.pressure,
            steal_monitor=tried.above_all or not read.virtual,
        )
        for name in names
    }
    if "docker" in losses:
        limits = tuple(
            ("the engine", DegradedRow("limits", cannot, _ENGINE_REMEDY))
            for cannot in tried.engine_cannot
        )
        losses["docker"] = (*limits, *losses["docker"])
    chosen = names[0] if names else None
    return DoctorReport(rows, chosen, _verdict(chosen, losses, rows), losses)


def _verdict(
    chosen: str | None,
    losses: Mapping[str, tuple[tuple[str, DegradedRow], ...]],
    rows: tuple[Check, ...],
) -> str:
    named = {row.name: row for row in rows}
    for row in (named[name] for name in FATAL):
        if row.state is CheckState.MISSING:
            return f"Agents cannot be isolated here: {row.costs}. Remedy: {row.remedy}"
    if chosen is None:
        remedy = named["bubblewrap"].remedy
        return f"Agents cannot be isolated here: no engine answers, no box starts. {remedy}"
    count = len(losses[chosen])
    held = f"{count} defences are weaker (see below)" if count else "every defence is complete"
    return f"Agents are isolated here: 'auto' takes {chosen}; {held}."
