"""The engine's runtime for boxes: the usual one or gVisor, whose boxes have their own kernel.

In gVisor the host does not see a box's processes. So no match group can hold them, some limits do
not exist, and gVisor's own threads and memory count as the box's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.errors import HostFault

GVISOR = "runsc"
SOCKETS = "--host-uds=open"
"""Without this option no box can call its node back."""
SNIPPET = (
    '{"runtimes": {"runsc": {"path": "/usr/bin/runsc", '
    '"runtimeArgs": ["--host-uds=open", "--network=none"]}}}'
)
"""Boxes never have a network. With this option the runtime sets none up, which fails with
packages of 2022 on newer kernels.
"""
REMEDY = f"install gVisor, put {SNIPPET} into /etc/docker/daemon.json and restart the engine"
USE = f"python -m sandbox.node --launcher docker --runtime {GVISOR}, or PECK_NODE_RUNTIME={GVISOR}"


@dataclass(frozen=True)
class Runtime:
    """The runtime that boxes start with, and its consequences."""

    name: str = ""
    """The engine's name of the runtime. Empty for the engine's default."""
    is_gvisor: bool = False

    @property
    def more_processes(self) -> int:
        """The runtime's own processes and threads that count as the box's.

        gVisor has about 75 at rest, and 7 for each process of an agent, which has 44 at most.
        """
        return 960 if self.is_gvisor else 0

    @property
    def more_mb(self) -> int:
        """The runtime's own memory that counts as the box's.

        gVisor takes 30 to 40 MB at rest, and 8 to 12 MB for each further process of an agent (other
        runtimes less than 1). This is enough for seven of them beside all of the agent's own.
        """
        return 128 if self.is_gvisor else 0

    def limits(self, limits: Mapping[str, int]) -> dict[str, int]:
        """The limits that processes in its boxes can have."""
        refused = ("MSGQUEUE", "SIGPENDING", "NICE", "RTPRIO") if self.is_gvisor else ()
        return {name: value for name, value in limits.items() if name not in refused}

    def digest(self, image: str) -> str:
        """What a match records: the image, and the runtime if one was named."""
        return f"{image}+{self.name}" if self.name else image


USUAL = Runtime()


def find_runtime(info: Mapping[str, Any], name: str) -> Runtime:
    """Return the runtime of this name from the engine's ``info``.

    Raises HostFault, with what to do, if the engine does not know it or it cannot run our boxes.
    """
    if not name:
        return USUAL
    known: Mapping[str, Any] = info.get("Runtimes") or {}
    if name not in known:
        names = ", ".join(sorted(known))
        raise HostFault(f"runtime: the engine knows no {name!r} (it has {names}). {REMEDY}")
    entry = known[name]
    path = str(entry.get("path", "")) if isinstance(entry, Mapping) else ""
    runtime = Runtime(name, GVISOR in (name, os.path.basename(path)))
    if runtime.is_gvisor and misses_socket_option(entry):
        raise HostFault(f"runtime: {name} runs without {SOCKETS}. {REMEDY}")
    return runtime


def misses_socket_option(entry: object) -> bool:
    """Whether an engine's entry of gVisor shows that boxes cannot call back.

    Newer engines may keep the options in a file of their own. Then only a started box shows it.
    """
    if not isinstance(entry, Mapping) or not entry.get("path"):
        return False
    return not {SOCKETS, "--host-uds=all"} & set(entry.get("runtimeArgs") or ())
