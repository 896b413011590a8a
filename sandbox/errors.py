"""The errors of a match, by who is to blame.

All are subclasses of SandboxError:

- ``SeatRefused``: the agent's owner is to blame; nobody can play the seat.
- ``SeatsAway``: remote agents do not answer, so nothing is played.
- ``HostFault``: nobody is to blame; the match runs again.

Subclasses of SeatRefused:

- ``BundleRefused``: the archive broke a rule.
- ``AgentAway``: the remote agent does not answer.

Subclasses of HostFault:

- ``EngineAway``: the engine does not answer at the moment.
- ``BoxLate``: no box was ready in time.
- ``HostTooSlow``: seats waited too long for a core.
- ``GameFault``: the game's rules raised.
"""

from __future__ import annotations

from collections.abc import Mapping


class SandboxError(Exception):
    """Something went wrong between the referee and an agent."""


class SeatRefused(SandboxError):
    """Nobody can play the seat. The message tells the agent's owner why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BundleRefused(SeatRefused):
    """The archive broke a rule. The message names the entry and says what is allowed."""

    def __init__(self, reason: str, entry: str | None = None) -> None:
        super().__init__(reason)
        self.entry = entry

    def __str__(self) -> str:
        return self.reason if self.entry is None else f"{self.entry!r}: {self.reason}"


class AgentAway(SeatRefused):
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
    """No box was ready in time because the host is busy."""


class HostTooSlow(HostFault):
    """The host gave a seat less processor time than its clock grants."""


class GameFault(HostFault):
    """The game's rules raised. No agent is to blame, and another node will fail too."""
