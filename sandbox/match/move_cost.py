"""Measures what a move costs: wall time less the time its agent waited for a core.

::

    charged  = max(wall - forgiven, cpu / cpus granted)

    forgiven = max(0, waited - cpu of the match's other boxes) + the referee's own wait

    waited   = max(pressure of the seat's group,
                   time its main thread stood in the run queue - time own threads contended)

All terms cover one interval: from the question's first byte to the read of its answer. ``forgiven``
is at most the wall time. Without data on waiting, or with a GPU, the charge is the wall time.

A core that the hypervisor takes away adds to the wall and CPU time of the agent that ran. This
*lost* time comes off the part of a charge above the free time, up to ``SPARED_SECONDS`` an
episode. It makes no move late and no other move cheaper.

Lost time is the larger of two figures. One is the longest loss of a core that the steal monitor
saw. The other is the hypervisor's own report, up to twice the CPU time used, because the report is
an average over cores.

CPU time between a seat's moves is *off turn*. The kernel books CPU time at a core's next tick, so
the end of a move's own CPU time often appears after the move. So up to ``TICK_SECONDS`` that the
move's charge has paid for are not charged again.

Reading all counters costs as much as a short move. So quick answers that cannot cost more than the
free time are charged by the wall clock, and the counters are read only after ``UNREAD_SECONDS``.
They are totals, so no CPU time is missed. A reading may show more than the answers can have used.
Then the rest is charged as off-turn time, and from then on every answer is read.

If an answer is slow, the time since the last reading counts as no waiting.

``MoveCosts`` takes the readings, and ``charge_move`` computes the charge from two of them.
``docs/architecture/clock.md`` explains the rules.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final, NamedTuple

from sandbox.match.cpu_meter import CpuMeter, OwnRunQueue, StolenTime
from sandbox.match.steal_monitor import most_lost_seconds

OFF_TURN_SECONDS: Final = 0.002
"""CPU time between two moves that is free: garbage collection, allocators, our own harness."""
TICK_SECONDS: Final = 0.01
STOLEN_AGE_SECONDS: Final = 0.1
"""Most age of the hypervisor's report in quick moves. A read costs as much as such a move."""
_STOLEN: Final = StolenTime()
QUICK_SECONDS: Final = 0.001
"""Shorter moves are forgiven nothing: reading the counters would cost as much as the move."""
UNREAD_SECONDS: Final = 0.01
"""Most time without a reading."""
SPARED_SECONDS: Final = 0.25
"""Most lost time subtracted in one episode.

A fit machine loses less. An agent that finds a way to cause losses cannot win by so little.
"""
SENT_SECONDS: Final = 0.0002
"""If writing a question takes longer, the referee was interrupted."""
LEAST_MORE_SECONDS: Final = 0.001
OWN_DOING_SECONDS: Final = 0.1
"""Waiting in one move that the agent itself may cause. A box that has used up its CPU quota stops
to the end of the period, even if it used the quota in the move before.
"""
DOUBT_STEP_SECONDS: Final = 0.02
"""Time until the next look at a seat that seems late. Pressure is booked in steps of 4 ms."""
WAITING_SHARE: Final = 0.25
"""Pressure must grow by more than this share of the time to count as a wait. It is an average over
cores, so a thread that waits on two cores in turn adds only half of its wait.
"""
MOST_DOUBT_SECONDS: Final = 5.0
"""Most time for such looks in one match. It is charged, and ``Clock.longest_seconds`` includes it.
"""
_CORES: Final = os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class MoveCost:
    """What one move took and what is charged for it, in seconds."""

    wall_seconds: float
    cpu_seconds: float | None
    """CPU time of all processes of the seat, over all cores. None if nobody measured it."""
    forgiven_seconds: float
    """Part of the wall time that is forgiven."""
    charged_seconds: float


