"""The errors of a match, by who is to blame.

::

    SandboxError
    ├── BundleRefused    the agent: its archive broke a rule
    │   └── AgentAway    the owner: the remote agent does not answer
    ├── SeatsAway        owners: remote agents do not answer, so nothing is played
    └── HostFault        nobody: engine, box or daemon failed; the match runs again
        ├── EngineAway   nobody: the engine does not answer yet; wait
        ├── BoxLate      nobody: no box was ready in time
        └── HostTooSlow  nobody: seats waited too long for a core
"""

from __future__ import annotations

from collections.abc import Mapping


class SandboxError(Exception):
    """Something went wrong between the referee and an agent."""


class BundleRefused(SandboxError):
    """The archive broke a rule. The message names the entry and says what is allowed."""

    def __init__(self, reason: str, entry: str | None = None) -> None:
        super().__init__(f"{entry!r}: {reason}" if entry is not None else reason)
        self.reason = reason
        self.entry = entry


class AgentAway(BundleRefused):
    """The remote agent does not answer at its address. The message says what came instead."""


class SeatsAway(SandboxError):
    """Remote agents do not answer, so the match is not played."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__(f"away: seats {sorted(reasons)}")
        self.reasons = reasons
        """Reasons by seat of the lineup."""


class HostFault(SandboxError):
    """The engine, a box or the node daemon failed. No agent is to blame."""


class EngineAway(HostFault):
    """The container engine does not answer at the moment."""


class BoxLate(HostFault):
    """No box was ready in time because the host is busy. The database stores this class name."""


class HostTooSlow(HostFault):
    """The host gave a seat less processor time than its clock grants."""
