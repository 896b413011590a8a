"""What a box shares with everything else on its host must not be what ends a match."""

from __future__ import annotations

import array
import os
import socket
from pathlib import Path

from tests.integration.sandbox.nodes import HONEST, Bench, processes_of

SHARES = 1024 * 10 * (os.cpu_count() or 1)
"""The weight of ten processes on each core, in units of 1024 a process."""


def test_descriptors_queued_in_host_sockets_stop_no_box(bench: Bench) -> None:
    # Every idle box has some lying with its node; the kernel counts them by uid, root's together.
    ours, theirs = socket.socketpair()
    with ours, theirs:
        rights = array.array("i", [ours.fileno()] * 200)
        ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        assert bench.findings(HONEST + "# and its own box\n", step=0) == "NORTH"


def test_boxes_have_more_cpu_weight_than_a_host_process(bench: Bench) -> None:
    with bench.seat(bench.bundle("import os\ndef agent(obs):\n    return os.getuid()\n")) as player:
        player.start()
        (pid,) = processes_of(player.move(step=0))
        assert SHARES in _shares_of(pid)


def _shares_of(pid: int) -> list[int]:
    """The cpu weights of the process's control groups, from its own to the root, in units of 1024 a
    process."""
    folder, name, one = _cpu_group(pid)
    found = []
    while (folder / name).exists():
        found.append(int((folder / name).read_text()) * 1024 // one)
        folder = folder.parent
    return found


def _cpu_group(pid: int) -> tuple[Path, str, int]:
    """The folder, the file of its weight, and the weight of one process in it."""
    groups = dict(
        line.split(":", 2)[1:] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    )
    for controllers, path in groups.items():
        if "cpu" in controllers.split(","):
            return Path("/sys/fs/cgroup/cpu") / path.lstrip("/"), "cpu.shares", 1024
    return Path("/sys/fs/cgroup") / groups[""].lstrip("/"), "cpu.weight", 100
