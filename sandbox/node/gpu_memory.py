"""Ends agents that use more than their share of the memory of their match's GPU.

CUDA limits no program, so the node looks at each process's use once a second. The node finds a
box's processes in the box's match group. On a machine without match groups it ends nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from sandbox.launchers import gpu
from sandbox.node.box_pool import BoxPool, PooledBox

LOOK_SECONDS = 1.0
UNKNOWN_USE = (
    "nvidia-smi does not tell how much GPU memory an agent's process uses, so the node does not end"
    " an agent that uses more than its share"
)


def watch(pool: BoxPool, stop: threading.Event, report: Callable[[str], None]) -> None:
    """End agents that are over their share, until ``stop`` is set.

    ``report`` gets a sentence about what fails: each kind of failure once.
    """
    reported = set()
    while not stop.wait(LOOK_SECONDS):
        try:
            failures = _look(pool)
        except Exception as error:  # the next look may succeed
            failures = {type(error).__name__: f"a look at the agents' GPU memory failed: {error!r}"}
        for kind, sentence in failures.items():
            if kind not in reported:
                reported.add(kind)
                report(sentence)


def _look(pool: BoxPool) -> dict[str, str]:
    """End agents that are over their share. Returns sentences about what is unknown, by kind."""
    with pool.lent_boxes() as places:
        shares_gpu = any(_share_mb(place) for place in places)
    if not shares_gpu:
        return {}
    is_known = end_agents_over_share(pool, gpu.read_use())
    return {} if is_known else {"unknown use": UNKNOWN_USE}


def end_agents_over_share(pool: BoxPool, used_mb: Mapping[int, int | None]) -> bool:
    """End the agents whose processes use more than their share. ``used_mb`` is by pid.

    A measured process that is in a lent box now belongs to the box's present match. Returns whether
    the use of all processes in lent boxes is known.
    """
    is_known = True
    with pool.lent_boxes() as places:
        for place in places:
            group, share_mb = place.box.group, _share_mb(place)
            if group is None or not share_mb:
                continue
            uses_mb = [used_mb[pid] for pid in group.processes() & used_mb.keys()]
            is_known = is_known and None not in uses_mb
            if sum(used or 0 for used in uses_mb) > share_mb:
                place.exceeded_gpu_mb = share_mb
                # A helper may use the memory, so the agent's other processes end with it.
                group.kill()
    return is_known


def _share_mb(place: PooledBox) -> int:
    gpu = place.box.spec.gpu
    return gpu.memory_mb if gpu is not None and gpu.is_shared else 0
