"""The attacks that this project defends less well if a machine lacks something, by lack.

This is the only list. Launchers print it at start, ``peck doctor`` prints it and docs/security
shows it. A test as an ordinary user compares it with what a node reports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

ONE_UID = "bubblewrap without root"
NO_GROUPS = "no control groups"
NO_TREE = "no version 2 tree"
NO_PSI = "no psi"
NO_ROOT = "no root"
NO_STEAL_MONITOR = "no thread above all others"
GVISOR = "gVisor"


@dataclass(frozen=True)
class DegradedRow:
    """One attack against which the defence is weaker."""

    attack: str
    """The row's name in the tables of docs/security/attacks.md."""
    costs: str
    """What such an agent can do here but not elsewhere, and what still limits it."""
    remedy: str
    """One line that cures it."""

    @property
    def sentence(self) -> str:
        """The sentence that a node prints."""
        return f"{self.attack}: {self.costs}"


_AS_ROOT = "run the node, and only it, as root"
_DELEGATE = "run the node as root, or delegate a version 2 group with memory, pids and cpu to it"
_TREE = (
    "mount the version 2 tree (mount -t cgroup2 none /sys/fs/cgroup/unified), and show it to the "
    "node: in a container by --cgroupns=host -v /sys/fs/cgroup:/sys/fs/cgroup"
)
_PSI = "start the kernel with the boot parameter psi=1"

_SHARED_UID = (
    DegradedRow(
        "marks",
        "all processes of a box have one uid, so the box cannot be checked after a match; each "
        "match starts a new box and waits for the start",
        _AS_ROOT,
    ),
    DegradedRow(
        "kills",
        "the agent shares the uid of its box's own programs and can end its box; then its seat "
        "forfeits and no other match is affected",
        _AS_ROOT,
    ),
    DegradedRow(
        "inodes",
        "scratch has a limit on bytes but not on inodes; the box is deleted after the match",
        _AS_ROOT,
    ),
)
_NO_LIMITS = (
    DegradedRow(
        "memory",
        "private memory has a limit per process, not per agent; shared memory and nameless files "
        "have hardly any. One agent can fill the host's memory until the kernel ends its box",
        _DELEGATE,
    ),
    DegradedRow(
        "forks",
        "processes have a limit per uid, not per box; kernels before 5.14 count all boxes of this "
        "user together, so one box can use up the limit of another",
        _DELEGATE,
    ),
    DegradedRow(
        "cpu",
        "cpu has no limit: threads can take every core from other matches; without a match group "
        "they are charged only wall time",
        _DELEGATE,
    ),
)
_NO_PRESSURE = DegradedRow(
    "fairness",
    "waiting for a core is not forgiven: the charge is wall time. If the node was late too, a "
    "timeout voids the match, at most twice",
    _TREE,
)
_NO_WAITING = DegradedRow(
    _NO_PRESSURE.attack,
    "waiting for a core is charged. A timeout stands only by cpu time, or if the node was not late",
    _PSI,
)
_NO_MATCH_GROUP = (
    DegradedRow(
        "pondering",
        "a match's processes cannot be frozen, so off-turn cpu is neither measured nor stopped",
        _TREE,
    ),
    _NO_PRESSURE,
)
_UNSEEN_LOSSES = DegradedRow(
    "fairness",
    "cores that a hypervisor takes away are not measured: the agent that ran on the core is "
    "charged, less what the hypervisor reports on average over the cores",
    "give the node every core and CAP_SYS_NICE (an engine: --cap-add=SYS_NICE; a unit: "
    "LimitRTPRIO=1), and real time to its control group if that is limited (cpu.rt_runtime_us)",
)
_NOT_OURS = tuple(DegradedRow(row.attack, row.costs, _AS_ROOT) for row in _NO_MATCH_GROUP)

