"""Watches files: the kernel counts watches by uid, and some files are shared by all boxes."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.refused("inotify_init1", 294, 26, 0)
        kit.refused("inotify_init", 253, -1)
        kit.refused("fanotify_init", 300, 262, 0, 0)
    return kit.move(obs)