class Reading(NamedTuple):
    """The counters of a seat at one moment: totals in seconds.

    A counter that nobody read again keeps its value of the earlier reading.
    """

    at: float = -math.inf
    """Moment of the monotonic clock."""
    pressure: float = 0.0
    """How long the seat's group wanted to run and none of its threads had a core."""
    contended: float = 0.0
    """How long a thread waited while another thread of the group ran."""
    queue: float = 0.0
    """How long the main thread stood in the run queue."""
    others_cpu: float = 0.0
    """CPU time of the match's other boxes."""
    stolen: float = 0.0
    """What the hypervisor reports to have taken, averaged over all cores."""
    losses: bytes = b""
    """What the steal monitor saw on each core."""
    gone: float = 0.0
    """For how long a core has been gone at this moment."""


class MoveFacts(NamedTuple):
    """What is known of one move besides the counters, in seconds."""

    wall_seconds: float
    cpu_seconds: float | None = None
    """CPU time of the seat. None if nobody measured it."""
    own_wait_seconds: float = 0.0
    """How much too late the referee itself saw the answer."""
    unsent_seconds: float = 0.0
    """How long the referee took to send the question, while the agent neither worked nor waited."""
    stale_seconds: float = 0.0
    """Age of the earlier reading when the move began. It counts as no waiting."""
    free_seconds: float = 0.0
    """A charge up to this costs no bank."""
    patience_seconds: float = math.inf
    """Most waiting that may still be forgiven."""
    spare_limit_seconds: float = SPARED_SECONDS
    """Most lost time that may still be subtracted."""
    cpus: float = 1.0
    """Number of cores granted."""
    can_forgive: bool = True
    """Whether waiting for a core can be told from sleeping."""
    by_wall: bool = False
    """Whether CPU time does not show the work (GPU)."""


class Charge(NamedTuple):
    """The cost of a move, and what it takes from the seat's limits."""

    cost: MoveCost
    spared_seconds: float
    """Lost time that was subtracted."""
    unforgiven_seconds: float
    """Charge for waiting beyond the seat's patience. The host is to blame for it."""


def charge_move(before: Reading, after: Reading, move: MoveFacts) -> Charge:
    """Compute the charge by the formula above, from two readings. Pure."""
    wall, cpu = move.wall_seconds, move.cpu_seconds
    used = 0.0 if cpu is None or move.by_wall else cpu / move.cpus
    waited = 0.0
    if move.can_forgive:
        waited = waited_seconds(before, after, move)
        if waited > 0:
            waited -= max(0.0, after.others_cpu - before.others_cpu)
        # A wait that began before the question was out is in both.
        waited = max(waited, move.unsent_seconds)
    own_wait, patience = max(0.0, move.own_wait_seconds), move.patience_seconds
    forgiven = min(wall, min(waited, max(0.0, patience)) + own_wait)
    charged = max(wall - forgiven, used)
    unforgiven = 0.0
    if waited > patience:
        least = max(wall - min(wall, waited + own_wait), used)
        unforgiven = max(0.0, charged - least - OWN_DOING_SECONDS)
    lost = most_lost_seconds(before.losses, after.losses)
    if move.can_forgive and cpu is not None:
        # A core that is gone now will show its loss when it is back.
        lost = max(min(after.stolen - before.stolen, 2 * cpu), lost + after.gone)
    spared = min(lost, move.spare_limit_seconds, charged - move.free_seconds)
    if spared <= 0:
        return Charge(MoveCost(wall, cpu, forgiven, charged), 0.0, unforgiven)
    cost = MoveCost(wall, cpu, min(wall, forgiven + spared), charged - spared)
    return Charge(cost, spared, unforgiven)


def waited_seconds(before: Reading, after: Reading, move: MoveFacts) -> float:
    """How long the seat waited for a core, whoever had it; not above 0 if it did not wait."""
    contended = after.contended - before.contended
    queue = after.queue - before.queue - contended
    return max(after.pressure - before.pressure, queue) - move.stale_seconds


