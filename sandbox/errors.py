"""What can go wrong on the way to an agent, and whose doing it is.

::

    SandboxError
    ├── BundleRefused   the uploaded archive broke a rule (an agent's fault)
    │   └── AgentAway   a remote agent does not answer at its address (its owner's)
    ├── SeatsAway       the match is not played, as remote agents of it do not answer
    └── HostFault       engine, box or daemon trouble (nobody's fault; the match runs again)
        ├── EngineAway   no box can be started until the engine answers again: wait, do not fail
        ├── BoxLate      no box was ready within the time that the worker gave
        └── HostTooSlow  seats waited for a core for longer than a match may wait
"""

from __future__ import annotations

from collections.abc import Mapping


class SandboxError(Exception):
    """Something went wrong between the referee and an agent."""


class BundleRefused(SandboxError):
    """The archive broke a rule; the message names the entry and says what is allowed."""

    def __init__(self, reason: str, entry: str | None = None) -> None:
        super().__init__(f"{entry!r}: {reason}" if entry is not None else reason)
        self.reason = reason
        self.entry = entry


class AgentAway(BundleRefused):
    """The remote agent does not answer at its address; the message says what came instead."""


class SeatsAway(SandboxError):
    """Remote agents do not answer, and the match is not played without them."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__(f"away: seats {sorted(reasons)}")
        self.reasons = reasons
        """By seat of the lineup."""


class HostFault(SandboxError):
    """The engine, a box or the node daemon failed; no agent is to blame."""


class EngineAway(HostFault):
    """The container engine does not answer now; it may soon."""


class BoxLate(HostFault):
    """No box was free or ready in time; the host is busy. Attempts are stored under this name."""


class HostTooSlow(HostFault):
    """This host did not give a seat the processor time that its clock grants."""
