"""Computes the charge of a move from what its agent used and waited.

::

    charged  = max(wall - forgiven, cpu / cpus granted)

    forgiven = max(0, waited - cpu of the match's other boxes) + the referee's own wait

    waited   = max(pressure of the seat's group,
                   time its main thread stood in the run queue - time own threads contended)

All terms cover one interval: from the question's first byte to the read of its answer. ``forgiven``
is at most the wall time. Without data on waiting, or with a GPU, the charge is the wall time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MoveCost:
    """What one move took and what is charged for it, in seconds."""

    wall_seconds: float
    cpu_seconds: float | None
    """CPU time of all processes of the seat, over all cores. None if nobody measured it."""
    forgiven_seconds: float
    """Part of the wall time that is forgiven."""
    charged_seconds: float


def compute_move_cost(
    wall: float,
    cpu: float,
    waited: float,
    others_cpu: float,
    own_wait: float,
    cpus: float,
    patience: float = math.inf,
) -> MoveCost:
    """Compute the charge by the formula above, in seconds. At most ``patience`` is forgiven."""
    theirs = min(max(0.0, waited - max(0.0, others_cpu)), max(0.0, patience))
    forgiven = min(wall, theirs + max(0.0, own_wait))
    return MoveCost(wall, cpu, forgiven, max(wall - forgiven, cpu / cpus))
