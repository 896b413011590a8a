"""Reports what this machine can give to boxes and what it cannot.

``machine_facts`` reads files. ``probes`` tries things and removes what it made. ``checks`` judges
the results. ``degraded`` names what each lack costs. ``report`` combines all for ``peck doctor``.
"""

from __future__ import annotations

from sandbox.launchers.degraded_defences import DEGRADED, DegradedRow

__all__ = ["DEGRADED", "DegradedRow"]
