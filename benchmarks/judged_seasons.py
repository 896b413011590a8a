"""Seasons of samples from chance, judged by the function that judges machines.

An honest machine has another speed than it measured, by a standard deviation of 1 to 5 %, and one
sample in 1,000 differs by itself. Each machine plays 500 matches, or twice as many if its liars
begin late. The field is judged after every 20 matches of each machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from random import Random
from typing import Final

from benchmarks.report_tables import aligned, quantile
from ladder.ids import MachineId
from ladder.machines import residuals, samples
from ladder.machines.residuals import Evidence

LIAR, STRETCHER = 3, 7
FLIPPED: Final = 0.1
STRETCHED: Final = 1.15
HONEST_DIFFERENT: Final = 0.001
NOISE: Final = 0.06
"""Standard deviation of a sample's logarithm of the time ratio."""
MATCHES: Final = 500
STEP: Final = 20


@dataclass(frozen=True)
class Kind:
    """A kind of season."""

    machines: int
    spread: float
    """Standard deviation between a machine's speed and the speed that it measured."""
    has_liars: bool = True
    lies_from: int = 0
    """Matches of a liar before it begins to lie."""
    tail: float = inf
    """Degrees of freedom of Student's t, from which the spread is drawn. inf: normal."""

    def offset(self, draw: Random) -> float:
        value = draw.gauss(0.0, self.spread)
        if self.tail == inf:
            return value
        chi = draw.gammavariate(self.tail / 2, 2.0)
        return value * sqrt((self.tail - 2) / chi)


SEASONS: Final = [
    *(Kind(number, spread) for number in (20, 200) for spread in (0.01, 0.02, 0.03, 0.05)),
    *(Kind(number, 0.02, lies_from=MATCHES) for number in (20, 200)),
    *(Kind(200, spread, has_liars=False) for spread in (0.01, 0.02, 0.03, 0.05)),
    *(Kind(200, spread, has_liars=False, tail=5.0) for spread in (0.01, 0.02, 0.03)),
]


def judge(count: int) -> int:
    """Judges so many seasons of each kind. Returns how many aims they missed."""
    if not count:
        return 0
    rows: list[tuple[str, ...]] = [
        ("machines", "spread", "liars", "flips: caught", "median, worst", "charges: caught",
         "median, worst", "false", "most", "2 or more")
    ]  # fmt: skip
    missed = 0
    for kind in SEASONS:
        found = [judge_season(kind, Random(seed)) for seed in range(count)]
        false = [len(one.keys() - ({LIAR, STRETCHER} if kind.has_liars else ())) for one in found]
        liars = "none" if not kind.has_liars else "late" if kind.lies_from else "always"
        rows.append(
            (
                f"{kind.machines}",
                f"{kind.spread:.0%}" + ("" if kind.tail == inf else " heavy"),
                liars,
                *(_caught(kind, [one.get(LIAR) for one in found])),
                *(_caught(kind, [one.get(STRETCHER) for one in found])),
                f"{sum(false) / count:.2f}",
                f"{max(false)}",
                f"{sum(one > 1 for one in false) / count:.0%}",
            )
        )
        missed += sum(false) > count
    print(
        f"\nThe function that judges, over {count} seasons with {MATCHES} matches of each machine"
        " in which liars lie.\nspread: of honest machines around the speed that they measured;"
        " heavy: by Student's t with 5 degrees;\n"
        f"late: liars are honest for {MATCHES} matches before; caught: share of seasons;"
        " median, worst: matches with lies\nuntil quarantine; false: honest machines in quarantine"
        " in a season, the most, and seasons with 2 or more"
    )
    print(aligned(rows))
    return missed


def _caught(kind: Kind, found: Sequence[int | None]) -> tuple[str, str]:
    if not kind.has_liars:
        return "-", "-"
    after = sorted(one - kind.lies_from for one in found if one is not None)
    words = f"{quantile(after, 0.5):.0f}, {after[-1]}" if after else "-"
    return f"{len(after) / len(found):.0%}", words


def judge_season(kind: Kind, draw: Random) -> dict[int, int]:
    """Matches of each machine in quarantine before it went there."""
    offsets = [kind.offset(draw) for _ in range(kind.machines)]
    field = [Evidence(MachineId(f"{n}"), 0, 0, 0, []) for n in range(kind.machines)]
    seen: list[list[float | None]] = [[] for _ in field]
    caught: dict[int, int] = {}
    for matches in range(STEP, kind.lies_from + MATCHES + 1, STEP):
        lies = kind.has_liars and matches > kind.lies_from
        for n, samples_of in enumerate(seen):
            if n in caught:
                continue
            share = samples.SUSPECTED_SHARE if None in samples_of else samples.REPEAT_SHARE
            count = sum(draw.random() < share + samples.CANARY_SHARE for _ in range(STEP))
            flips = FLIPPED if lies and n == LIAR else HONEST_DIFFERENT
            stretch = log(STRETCHED) if lies and n == STRETCHER else 0.0
            for _ in range(count):
                is_different = draw.random() < flips
                samples_of.append(None if is_different else draw.gauss(offsets[n] + stretch, NOISE))
            latest = samples_of[-residuals.LATEST :]
            times = [one for one in latest if one is not None]
            field[n] = Evidence(
                field[n].machine_id, 0, len(latest), len(latest) - len(times), times
            )
        judged = residuals.judge_field([one for n, one in enumerate(field) if n not in caught])
        caught |= {int(key): matches for key, one in judged.items() if one.reason is not None}
    return caught
