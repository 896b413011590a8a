"""Asks a Docker engine what it is and what it lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import docker
import docker.errors

from sandbox.errors import HostFault

_ASK_SECONDS = 10
ENGINE_ERRORS = (docker.errors.DockerException, OSError)
"""Errors of an engine that does not answer or refuses."""


def describe_engine() -> dict[str, Any]:
    """The engine's ``info``. Raises HostFault if no engine answers."""
    try:
        engine = docker.from_env(timeout=_ASK_SECONDS)
        with contextlib.closing(engine):
            info: dict[str, Any] = engine.info()
    except ENGINE_ERRORS as error:
        raise HostFault(f"no Docker engine answers: {error}") from None
    return info


def engine_lacks(info: Mapping[str, Any]) -> tuple[str, ...]:
    """What an engine with this ``info`` cannot limit or lacks, one sentence each."""
    missing = []
    for field, what in (
        ("MemoryLimit", "memory"),
        ("SwapLimit", "swap"),
        ("PidsLimit", "processes"),
        ("CpuCfsQuota", "cpu"),
    ):
        if info.get(field) is False:
            missing.append(f"the engine cannot limit {what} on this kernel")
    if not any("seccomp" in option for option in info.get("SecurityOptions") or ()):
        missing.append("the engine has no seccomp profile of its own; only ours is in force")
    return tuple(missing)
