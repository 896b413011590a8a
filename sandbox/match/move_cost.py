"""What a move costs: wall time less the time its agent stood waiting for a core.

::

    charged  = max(wall - forgiven, cpu / cpus granted)
    forgiven = max(0, waited - cpu of the match's other boxes) + the referee's own wait
    waited   = max(pressure of the seat's group,
                   time its main thread stood in the run queue - time own threads contended)

all of them over the same interval, from the question's first byte to the read of its answer, and
not more forgiven than the wall. So a busy node costs an agent nothing, and sleeping costs its full
time. Only cpu time on several cores at once is charged beyond the wall. Pressure counts while no
thread of the group has a core, so waiting for another thread of the same agent is not forgiven. Nor
is waiting that a box of the same match may have caused. Where the kernel does not report who
waited, or a GPU works unseen, the charge is the wall time.

A core that a hypervisor takes away stands still in the name of whoever ran on it, in wall and cpu
time; had the agent stood in the queue, its wait is forgiven already, and nobody can tell the two
apart. So what was *lost* makes no move late and costs no bank, and makes no other move cheaper: it
is taken off what a charge has above the time that is free, up to ``SPARED_SECONDS`` in a match.
Lost is what the core that was gone longest was gone, as the node's steal monitor saw it, or what
the hypervisor itself says it took of a core, up to twice the cpu time used: the latter is an
average, and owed to agents at work.

What a seat computes between its moves is *off turn*. The kernel books the time of a running thread
at its core's next tick, so the last of a move's own cpu time is often seen only after it; what the
move's charge has paid for already is not charged again, up to ``TICK_SECONDS``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sandbox.match.cpu_meter import CpuMeter, OwnRunQueue, StolenTime
from sandbox.match.steal_monitor import most_lost_seconds

OFF_TURN_SECONDS: Final = 0.002
"""Cpu time between two moves that is nobody's business: garbage, allocators, our own harness."""
TICK_SECONDS: Final = 0.01
STOLEN_AGE_SECONDS: Final = 0.1
"""What a hypervisor says is read this often beside quick moves: it costs as much as they."""
_STOLEN: Final = StolenTime()
QUICK_SECONDS: Final = 0.001
"""Moves shorter than this need no forgiveness: the reads for it would cost as much as they."""
SPARED_SECONDS: Final = 0.25
"""Of what was lost, in one match: more than a machine that is fit for it loses, and too little to
win by for agents that find a way to make losses."""
SENT_SECONDS: Final = 0.0002
"""A question that takes longer to be written was interrupted."""
LEAST_MORE_SECONDS: Final = 0.001
OWN_DOING_SECONDS: Final = 0.1
"""Of the waiting in one move: a box that has used up its quota of processor time stands still to
the end of the period, and what it used may lie in the move before."""
DOUBT_STEP_SECONDS: Final = 0.02
"""How long a seat that seems late is looked at once more; pressure is booked in steps of 4 ms."""
MOST_DOUBT_SECONDS: Final = 5.0
"""In one match; it is charged, and part of our own work in ``Clock.longest_seconds``."""
_CORES: Final = os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class MoveCost:
    """What one move took and what of it is charged, in seconds."""

    wall_seconds: float
    cpu_seconds: float | None
    """Of all processes of the seat, over all cores; None where nobody counts it."""
    waited_seconds: float
    """What is forgiven of the wall."""
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
    """The charge by the formula above, all in seconds; ``waited`` forgives ``patience`` at most."""
    theirs = min(max(0.0, waited - max(0.0, others_cpu)), max(0.0, patience))
    forgiven = min(wall, theirs + max(0.0, own_wait))
    return MoveCost(wall, cpu, forgiven, max(wall - forgiven, cpu / cpus))


