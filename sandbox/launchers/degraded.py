"""The rows of the attack table that hold less, by the lack that weakens them.

This is the one list: launchers say it at start, ``peck doctor`` prints it, docs/security shows it,
and a test as an ordinary user compares it with what a node says of itself.
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
    """One attack that is held by less than the full wall."""

    attack: str
    """The row's name in the tables of docs/security/attacks.md."""
    costs: str
    """What such an agent can do here that it cannot elsewhere, and what still bounds it."""
    remedy: str
    """One line that ends it."""

    @property
    def sentence(self) -> str:
        """What a node says of itself."""
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
        "nobody can prove a box clean whose one uid is everybody's, so each match starts a box of "
        "its own and the start is paid every time",
        _AS_ROOT,
    ),
    DegradedRow(
        "kills",
        "the agent shares the uid of its box's own programs and can end its box, which is its own "
        "loss: the seat forfeits and no other match is touched",
        _AS_ROOT,
    ),
    DegradedRow(
        "inodes",
        "scratch is bounded in bytes and not in inodes; it goes with the box after the match",
        _AS_ROOT,
    ),
)
_NO_LIMITS = (
    DegradedRow(
        "memory",
        "private memory is bounded per process and not per agent, shared memory and nameless "
        "files hardly at all: one agent can press the whole host, until the kernel ends its box",
        _DELEGATE,
    ),
    DegradedRow(
        "forks",
        "processes are bounded per uid and not per box; kernels before 5.14 count all boxes of "
        "this user together, so that one box can leave another none",
        _DELEGATE,
    ),
    DegradedRow(
        "cpu",
        "cpu is not bounded: threads take every core from matches beside, and are charged as wall "
        "time only where no match group counts them",
        _DELEGATE,
    ),
)
_NO_PRESSURE = DegradedRow(
    "fairness",
    "waiting for a core is not forgiven: the charge is wall time, and where a canary of the node "
    "was late too a timeout makes the match void, at most twice",
    _TREE,
)
_NO_WAITING = DegradedRow(
    _NO_PRESSURE.attack,
    "waiting for a core is charged, and whether a timeout stands is judged by cpu time and a "
    "canary of the node",
    _PSI,
)
_NO_MATCH_GROUP = (
    DegradedRow(
        "pondering",
        "a match's processes cannot be frozen, so off-turn cpu goes unseen and unstopped",
        _TREE,
    ),
    _NO_PRESSURE,
)
_UNSEEN_LOSSES = DegradedRow(
    "fairness",
    "nobody sees when a hypervisor takes a core away: it is charged to the agent that ran on it, "
    "but for what the hypervisor tells, on average over the cores",
    "give the node every core and CAP_SYS_NICE (an engine: --cap-add=SYS_NICE; a unit: "
    "LimitRTPRIO=1), and its control group real time where that is shared out (cpu.rt_runtime_us)",
)
_NOT_OURS = tuple(DegradedRow(row.attack, row.costs, _AS_ROOT) for row in _NO_MATCH_GROUP)

_USUAL_RUNTIME = "use the engine's usual runtime, and have the host's kernel for a wall instead"
_OWN_KERNEL = (
    DegradedRow(
        "forks",
        "each process costs 8 to 12 MB of its box's memory: a fork bomb ends its box before it is "
        "refused a process, which is its own loss: the seat forfeits and no other match is touched",
        _USUAL_RUNTIME,
    ),
    DegradedRow(
        "memory",
        "a memory bomb ends its whole box and not the agent alone, so its log is lost; no other "
        "match is touched",
        _USUAL_RUNTIME,
    ),
    DegradedRow(
        "inodes",
        "scratch is bounded in bytes and not in inodes; its files count as the box's memory",
        _USUAL_RUNTIME,
    ),
    DegradedRow(
        "handles",
        "timers and queued signals are bounded by the box's memory alone; they are of its own "
        "kernel, which no other box shares",
        _USUAL_RUNTIME,
    ),
    DegradedRow(
        "secrets",
        "environments, maps and lists of descriptors of its box's own programs can be read, which "
        "hold no secret; their memory and their descriptors cannot",
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
"""Rows by lack. ``bubblewrap without root`` is the whole of what an ordinary user goes without who
has been given no group of the version 2 tree; ``no root`` is a node that may use an engine and
nothing else; ``gVisor`` is a node whose boxes have that runtime."""


def degraded_rows(
    launcher: str,
    *,
    root: bool,
    limits: bool,
    match_groups: bool,
    pressure: bool,
    steal_monitor: bool,
) -> tuple[tuple[str, DegradedRow], ...]:
    """(lack, row) for each row that is degraded with this launcher, once each.

    ``limits``: groups with memory, processes and cpu can be made. ``match_groups``: so can version
    2 groups that freeze, kill and count. ``pressure``: these have a readable cpu.pressure.
    ``steal_monitor``: lost cores are seen, or there is nobody who takes any.
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
    """What a node says of itself, by the descriptors that its match groups have."""
    rows = degraded_rows(
        launcher,
        root=root,
        limits=limits,
        match_groups={"cpu_stat", "freeze"} <= set(powers),
        pressure="cpu_pressure" in powers,
        steal_monitor=True,  # the node's own to tell
    )
    return tuple(row.sentence for _, row in rows)


def sentences_for_lack(name: str) -> tuple[str, ...]:
    """What a node says of itself that goes without this."""
    return tuple(row.sentence for row in DEGRADED[name])
