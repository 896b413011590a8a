"""Raises its priority and its limits, or changes those of others."""

import os
import resource
from typing import Any

from tests.agents.hostile import kit


def lock(size: int) -> None:
    if kit.call(149 if os.uname().machine == "x86_64" else 228, kit.address(size), size):
        raise OSError("refused")


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.attempt("nice -20", os.nice, -20)
        kit.attempt("a real-time class", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
        kit.attempt("round robin", os.sched_setscheduler, 0, os.SCHED_RR, os.sched_param(1))
        kit.refused("a deadline class", 314, 274, 0, kit.address(56), 0)
        kit.attempt("the priority of all", os.setpriority, os.PRIO_USER, 0, -5)
        for name in ("NPROC", "NOFILE", "CORE", "MEMLOCK", "MSGQUEUE", "RTPRIO", "FSIZE"):
            kind = getattr(resource, f"RLIMIT_{name}")
            kit.attempt(f"a higher {name}", resource.setrlimit, kind, (1 << 40, 1 << 40))
        kit.attempt("locked memory", lock, 64 << 20)
    return kit.move(obs)