_USUAL_RUNTIME = "use the engine's usual runtime; then only the host's kernel separates boxes"
_OWN_KERNEL = (
    DegradedRow(
        "forks",
        "each process costs 8 to 12 MB of its box's memory, so a fork bomb ends its box before it "
        "reaches the limit of processes. Its seat forfeits and no other match is affected",
        _USUAL_RUNTIME,
    ),
    DegradedRow(
        "memory",
        "a memory bomb ends its whole box, not only the agent, so its log is lost; no other match "
        "is affected",
        _USUAL_RUNTIME,
    ),
    DegradedRow(
        "inodes",
        "scratch has a limit on bytes but not on inodes; its files count as the box's memory",
        _USUAL_RUNTIME,
    ),
    DegradedRow(
        "handles",
        "only the box's memory limits timers and queued signals; they belong to its own kernel, "
        "which no other box shares",
        _USUAL_RUNTIME,
    ),
    DegradedRow(
        "secrets",
        "the agent can read environments, maps and lists of descriptors of its box's own programs, "
        "which contain no secret; it cannot read their memory or use their descriptors",
        _USUAL_RUNTIME,
    ),
    *(DegradedRow(row.attack, row.costs, _USUAL_RUNTIME) for row in _NO_MATCH_GROUP),
)

DEGRADED: Mapping[str, tuple[DegradedRow, ...]] = {
    ONE_UID: (*_SHARED_UID, *_NO_LIMITS, *_NOT_OURS),
    NO_GROUPS: _NO_LIMITS,
    NO_TREE: _NO_MATCH_GROUP,
    NO_PSI: (_NO_WAITING,),
    NO_ROOT: _NOT_OURS,
    NO_STEAL_MONITOR: (_UNSEEN_LOSSES,),
    GVISOR: _OWN_KERNEL,
}
"""Rows by lack. ``bubblewrap without root`` is an ordinary user without a group of the version 2
tree. ``no root`` is a node that may only use an engine. ``gVisor`` is a node whose boxes have
that runtime.
"""


def degraded_rows(
    launcher: str,
    *,
    root: bool,
    limits: bool,
    match_groups: bool,
    pressure: bool,
    steal_monitor: bool,
) -> tuple[tuple[str, DegradedRow], ...]:
    """Return (lack, row) for each degraded row of this launcher, once each.

    - ``limits``: groups with memory, process and CPU limits can be made.
    - ``match_groups``: version 2 groups that freeze, kill and count can be made.
    - ``pressure``: such groups have a readable cpu.pressure.
    - ``steal_monitor``: lost cores are seen, or there is no hypervisor.
    """
    names: list[tuple[str, tuple[DegradedRow, ...]]] = []
    if launcher == "bubblewrap":
        if not root:
            names.append((ONE_UID, _SHARED_UID))
        if not limits:
            names.append((NO_GROUPS if root else ONE_UID, _NO_LIMITS))
    if not match_groups:
        if root:
            names.append((NO_TREE, _NO_MATCH_GROUP))
        else:
            names.append((ONE_UID if launcher == "bubblewrap" else NO_ROOT, _NOT_OURS))
    elif not pressure:
        names.append((NO_PSI, DEGRADED[NO_PSI]))
    if not steal_monitor:
        names.append((NO_STEAL_MONITOR, DEGRADED[NO_STEAL_MONITOR]))
    return tuple((name, row) for name, rows in names for row in rows)


def missing_protections(
    launcher: str, *, root: bool, limits: bool, powers: Collection[str]
) -> tuple[str, ...]:
    """The sentences that a node prints, by the descriptors that its match groups have."""
    rows = degraded_rows(
        launcher,
        root=root,
        limits=limits,
        match_groups={"cpu_stat", "freeze"} <= set(powers),
        pressure="cpu_pressure" in powers,
        steal_monitor=True,  # the node itself reports this
    )
    return tuple(row.sentence for _, row in rows)


def sentences_for_lack(name: str) -> tuple[str, ...]:
    """The sentences of a node with this lack."""
    return tuple(row.sentence for row in DEGRADED[name])
