"""Writes to its limits: control groups, OOM scores, kernel settings."""

import os
from typing import Any

from tests.agents.hostile import kit

FILES = (
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/cgroup.freeze",
    "/sys/fs/cgroup/pids.max",
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cgroup.kill",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "/sys/fs/cgroup/pids/pids.max",
    "/sys/fs/cgroup/cpu/tasks",
    "/sys/fs/cgroup/memory/cgroup.procs",
    "/sys/fs/cgroup/release_agent",
    "/sys/fs/cgroup/unified/cgroup.procs",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/fs/file-max",
    "/proc/sysrq-trigger",
    "/proc/self/oom_score_adj",
    "/sys/power/state",
)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for path in FILES:
            kit.attempt(path, os.open, path, os.O_WRONLY)
        kit.attempt("a group of its own", os.mkdir, "/sys/fs/cgroup/mine")
    return kit.move(obs)
