"""What this machine can give to boxes and what it cannot, told row by row and never guessed.

``machine`` reads, ``probes`` tries (and removes what it made), ``checks`` judges without touching
anything, ``degraded`` names what a lack costs, ``report`` puts them together for ``peck doctor``.
"""

from __future__ import annotations

from sandbox.launchers.degraded import DEGRADED, DegradedRow

__all__ = ["DEGRADED", "DegradedRow"]
