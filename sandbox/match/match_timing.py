"""The timing settings that all seats of a match share."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.delay_monitor import DelayMonitor


@dataclass(frozen=True, slots=True)
class MatchTiming:
    """The timing settings that all seats of a match share."""

    clock: Clock
    own: OwnRunQueue
    """Run queue of the thread that plays the match."""
    waiting_seconds: float
    """Most waiting forgiven to each seat in one episode."""
    delay_monitor: DelayMonitor | None = None
    """Measures how late the node itself wakes up. If a seat's meter cannot forgive waiting and the
    node may have caused a time-out, the time-out becomes a HostFault. None: every time-out stands.
    """
    forgives_host: bool = False
    """Whether a time-out caused by waiting beyond ``waiting_seconds`` is HostTooSlow."""