class _Doubt:
    """Whether a seat that seems late may stand in the run queue right now.

    The main thread's count lacks a wait until it ends, and pressure is an average over cores. But
    pressure grows during a wait. An answer that comes later is judged by its charge.

    The referee itself may wait for a core before it reads the pressure. So the growth is compared
    with the time between two readings. All doubts of a match share a limit, because some games
    forgive late answers.
    """

    __slots__ = ("_left_seconds", "_looked_at", "_pressure", "began_at")

    def __init__(self) -> None:
        self.began_at = 0.0
        """When the present doubt began; 0 if there is none."""
        self._left_seconds = MOST_DOUBT_SECONDS
        self._looked_at = self._pressure = 0.0

    def may_be_waiting(self, meter: CpuMeter, now: float) -> bool:
        """Look at the seat's pressure. The first look of a doubt always says yes."""
        if not meter.can_forgive or self._left_seconds <= 0:
            return False
        since, before = self._looked_at, self._pressure
        elapsed = monotonic() - since
        self._pressure = meter.pressure_seconds()
        self._looked_at = monotonic()
        if not self.began_at:
            self.began_at = now
            return True
        grows = self._pressure - before > WAITING_SHARE * elapsed
        return grows and now - self.began_at < self._left_seconds

    def end(self, now: float) -> None:
        """End the present doubt, if there is one."""
        if self.began_at:
            self._left_seconds -= now - self.began_at
            self.began_at = 0.0


