"""How far each machine that is not trusted strays from the others, and quarantine.

Three things put a machine into quarantine: results that their replays do not give, samples with
other moves than both controls, and charged times that are longer or shorter than those of the
controls. The other machines say how often that happens by itself.

An honest machine strays a little in times, for example because its speed was measured badly. More
samples do not make that smaller, so the spread between machines decides, not the number of samples.
The limits depend on the number of machines: a season expects FALSE_ALARMS honest machines in
quarantine, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, sqrt
from statistics import NormalDist, fmean, median, variance
from typing import Final

import numpy as np
from psycopg.rows import class_row

from estimates.intervals import expand_student_quantile
from ladder.database.db import Connection, atomic_function
from ladder.ids import MachineId, UserId
from ladder.machines import machines
from ladder.notices.events import EventSubject, record_events
from ladder.notices.kinds import NoticeKind

MOST_MISMATCHES: Final = 3
"""Results that their replays do not give. An honest machine has none."""
FALSE_ALARMS: Final = 0.2
"""Honest machines in quarantine that a season may expect, half for moves and half for times."""
LATEST: Final = 60
"""Latest samples of a machine that count: who begins to lie is found as soon as a new machine."""
LEAST_DIFFERENT: Final = 3
"""Different samples below which nobody is put into quarantine."""
LOOKS: Final = 10
"""A machine is judged after each sample. For moves that is as bad as so many independent tests."""
PRIOR_SAMPLES: Final = 1000
"""One different sample among so many is assumed before any is seen."""
LEAST_TIMES: Final = 20
"""Compared times before a machine is judged by them."""
LEAST_TIME_SHARE: Final = 0.09
"""Smaller differences of charged time, as natural logarithms, are no reason."""
LEAST_SPREAD: Final = 0.02
"""Standard deviation between honest machines, if the others seem to have less."""
FIELD: Final = 8
"""Other machines from which their spread can be estimated."""
FIRST_SPREAD: Final = 0.03
"""Assumed spread of a smaller field."""
FIRST_SIGMAS: Final = 3.5
SMALL_FIELD: Final = 10.0
"""Divided by the number of other machines, this is added to FIRST_SIGMAS in a smaller field, whose
centre is uncertain."""
BIWEIGHT: Final = 9.0
"""Distance from the median, in median distances, from which a machine does not count in the
spread. Tukey's biweight keeps most of the information, and liars hardly change it."""
EFFICIENCY: Final = 0.75
"""Degrees of freedom of the spread for each other machine."""


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
class TimeRatios:
    """The compared times of a machine."""

    mean: float
    variance: float
    """Of the mean, from the differences between samples."""


@dataclass(frozen=True, slots=True)
class Residuals:
    """A machine beside the field."""

    tail: float
    """Probability of so many different samples by chance."""
    time_residual: float
    """Mean logarithm of the time ratio, less the median of the other machines."""
    time_sigmas: float
    reason: str | None = None
    """Why the machine goes into quarantine. None: it stays."""


def read_evidence(conn: Connection) -> list[Evidence]:
    """The latest evidence about each machine that is not trusted, revoked or in quarantine."""
    with conn.cursor(row_factory=class_row(Evidence)) as cur:
        return cur.execute(
            "select c.id as machine_id, (select count(*) from machine_mismatches f"
            "   where f.machine_id = c.id and f.found_at > c.judged_from)::int as mismatches,"
            " count(s.is_different)::int as samples,"
            " count(*) filter (where s.is_different)::int as different,"
            " coalesce(array_agg(s.log_time_ratio) filter (where s.log_time_ratio is not null),"
            "   '{}') as log_time_ratios"
            " from machines c left join lateral (select is_different, log_time_ratio"
            "   from machine_samples where machine_id = c.id and compared_at is not null"
            "   and created_at > c.judged_from order by compared_at desc limit %s) s on true"
            " where c.revoked_at is null and c.quarantined_at is null and c.tier <> 'trusted'"
            " group by c.id order by c.id",
            (LATEST,),
        ).fetchall()


def judge_field(field: Sequence[Evidence]) -> Mapping[MachineId, Residuals]:
    """Judges each machine by the others. Pure."""
    samples, different = (
        sum(one.samples for one in field),
        sum(one.different for one in field),
    )
    times = {
        one.machine_id: TimeRatios(
            fmean(one.log_time_ratios), variance(one.log_time_ratios) / len(one.log_time_ratios)
        )
        for one in field
        if len(one.log_time_ratios) >= LEAST_TIMES
    }
    level = FALSE_ALARMS / 2 / max(1, len(field))
    found = {}
    for one in field:
        rate = (different - one.different + 1) / (samples - one.samples + PRIOR_SAMPLES)
        own = times.get(one.machine_id)
        others = [ratios for machine, ratios in times.items() if machine != one.machine_id]
        residual, sigmas = (0.0, 0.0) if own is None else _time_residual(own, others)
        seen = Residuals(poisson_tail(one.different, one.samples * rate), residual, sigmas)
        reason = _reason(one, seen, level / LOOKS, _most_sigmas(level, len(others)))
        found[one.machine_id] = replace(seen, reason=reason)
    return found


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


def _reason(one: Evidence, seen: Residuals, least_tail: float, most_sigmas: float) -> str | None:
    """Why the machine goes into quarantine."""
    if one.mismatches >= MOST_MISMATCHES:
        return f"{one.mismatches} results that their replays do not give"
    if one.different >= LEAST_DIFFERENT and seen.tail < least_tail:
        return f"other moves than trusted machines in {one.different} of {one.samples} samples"
    if abs(seen.time_residual) > LEAST_TIME_SHARE and abs(seen.time_sigmas) > most_sigmas:
        word = "longer" if seen.time_residual > 0 else "shorter"
        share, times = abs(exp(seen.time_residual) - 1), len(one.log_time_ratios)
        return f"charged times {share:.0%} {word} than its speed explains, in {times} samples"
    return None


def _time_residual(own: TimeRatios, others: Sequence[TimeRatios]) -> tuple[float, float]:
    """Distance from the other machines, and the same in standard deviations."""
    centre, spread = median([one.mean for one in others]) if others else 0.0, FIRST_SPREAD
    if len(others) >= FIELD:
        seen = biweight([one.mean for one in others]) ** 2
        spread = max(LEAST_SPREAD, sqrt(max(0.0, seen - median(one.variance for one in others))))
    residual = own.mean - centre
    return residual, residual / sqrt(spread**2 + own.variance)


def _most_sigmas(level: float, others: int) -> float:
    """Standard deviations of which an honest machine has more with this probability."""
    if others < FIELD:
        return FIRST_SIGMAS + SMALL_FIELD / max(1, others)
    return student_quantile(1.0 - level / 2, EFFICIENCY * others)


def biweight(values: Sequence[float]) -> float:
    """A standard deviation that values far away do not change (Tukey's biweight midvariance)."""
    seen = np.asarray(values)
    away = seen - np.median(seen)
    unit = BIWEIGHT * float(np.median(np.abs(away)))
    if unit == 0.0:
        return 0.0
    shares = 1.0 - np.minimum((away / unit) ** 2, 1.0)
    weights = (shares * (5.0 * shares - 4.0))[shares > 0.0]
    return float(sqrt(len(seen) * np.sum(away**2 * shares**4)) / abs(np.sum(weights)))


def student_quantile(probability: float, degrees: float) -> float:
    """Quantile of Student's t. Good to 2 % from 6 degrees on."""
    return expand_student_quantile(NormalDist().inv_cdf(probability), degrees)


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