class MoveCosts:
    """The costs of one seat's moves, one after another: ``open``, ``cost_so_far``, ``close``."""

    __slots__ = (
        "_closed_at",
        "_contended",
        "_cpu",
        "_doubt_looked_at",
        "_doubt_pressure",
        "_doubt_seconds",
        "_doubted_at",
        "_free_seconds",
        "_losses",
        "_meter",
        "_others",
        "_others_cpu",
        "_own",
        "_paid_cpu",
        "_pressure",
        "_queue",
        "_seen_cpu",
        "_spare_limit_seconds",
        "_spared_seconds",
        "_stolen",
        "_unforgiven_of_bank_seconds",
        "_unsent_seconds",
        "_waits_for_host",
        "_was_quick",
        "patience_seconds",
        "ponders",
        "unforgiven_before_seconds",
        "unforgiven_now_seconds",
    )

    def __init__(
        self,
        meter: CpuMeter,
        others: Sequence[CpuMeter],
        own: OwnRunQueue,
        patience_seconds: float,
        *,
        waits_for_host: bool = False,
    ) -> None:
        """``others`` are the meters of the match's other seats. Once ``patience_seconds`` are
        forgiven in one episode, the seat's own waiting is not forgiven any more. With
        ``waits_for_host`` an answer may come later by what such waiting took of the bank before."""
        self._meter, self._others, self._own = meter, tuple(others), own
        self.patience_seconds = patience_seconds
        self._waits_for_host = waits_for_host
        self.unforgiven_before_seconds = self._unforgiven_of_bank_seconds = 0.0
        """What waiting that patience did not cover took of the bank, in the episode's earlier
        moves: the host's doing, and not the agent's."""
        self.unforgiven_now_seconds = 0.0
        """What was charged for such waiting in the move that is open, or ended last."""
        self.ponders = False
        """Whether it was seen computing off turn; it is frozen between its moves since."""
        self._was_quick = False
        self._closed_at = self._cpu = self._seen_cpu = self._pressure = self._queue = 0.0
        self._contended = 0.0
        self._stolen = 0.0
        self._free_seconds = self._unsent_seconds = self._spared_seconds = 0.0
        self._spare_limit_seconds = SPARED_SECONDS
        self._losses = b""
        self._others_cpu = self._doubted_at = self._doubt_looked_at = self._doubt_pressure = 0.0
        self._doubt_seconds = MOST_DOUBT_SECONDS
        self._paid_cpu: float | None = None

    def open(self, now: float, free_seconds: float = 0.0, *, owes: bool = False) -> float:
        """Before the question, at ``now`` of the monotonic clock; the seconds computed off turn
        since the last answer that are to be charged. An answer that takes ``free_seconds`` costs
        nothing of the bank. Whoever ``owes`` an answer was at work on it: nothing was off turn."""
        meter, off_turn = self._meter, 0.0
        if meter.is_frozen:
            meter.thaw()
        if meter.has_cpu:
            gap_cpu = (now - self._closed_at) * _CORES
            if self._was_quick and self._paid_cpu is not None and gap_cpu < OFF_TURN_SECONDS:
                self._cpu = self._paid_cpu  # all that all cores can do in the gap is tolerated
            else:
                self._cpu = meter.cpu_seconds()
                if self._paid_cpu is not None and not owes:
                    unpaid = self._cpu - self._paid_cpu - OFF_TURN_SECONDS
                    if unpaid > 0:
                        self.ponders = True
                        lost = most_lost_seconds(self._losses, meter.losses())
                        spared = min(unpaid, lost, self._spare_limit_seconds)
                        self._spare_limit_seconds -= spared
                        off_turn = (unpaid - spared) / meter.cpus
                        self._paid_cpu = self._cpu
        self._doubted_at = 0.0
        self.unforgiven_before_seconds += self._unforgiven_of_bank_seconds
        self._unforgiven_of_bank_seconds = self.unforgiven_now_seconds = 0.0
        self._free_seconds = free_seconds
        self._losses = meter.losses()
        self._unsent_seconds = 0.0
        if meter.can_forgive:
            self._stolen = _STOLEN.seconds(now, STOLEN_AGE_SECONDS)
            self._pressure = meter.pressure_seconds()
            self._contended = meter.contended_seconds
            self._queue = meter.queue_seconds()
            self._others_cpu = sum(map(CpuMeter.cpu_seconds, self._others))
        return off_turn

    def watch(self) -> None:
        """While others are asked: a seat that is seen computing is frozen until it is asked. Else
        one that is out of the game could take the others' cores, and they would pay for the wait.
        """
        meter = self._meter
        if meter.is_frozen or not meter.has_cpu or self._paid_cpu is None:
            return
        if meter.cpu_seconds() - self._paid_cpu > OFF_TURN_SECONDS:
            self.ponders = True
            meter.freeze()

    def sent(self, started_at: float, now: float) -> None:
        """The question is out. Where that took long, we stood in the queue ourselves before it was:
        what the agent neither worked nor waited meanwhile is no time of its own."""
        meter = self._meter
        if now - started_at > SENT_SECONDS and meter.can_forgive:
            ours = min(now - started_at, self._own.since_asked_seconds())
            theirs = self._used_cpu() + meter.queue_seconds() - self._queue
            self._unsent_seconds = max(0.0, ours - theirs)

    def cost_so_far(self, started_at: float, now: float) -> MoveCost:
        """The cost of the move if it ended now; moments on the clock of ``time.monotonic``."""
        wall = now - started_at
        meter = self._meter
        cpu = self._used_cpu() if meter.has_cpu else None
        own_wait = self._own.waited_seconds(started_at, now)
        self._spared_seconds = self.unforgiven_now_seconds = 0.0
        if cpu is None or not meter.can_forgive:
            seen = 0.0 if cpu is None or meter.by_wall else cpu
            cost = compute_move_cost(wall, seen, 0.0, 0.0, own_wait, meter.cpus)
            cost = MoveCost(wall, cpu, cost.waited_seconds, cost.charged_seconds)
            return self._spared(cost, most_lost_seconds(self._losses, meter.losses()))
        others_cpu = 0.0
        pressure = meter.pressure_seconds() - self._pressure
        contended = meter.contended_seconds - self._contended
        waited = max(pressure, meter.queue_seconds() - self._queue - contended)
        if waited > 0:
            others_cpu = sum(map(CpuMeter.cpu_seconds, self._others)) - self._others_cpu
        # A wait that began before the question was out is in both.
        waited = max(waited - max(0.0, others_cpu), self._unsent_seconds)
        cost = compute_move_cost(
            wall, cpu, waited, 0.0, own_wait, meter.cpus, self.patience_seconds
        )
        if waited > self.patience_seconds:
            least = compute_move_cost(wall, cpu, waited, 0.0, own_wait, meter.cpus).charged_seconds
            unforgiven = cost.charged_seconds - least - OWN_DOING_SECONDS
            self.unforgiven_now_seconds = max(0.0, unforgiven)
        if cost.charged_seconds <= self._free_seconds:
            return cost
        stolen = min(_STOLEN.seconds(now) - self._stolen, 2 * cpu)
        return self._spared(cost, max(stolen, most_lost_seconds(self._losses, meter.losses())))

    def _spared(self, cost: MoveCost, lost: float) -> MoveCost:
        """The cost less what was lost, as far as it is above the time that is free."""
        spared = min(lost, self._spare_limit_seconds, cost.charged_seconds - self._free_seconds)
        if spared <= 0:
            return cost
        self._spared_seconds = spared
        forgiven = min(cost.wall_seconds, cost.waited_seconds + spared)
        charged = cost.charged_seconds - spared
        return MoveCost(cost.wall_seconds, cost.cpu_seconds, forgiven, charged)

    def more_seconds(self, started_at: float, now: float, limit_seconds: float) -> float:
        """How long a question that has no answer yet is worth waiting for, before another look;
        0 when it is late."""
        rest = limit_seconds - self.cost_so_far(started_at, now).charged_seconds
        if self._waits_for_host:
            rest += self.unforgiven_before_seconds
        if rest > 0:
            self._doubts_no_more(now)
            return max(rest, LEAST_MORE_SECONDS)
        return DOUBT_STEP_SECONDS if self._may_be_waiting(now) else 0.0

    def _may_be_waiting(self, now: float) -> bool:
        """Whether the seat may stand in the run queue right now.

        That wait is not in the main thread's count before it ends, and what pressure counts over
        several cores is an average. But pressure grows while a wait lasts. An answer that comes
        after such a doubt is judged by its charge like any other.
        """
        if not self._meter.can_forgive or self._doubt_seconds <= 0:
            return False
        pressure, before = self._meter.pressure_seconds(), self._doubt_pressure
        since, self._doubt_pressure, self._doubt_looked_at = self._doubt_looked_at, pressure, now
        if not self._doubted_at:
            self._doubted_at = now
            return True
        grows = pressure - before > (now - since) / 2
        return grows and now - self._doubted_at < self._doubt_seconds

    def _doubts_no_more(self, now: float) -> None:
        """All doubts of a match together are bounded: some games forgive one late answer after the
        other."""
        if self._doubted_at:
            self._doubt_seconds -= now - self._doubted_at
            self._doubted_at = 0.0

    def close(self, started_at: float, now: float) -> MoveCost:
        """The cost of the move that ended at ``now``; a seat that ponders is frozen."""
        meter, wall = self._meter, now - started_at
        self._doubts_no_more(now)
        self._was_quick = wall < QUICK_SECONDS
        if self._was_quick:
            cpu = self._used_cpu() if meter.has_cpu else None
            seen = 0.0 if cpu is None or meter.by_wall else cpu / meter.cpus
            cost = MoveCost(wall, cpu, 0.0, max(wall, seen))
        else:
            cost = self.cost_so_far(started_at, now)
            self._spare_limit_seconds -= self._spared_seconds
            self._losses = meter.losses()
            # Only what made the charge less: who waits by using up its quota pays for that.
            lessened = cost.wall_seconds - cost.charged_seconds - self._spared_seconds
            self.patience_seconds -= max(0.0, lessened)
            of_bank = max(0.0, cost.charged_seconds - self._free_seconds)
            self._unforgiven_of_bank_seconds = min(self.unforgiven_now_seconds, of_bank)
        if self.ponders:
            meter.freeze()
        if cost.cpu_seconds is not None:
            paid = self._cpu + max(cost.cpu_seconds, cost.charged_seconds * meter.cpus)
            # Not more than a tick ahead of what is booked, however many moves were paid ahead.
            self._paid_cpu = min(paid, self._seen_cpu + TICK_SECONDS)
        self._closed_at = now
        return cost

    def _used_cpu(self) -> float:
        self._seen_cpu = self._meter.cpu_seconds()
        return max(0.0, self._seen_cpu - self._cpu)
