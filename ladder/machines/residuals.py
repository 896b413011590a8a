"""How far each machine that is not trusted strays from the others, and quarantine.

Three things put a machine into quarantine: results that their replays do not give, samples with
other moves than both controls, and charged times that are longer or shorter than those of the
controls. The other machines say how often that happens by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from statistics import fmean, median, stdev
from typing import Final

from psycopg.rows import class_row

from ladder.database.db import Connection, atomic_function
from ladder.ids import MachineId, UserId
from ladder.machines import machines
from ladder.notices.events import EventSubject, record_events
from ladder.notices.kinds import NoticeKind

MOST_MISMATCHES: Final = 3
"""Results that their replays do not give. An honest machine has none."""
LEAST_DIFFERENT: Final = 3
"""Different samples below which nobody is put into quarantine."""
TAIL: Final = 1e-5
"""Probability of as many different samples by chance, from which they are too many."""
PRIOR_SAMPLES: Final = 1000
"""One different sample among so many is assumed before any is seen."""
LEAST_TIMES: Final = 20
"""Compared times before a machine is judged by them."""
LEAST_TIME_SHARE: Final = 0.08
"""Smaller differences of charged time, as natural logarithms, are no reason."""
TIME_SIGMAS: Final = 3.5
SMALL_FIELD: Final = 10.0
"""Divided by the number of other machines, this is added to TIME_SIGMAS: few machines say little
about the spread."""
LEAST_SPREAD: Final = 0.02
"""Standard deviation between honest machines, if the others seem to have less."""
FIRST_SPREAD: Final = 0.03
"""The same while fewer than FIELD machines are compared."""
FIELD: Final = 8


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of a machine since it was last trusted anew."""

    machine_id: MachineId
    mismatches: int
    samples: int
    """Compared samples with repeatable controls."""
    different: int
    log_time_ratios: list[float]


@dataclass(frozen=True, slots=True)
class Residuals:
    """A machine beside the field."""

    samples: int
    different: int
    tail: float
    """Probability of so many different samples by chance."""
    times: int
    """Number of compared times."""
    time_residual: float
    """Mean logarithm of the time ratio, less the median of the other machines."""
    time_sigmas: float
    reason: str | None
    """Why the machine goes into quarantine. None: it stays."""


def read_evidence(conn: Connection) -> list[Evidence]:
    """The evidence about each machine that is not trusted, revoked or in quarantine."""
    with conn.cursor(row_factory=class_row(Evidence)) as cur:
        return cur.execute(
            "select c.id as machine_id, (select count(*) from machine_mismatches f"
            "   where f.machine_id = c.id and f.found_at > c.judged_from)::int as mismatches,"
            " count(s.is_different)::int as samples,"
            " count(*) filter (where s.is_different)::int as different,"
            " coalesce(array_agg(s.log_time_ratio) filter (where s.log_time_ratio is not null),"
            "   '{}') as log_time_ratios"
            " from machines c left join machine_samples s on s.machine_id = c.id"
            "   and s.compared_at is not null and s.created_at > c.judged_from"
            " where c.revoked_at is null and c.quarantined_at is null and c.tier <> 'trusted'"
            " group by c.id order by c.id"
        ).fetchall()


def judge_field(field: Sequence[Evidence]) -> Mapping[MachineId, Residuals]:
    """Judges each machine by the others. Pure."""
    samples, different = (
        sum(one.samples for one in field),
        sum(one.different for one in field),
    )
    means = {
        one.machine_id: fmean(one.log_time_ratios)
        for one in field
        if len(one.log_time_ratios) >= LEAST_TIMES
    }
    return {
        one.machine_id: _judge(
            one,
            (different - one.different + 1) / (samples - one.samples + PRIOR_SAMPLES),
            [mean for machine, mean in means.items() if machine != one.machine_id],
        )
        for one in field
    }


@atomic_function
def judge_machines(conn: Connection) -> list[MachineId]:
    """Puts machines into quarantine and tells all administrators. Returns these machines."""
    found = judge_field(read_evidence(conn))
    condemned = {machine: one.reason for machine, one in found.items() if one.reason is not None}
    for machine, reason in condemned.items():
        machines.quarantine(conn, machine, reason)
    if condemned:
        rows = conn.execute(
            "select id from users where is_admin and erased_at is null order by id"
        ).fetchall()
        admins = [UserId(row[0]) for row in rows]
        record_events(
            conn,
            [
                (
                    NoticeKind.MACHINE_QUARANTINED,
                    EventSubject(user_id=person, details={"machine": machine}),
                )
                for machine in condemned
                for person in admins
            ],
        )
    return list(condemned)


def _judge(one: Evidence, rate: float, others: Sequence[float]) -> Residuals:
    tail = poisson_tail(one.different, one.samples * rate)
    times, residual, sigmas = len(one.log_time_ratios), 0.0, 0.0
    if times >= LEAST_TIMES:
        residual, sigmas = _time_residual(one.log_time_ratios, others)
    reason = None
    if one.mismatches >= MOST_MISMATCHES:
        reason = f"{one.mismatches} results that their replays do not give"
    elif one.different >= LEAST_DIFFERENT and tail < TAIL:
        reason = f"other moves than trusted machines in {one.different} of {one.samples} samples"
    elif abs(residual) > LEAST_TIME_SHARE and abs(sigmas) > TIME_SIGMAS + SMALL_FIELD / max(
        1, len(others)
    ):
        word = "longer" if residual > 0 else "shorter"
        share = abs(exp(residual) - 1)
        reason = f"charged times {share:.0%} {word} than its speed explains, in {times} samples"
    return Residuals(one.samples, one.different, tail, times, residual, sigmas, reason)


def _time_residual(ratios: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """Distance from the other machines, and the same in standard deviations."""
    centre, spread = (median(others), FIRST_SPREAD) if others else (0.0, FIRST_SPREAD)
    if len(others) >= FIELD:
        deviations = [abs(other - centre) for other in others]
        spread = max(LEAST_SPREAD, 1.4826 * median(deviations))
    residual = fmean(ratios) - centre
    return residual, residual / sqrt(spread**2 + stdev(ratios) ** 2 / len(ratios))


def poisson_tail(count: int, mean: float) -> float:
    """Probability of at least ``count`` events."""
    term, below = exp(-mean), 0.0
    for number in range(count):
        below += term
        term *= mean / (number + 1)
    if below < 0.999:
        return 1.0 - below
    tail = 0.0  # summed from its largest term, which keeps its digits
    for number in range(count, count + 200):
        tail += term
        term *= mean / (number + 1)
    return tail
