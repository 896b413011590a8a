"""Mounts, unmounts and changes roots, with old and new system calls."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.refused("mount", 165, 40, 0, 0, 0, 0, 0)
        kit.refused("umount2", 166, 39, 0, 0)
        kit.refused("pivot_root", 155, 41, 0, 0)
        kit.refused("chroot", 161, 51, 0)
        kit.refused("open_tree", 428, 428, 0, 0, 0)
        kit.refused("move_mount", 429, 429, 0, 0, 0, 0, 0)
        kit.refused("fsopen", 430, 430, 0, 0)
        kit.refused("fsmount", 432, 432, 0, 0, 0)
        kit.refused("mount_setattr", 442, 442, 0, 0, 0, 0, 0)
        kit.refused("swapon", 167, 224, 0, 0)
        kit.refused("quotactl", 179, 60, 0, 0, 0, 0)
    return kit.move(obs)