class MoveCosts:
    """The costs of one seat's moves, one after another: ``open``, ``cost_so_far``, ``close``."""

    __slots__ = (
        "_before",
        "_closed_at",
        "_cpu",
        "_doubt",
        "_free_seconds",
        "_meter",
        "_others",
        "_own",
        "_paid_cpu",
        "_ponders_unread",
        "_seen_cpu",
        "_spare_limit_seconds",
        "_spared_seconds",
        "_stale_seconds",
        "_unforgiven_of_bank_seconds",
        "_unread_pauses_seconds",
        "_unread_seconds",
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
        """``others`` are the meters of the match's other seats.

        Once ``patience_seconds`` are forgiven in an episode, the seat's waiting is charged. With
        ``waits_for_host`` an answer may come later, by the bank that such waiting took before.
        """
        self._meter, self._others, self._own = meter, tuple(others), own
        self.patience_seconds = patience_seconds
        self._waits_for_host = waits_for_host
        self.unforgiven_before_seconds = self._unforgiven_of_bank_seconds = 0.0
        """Bank that waiting beyond ``patience_seconds`` took in the episode's earlier moves. The
        host is to blame.
        """
        self.unforgiven_now_seconds = 0.0
        """Charge for such waiting in the open move, or in the last one."""
        self.ponders = False
        """Whether the seat computed off turn. If so, it is frozen between its moves."""
        self._was_quick = self._ponders_unread = False
        self._unread_seconds = self._unread_pauses_seconds = self._stale_seconds = 0.0
        self._before = Reading()
        self._doubt = _Doubt()
        self._closed_at = self._cpu = self._seen_cpu = 0.0
        self._free_seconds = self._unsent_seconds = self._spared_seconds = 0.0
        self._spare_limit_seconds = SPARED_SECONDS
        self._paid_cpu: float | None = None

    def open(self, now: float, free_seconds: float = 0.0, *, owes: bool = False) -> float:
        """Open a move before its question, at ``now`` of the monotonic clock.

        Returns the off-turn seconds to charge since the last answer. An answer within
        ``free_seconds`` costs no bank. A seat that ``owes`` an answer worked on it, so it has no
        off-turn time.
        """
        meter, off_turn = self._meter, 0.0
        if meter.is_frozen:
            meter.thaw()
        needs_reading = not self._was_quick or self._ponders_unread or self._is_old(now)
        if meter.has_cpu:
            if not needs_reading and self._paid_cpu is not None:
                self._cpu = self._paid_cpu
                pause = (now - self._closed_at) * _CORES
                self._unread_pauses_seconds += min(OFF_TURN_SECONDS, pause)
            else:
                self._cpu = self._seen_cpu = meter.cpu_seconds()
                if self._paid_cpu is not None and not owes:
                    unpaid = self._cpu - self._paid_cpu - self._tolerated_cpu
                    if unpaid > 0:
                        self.ponders = True
                        lost = most_lost_seconds(self._before.losses, meter.losses())
                        spared = min(unpaid, lost, self._spare_limit_seconds)
                        self._spare_limit_seconds -= spared
                        off_turn = (unpaid - spared) / meter.cpus
                        self._paid_cpu = self._cpu
                self._unread_seconds = self._unread_pauses_seconds = 0.0
        self._doubt.began_at = 0.0
        self.unforgiven_before_seconds += self._unforgiven_of_bank_seconds
        self._unforgiven_of_bank_seconds = self.unforgiven_now_seconds = 0.0
        self._free_seconds = free_seconds
        self._unsent_seconds = 0.0
        self._stale_seconds = now - self._before.at
        if needs_reading:
            self._read_counters(now, lambda other: other.recent_cpu_seconds(now))
        return off_turn

    def _read_counters(self, now: float, cpu_of: Callable[[CpuMeter], float]) -> None:
        """Read what a later slow answer is compared with. ``cpu_of`` reads another seat."""
        meter = self._meter
        losses = meter.losses()
        stolen = pressure = contended = queue = 0.0
        if meter.can_forgive:
            stolen = _STOLEN.seconds(now, STOLEN_AGE_SECONDS)
            pressure = meter.pressure_seconds()
            contended = meter.contended_seconds
            queue = meter.queue_seconds()
        others_cpu = sum(map(cpu_of, self._others))
        self._before = Reading(now, pressure, contended, queue, others_cpu, stolen, losses)
        self._stale_seconds = 0.0

    def _is_old(self, now: float) -> bool:
        """Whether the last reading of the counters is too old."""
        return now - self._before.at >= UNREAD_SECONDS

    @property
    def _tolerated_cpu(self) -> float:
        """CPU time beyond the charges since the last reading that is no off-turn work.

        That is an allowance for each pause, and what quick answers may have used above their
        charge. A pause too short for its allowance leaves nothing of it to a later one.
        """
        pauses = OFF_TURN_SECONDS + self._unread_pauses_seconds
        return pauses + self._unread_seconds * self._meter.cpus

    def freeze_if_computing(self) -> None:
        """Freeze a seat that computes while others are asked. Its next question thaws it.

        Without this a seat that is out of the game could take the others' cores.
        """
        meter = self._meter
        if meter.is_frozen or not meter.has_cpu or self._paid_cpu is None:
            return
        if (monotonic() - self._closed_at) * _CORES < OFF_TURN_SECONDS:
            return  # all cores together had no time for more
        if meter.cpu_seconds() - self._paid_cpu > self._tolerated_cpu:
            self.ponders = True
            meter.freeze()

    def sent(self, started_at: float, now: float) -> None:
        """Note that the question is out. If the write took long, the referee waited for a core.

        Time in which the agent neither worked nor waited is then not the agent's.
        """
        meter = self._meter
        if now - started_at > SENT_SECONDS and meter.can_forgive:
            ours = min(now - started_at, self._own.since_asked_seconds())
            theirs = self._used_cpu() + meter.queue_seconds() - self._before.queue
            self._unsent_seconds = max(0.0, ours - theirs)

    def cost_so_far(self, started_at: float, now: float) -> MoveCost:
        """The cost of the move if it ended now. Moments on the clock of ``time.monotonic``."""
        meter, before = self._meter, self._before
        can_forgive = meter.can_forgive
        move = MoveFacts(
            now - started_at,
            self._used_cpu() if meter.has_cpu else None,
            self._own.waited_seconds(started_at, now),
            self._unsent_seconds,
            self._stale_seconds,
            self._free_seconds,
            self.patience_seconds,
            self._spare_limit_seconds,
            meter.cpus,
            can_forgive,
            meter.by_wall,
        )
        after = before
        if can_forgive:
            pressure = meter.pressure_seconds()
            waits = now, pressure, meter.contended_seconds, meter.queue_seconds()
            after = Reading(*waits, before.others_cpu, before.stolen, before.losses)
            if waited_seconds(before, after, move) > 0:
                others_cpu = sum(map(CpuMeter.cpu_seconds, self._others))
                after = Reading(*waits, others_cpu, before.stolen, before.losses)
        charge = charge_move(before, after, move)
        if charge.cost.charged_seconds > self._free_seconds:
            # The other counters lower only such a charge, and each reading takes its time.
            stolen = _STOLEN.seconds(now) if can_forgive else before.stolen
            losses = meter.losses()
            gone = meter.gone_seconds(now) if can_forgive else 0.0
            after = Reading(*after[:5], stolen, losses, gone)
            if stolen != before.stolen or losses != before.losses or gone:
                charge = charge_move(before, after, move)
        self._spared_seconds = charge.spared_seconds
        self.unforgiven_now_seconds = charge.unforgiven_seconds
        return charge.cost

    def remaining_wait_seconds(self, started_at: float, now: float, limit_seconds: float) -> float:
        """How long to wait for an answer before the next look; 0 if it is late."""
        rest = limit_seconds - self.cost_so_far(started_at, now).charged_seconds
        if self._waits_for_host:
            rest += self.unforgiven_before_seconds
        if rest > 0:
            self._doubt.end(now)
            return max(rest, LEAST_MORE_SECONDS)
        return DOUBT_STEP_SECONDS if self._doubt.may_be_waiting(self._meter, now) else 0.0

    def close(self, started_at: float, now: float) -> MoveCost:
        """Close the move that ended at ``now`` and return its cost. Freezes a seat that ponders."""
        meter, wall = self._meter, now - started_at
        if self._doubt.began_at:
            self._doubt.end(now)
        self._was_quick = wall < QUICK_SECONDS
        if self._was_quick:
            cost = self._quick_cost(wall, now)
        else:
            cost = self.cost_so_far(started_at, now)
            self._spare_limit_seconds -= self._spared_seconds
            self._before = Reading(*self._before[:6], meter.losses())
            # Only forgiven waiting counts here. An agent that waits on purpose uses up its
            # patience.
            lessened = cost.wall_seconds - cost.charged_seconds - self._spared_seconds
            self.patience_seconds -= max(0.0, lessened)
            of_bank = max(0.0, cost.charged_seconds - self._free_seconds)
            self._unforgiven_of_bank_seconds = min(self.unforgiven_now_seconds, of_bank)
        if self.ponders:
            meter.freeze()
        if cost.cpu_seconds is not None:
            paid = self._cpu + max(cost.cpu_seconds, cost.charged_seconds * meter.cpus)
            # At most one tick ahead of the booked time, over any number of moves.
            self._paid_cpu = min(paid, self._seen_cpu + TICK_SECONDS)
            self._unread_seconds = self._unread_pauses_seconds = 0.0
        self._closed_at = now
        return cost

    def _quick_cost(self, wall: float, now: float) -> MoveCost:
        meter = self._meter
        if not meter.has_cpu:
            return MoveCost(wall, None, 0.0, wall)
        unread = self._unread_seconds + wall
        is_free = wall * _CORES <= self._free_seconds
        needs_reading = self.ponders or self._ponders_unread or self._paid_cpu is None
        if is_free and not needs_reading and not self._is_old(now):
            self._unread_seconds = unread
            # An answer uses at least no CPU time and pays for its wall time.
            self._paid_cpu = min(self._cpu + wall * meter.cpus, self._seen_cpu + TICK_SECONDS)
            return MoveCost(wall, None, 0.0, wall)
        cpu = self._used_cpu()
        # Each of the others has read its own lately.
        self._read_counters(now, lambda other: other.last_cpu_seconds)
        in_answers = unread * _CORES + self._unread_pauses_seconds
        self._ponders_unread |= cpu > in_answers
        cpu = min(cpu, in_answers)
        used = 0.0 if meter.by_wall else cpu / meter.cpus
        return MoveCost(wall, cpu, 0.0, max(wall, used))

    def _used_cpu(self) -> float:
        self._seen_cpu = self._meter.cpu_seconds()
        return max(0.0, self._seen_cpu - self._cpu)
