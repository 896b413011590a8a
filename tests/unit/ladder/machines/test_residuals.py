"""Machines are judged by the others: liars go into quarantine, odd hardware does not."""

from __future__ import annotations

from random import Random

import pytest

from ladder.ids import MachineId
from ladder.machines.residuals import (
    Evidence,
    biweight,
    judge_field,
    poisson_tail,
    student_quantile,
)


def field(*odd: Evidence, machines: int = 20, spread: float = 0.02) -> list[Evidence]:
    """Honest machines and these."""
    draw = Random(1)
    honest = []
    for number in range(machines - len(odd)):
        offset = draw.gauss(0.0, spread)
        times = [draw.gauss(offset, 0.06) for _ in range(75)]
        honest.append(Evidence(MachineId(f"{number}"), 0, 75, int(number == 0), times))
    return [*honest, *odd]


def odd(*, mismatches: int = 0, different: int = 0, log_ratio: float = 0.0) -> Evidence:
    times = [log_ratio + 0.01 * (number % 3 - 1) for number in range(60)]
    return Evidence(MachineId("odd"), mismatches, 60 + different, different, times)


@pytest.mark.parametrize(
    ("evidence", "word"),
    [
        (odd(mismatches=3), "replays"),
        (odd(different=6), "moves"),
        (odd(log_ratio=0.14), "15% longer"),
        (odd(log_ratio=-0.22), "20% shorter"),
    ],
)
def test_a_liar_goes_into_quarantine(evidence: Evidence, word: str) -> None:
    reasons = {key: one.reason for key, one in judge_field(field(evidence)).items() if one.reason}
    assert list(reasons) == ["odd"]
    assert word in reasons[MachineId("odd")]


@pytest.mark.parametrize(
    "evidence",
    [odd(), odd(mismatches=2), odd(different=2), odd(log_ratio=0.05), odd(log_ratio=-0.05)],
)
def test_small_differences_are_no_reason(evidence: Evidence) -> None:
    assert not any(one.reason for one in judge_field(field(evidence)).values())


def test_a_machine_alone_is_judged_too() -> None:
    assert judge_field([odd(log_ratio=0.3)])[MachineId("odd")].reason is None
    assert judge_field([odd(different=20)])[MachineId("odd")].reason is not None


def test_differences_of_the_whole_field_are_nobodys_lie() -> None:
    everybody = [Evidence(MachineId(f"{n}"), 0, 100, 10, []) for n in range(20)]
    assert not any(one.reason for one in judge_field(everybody).values())


def test_poisson_tail() -> None:
    assert poisson_tail(0, 3.0) == 1.0
    assert poisson_tail(1, 0.5) == pytest.approx(0.3934693)
    assert poisson_tail(10, 0.1) == pytest.approx(2.5e-17, rel=0.02)
    assert poisson_tail(3, 0.0) == 0.0


@pytest.mark.parametrize("machines", [20, 200])
def test_honest_machines_that_stray_by_5_percent_stay(machines: int) -> None:
    assert not any(
        one.reason for one in judge_field(field(machines=machines, spread=0.05)).values()
    )


def test_liars_hardly_change_the_spread() -> None:
    draw = Random(1)
    honest = [draw.gauss(0.0, 0.02) for _ in range(19)]
    assert biweight(honest) == pytest.approx(0.02, rel=0.4)
    assert biweight([*honest, 0.14, 0.4]) < 1.3 * biweight(honest)
    assert biweight([0.1] * 9) == 0.0


@pytest.mark.parametrize(
    ("probability", "degrees", "quantile"),
    [(0.975, 8.0, 2.306), (0.999, 15.0, 3.733), (0.9995, 150.0, 3.357)],
)
def test_student_quantile(probability: float, degrees: float, quantile: float) -> None:
    assert student_quantile(probability, degrees) == pytest.approx(quantile, rel=0.01)
