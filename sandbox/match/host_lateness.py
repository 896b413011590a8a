"""Finds out whether the host caused a time-out of a seat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from games.protocol import Verdict
from sandbox.errors import HostFault, HostTooSlow
from sandbox.match.cpu_meter import CpuMeter
from sandbox.match.match_timing import MatchTiming
from sandbox.match.move_cost import MoveCosts
from sandbox.match.questions import Question
from sandbox.match.seat_faults import SeatFault
from sandbox.match.seat_process import SeatProcess

BUSY_SHARE: Final = 0.8
"""A seat that used this share of its limit as CPU time was late by its own work."""
LATE_NODE_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class HostLateness:
    """Decides whether the host made one seat late. ``lenient``: faults that the game pardons."""

    index: int
    timing: MatchTiming
    meter: CpuMeter
    move_costs: MoveCosts
    lenient: frozenset[Verdict]
    process: SeatProcess

    def raise_if_node_late(self, question: Question) -> None:
        """Raise HostFault if the node may have caused this time-out, without pressure to decide it.

        A time-out that the game pardons stays: it costs the seat only one answer. Otherwise the
        match of an agent that is often late would become void whenever the node is late too.
        """
        monitor, cost = self.timing.delay_monitor, question.cost
        if monitor is None or self.meter.can_forgive or Verdict.TIMEOUT in self.lenient:
            return
        used = (cost.cpu_seconds or 0.0) / self.meter.cpus
        if used >= BUSY_SHARE * question.limit_seconds:
            return
        lag = monitor.lag_seconds(question.started_at)
        if lag >= LATE_NODE_SECONDS:
            raise HostFault(
                f"seat {self.index + 1} was late and the node itself was late by"
                f" {lag * 1000:.0f} ms; without pressure readings nobody can tell which of the two"
                " caused the time-out"
            )

    def raise_if_host_slow(
        self, step: int, over_seconds: float, question: Question
    ) -> SeatFault | None:
        """Raise HostTooSlow if the seat would be in time once all its waiting is forgiven.

        ``over_seconds``: by how much the seat exceeded its time. Nobody knows how late a missing
        answer would have been. So the seat then must also have waited for half of the charged time,
        and an agent that sleeps gains nothing.

        Returns None if the seat itself was late. If the box ran out of memory meanwhile, returns
        that fault of the agent.
        """
        now = self.move_costs.unforgiven_now_seconds
        unforgiven = self.move_costs.unforgiven_before_seconds + now
        if not self.timing.forgives_host or unforgiven <= max(0.0, over_seconds):
            return None
        if question.answer is None and now < question.cost.charged_seconds / 2:
            return None
        self.process.end()
        fault = self.process.memory_fault(step)
        if fault is not None:
            return fault
        waited = self.timing.waiting_seconds + unforgiven
        raise HostTooSlow(
            f"seat {self.index + 1} waited {waited:.1f} s for a core in this episode and was late"
            f" in step {step}; this host is too slow for this season"
        )
