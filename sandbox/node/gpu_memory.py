"""Ends agents that use more than their share of a GPU's memory.

CUDA limits no program, so the node looks at each process's use once a second. The node finds a
box's processes in the box's match group. On a machine without match groups it ends nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from sandbox.launchers import gpu_shares
from sandbox.node.box_pool import BoxPool, PooledBox

LOOK_SECONDS = 1.0


def watch(pool: BoxPool, stop: threading.Event) -> None:
    """End agents that are over their share, until ``stop`` is set."""
    while not stop.wait(LOOK_SECONDS):
        with pool.lent_boxes() as places:
            shares_gpu = any(_share_mb(place) for place in places)
        if shares_gpu:
            end_agents_over_share(pool, gpu_shares.read_use())


def end_agents_over_share(pool: BoxPool, used_mb: Mapping[int, int]) -> None:
    """End the agents whose processes use more than their share. ``used_mb`` is by pid.

    A measured process that is in a lent box now belongs to the box's present match.
    """
    with pool.lent_boxes() as places:
        for place in places:
            group, share_mb = place.box.group, _share_mb(place)
            if group is None or not share_mb:
                continue
            found = group.processes() & used_mb.keys()
            if sum(used_mb[pid] for pid in found) > share_mb:
                place.exceeded_gpu_mb = share_mb
                # A helper may use the memory, so the agent's other processes end with it.
                group.kill()


def _share_mb(place: PooledBox) -> int:
    return place.box.spec.gpu.memory_mb if place.box.spec.gpu is not None else 0
