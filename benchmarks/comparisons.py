"""Simulates comparisons of two versions, looked at after every pair: ``python -m benchmarks
comparisons``.

Agents have a strength and play each game with a normal deviation. Both games of a pair have the
same opponents with the same deviations; the two versions deviate on their own, because they choose
different moves. Peers in the same run: a test of a fixed number of pairs with errors of 5 %, which
knows the variance in advance, and a sequential probability ratio test (SPRT) with errors of 5 %.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from benchmarks.report_tables import aligned, describe_machine
from estimates.comparison import ERROR, STATISTIC, default_pairs, log_capital

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SEATS = (2, 4, 8)
MARGINS_AWAY = (0.0, 1.0, 2.0)
DRAW_ZONE = 0.2  # performances that differ by less share a place
CHUNK = 100
VARIANTS = 20
Z = NormalDist().inv_cdf(1 - ERROR)
HEAD = ("seats", "difference", "better", "not better", "cannot tell", "pairs", "fixed", "of fixed",
        "fixed better", "SPRT", "SPRT better", "target", "met?")  # fmt: skip


@dataclass(frozen=True)
class Ends:
    """How sequential tests ended. Each array has one value for each comparison."""

    better: Bools
    not_better: Bools
    pairs: npt.NDArray[np.int64]


def strength_for(difference: float) -> float:
    """The strength by which a version beats this share more of its opponents than an equal one."""

    def share(strength: float) -> float:
        phi = NormalDist(0, math.sqrt(2)).cdf
        return (phi(strength - DRAW_ZONE) + phi(strength + DRAW_ZONE)) / 2 - 0.5

    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) < difference else (low, middle)
    return low


def played(draw: np.random.Generator, versions: list[float], size: tuple[int, int, int]) -> Array:
    """Shares of opponents beaten, with the shape (versions, comparisons, pairs).

    ``size`` is comparisons, pairs, opponents. All versions meet the same opponents.
    """
    opponents = draw.standard_normal(size, dtype=np.float32)
    shares = []
    for strength in versions:
        own = strength + draw.standard_normal(size[:2], dtype=np.float32)[..., None]
        lead = own - opponents
        beaten = (lead > DRAW_ZONE) + 0.5 * (np.abs(lead) <= DRAW_ZONE)
        shares.append(beaten.mean(axis=-1, dtype=np.float64))
    return np.stack(shares)


def first_true(happened: Bools) -> npt.NDArray[np.int64]:
    """The index of the first pair at which it happened; the number of pairs if never."""
    firsts: npt.NDArray[np.int64] = np.where(
        happened.any(axis=-1), happened.argmax(axis=-1), happened.shape[-1]
    )
    return firsts


def ended(better: Bools, not_better: Bools) -> Ends:
    """Ends at whichever comes first; *better* goes first, as in the verdict."""
    up, down = first_true(better), first_true(not_better)
    most = better.shape[-1]
    first = np.minimum(np.minimum(up, down) + 1, most)
    return Ends((up <= down) & (up < most), down < up, first)


def our_ends(differences: Array, margin: float, variants: int = 1) -> Ends:
    """Our verdicts: the capital that decides them, at 0 and at the margin."""
    above = log_capital(differences, 0.0, margin) >= math.log(variants / ERROR)
    below = log_capital(-differences, -margin, margin) >= math.log(1 / ERROR)
    return ended(above, below)


def sprt_ends(differences: Array, margin: float) -> Ends:
    """The generalised SPRT of a mean of 0 against the margin, with the variance seen so far."""
    count = np.arange(1, differences.shape[-1] + 1)
    mean = np.cumsum(differences, axis=-1) / count
    variance = (np.cumsum(differences**2, axis=-1) + 1) / (count + 1) - mean**2 * count / (
        count + 1
    )
    ratio = count * margin * (mean - margin / 2) / variance
    limit = math.log((1 - ERROR) / ERROR)
    return ended(ratio >= limit, ratio <= -limit)


def rows(seats: int, margin: float, simulated: int) -> Iterator[tuple[str, ...]]:
    """The lines of one number of seats."""
    most = default_pairs(margin)
    draw = np.random.default_rng(seats)
    sample = played(draw, [0.0, strength_for(margin)], (400, 500, seats - 1))
    fixed = math.ceil((2 * Z) ** 2 * float((sample[1] - sample[0]).var()) / margin**2)
    for away in MARGINS_AWAY:
        versions = [0.0, strength_for(away * margin)]
        ours, sprt, z_better = [], [], []
        for _ in range(0, simulated, CHUNK):
            old, new = played(draw, versions, (CHUNK, most, seats - 1))
            differences = new - old
            ours.append(our_ends(differences, margin))
            sprt.append(sprt_ends(differences, margin))
            part = differences[:, :fixed]
            spread = part.std(axis=-1, ddof=1) / math.sqrt(fixed)
            z_better.append(part.mean(axis=-1) > Z * spread)
        better = np.concatenate([each.better for each in ours])
        not_better = np.concatenate([each.not_better for each in ours])
        pairs = float(np.concatenate([each.pairs for each in ours]).mean())
        other = float(np.concatenate([each.pairs for each in sprt]).mean())
        target, met = _target(away, float(better.mean()), pairs / fixed)
        yield (
            str(seats),
            f"{away * margin:g}",
            f"{better.mean():.1%}",
            f"{not_better.mean():.1%}",
            f"{(~better & ~not_better).mean():.1%}",
            f"{pairs:.0f}",
            str(fixed),
            f"{pairs / fixed:.0%}",
            f"{np.concatenate(z_better).mean():.1%}",
            f"{other:.0f}",
            f"{np.concatenate([each.better for each in sprt]).mean():.1%}",
            target,
            met,
        )


def _target(away: float, better: float, of_fixed: float) -> tuple[str, str]:
    if away == 0:
        return "better <= 5 %", "yes" if better <= ERROR else "NO"
    if away == 1:
        held = better >= 1 - ERROR and of_fixed <= 1
        return "better >= 95 %, of fixed <= 100 %", "yes" if held else "NO"
    return "of fixed <= 40 %", "yes" if of_fixed <= 0.4 else "NO"


def series_line(seats: int, margin: float, series: int, declared: bool) -> str:
    """How many series of identical variants give any false *better*. They share the old games."""
    draw = np.random.default_rng(100 + seats)
    fooled = 0
    for _ in range(series):
        games = played(draw, [0.0] * (VARIANTS + 1), (1, default_pairs(margin), seats - 1))
        differences = games[1:, 0] - games[0, 0]
        ends = our_ends(differences, margin, VARIANTS if declared else 1)
        fooled += bool(ends.better.any())
    share = fooled / series
    kind = "declared" if declared else "not declared"
    met = f"   target <= 5 %: {'yes' if share <= ERROR else 'NO'}" if declared else ""
    return f"{seats} seats, series {kind}: any false better in {share:.1%} of {series} series{met}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--margin", type=float, default=0.1)
    options.add_argument("--comparisons", type=int, default=2_000)
    options.add_argument("--series", type=int, default=500)
    chosen = options.parse_args()
    began = time.monotonic()
    most = default_pairs(chosen.margin)
    print(f"Comparisons of two versions: {describe_machine()}")
    print(f"statistic: {STATISTIC}")
    print(f"{chosen.comparisons} simulated, margin {chosen.margin:g}, at most {most} pairs\n")
    lines: list[tuple[str, ...]] = [HEAD]
    for seats in SEATS:
        lines += rows(seats, chosen.margin, chosen.comparisons)
    print(aligned(lines))
    print(f"\nSeries of {VARIANTS} variants that are no better, margin {chosen.margin:g}:")
    for declared in (True, False):
        print(series_line(2, chosen.margin, chosen.series, declared))
    print(f"\ntook {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
