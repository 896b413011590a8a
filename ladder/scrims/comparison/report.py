"""The report of a comparison, in the form that the command line and the API print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ladder.scrims.comparison import analysis, normalized_elo
from ladder.scrims.comparison.analysis import Gain, PlayedPair, Side
from ladder.scrims.comparison.verdicts import STATISTIC, Picture, Rule, Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a comparison so far."""

    verdict: Verdict | None
    """None while it runs."""
    statistic: str
    margin: float
    variants: int
    pairs: int
    most_pairs: int
    difference: float | None
    """Mean difference of the share of opponents beaten, new less old, from -1 to 1."""
    low: float
    high: float
    replayed_pairs: int
    """Pairs that were played again after a fault of a host."""
    old: Side | None
    new: Side | None
    seats: tuple[Gain, ...]
    opponents: tuple[Gain, ...]
    log_likelihood_ratio: float | None
    """Of a normalised Elo of 2 against 0, for two seats. It decides nothing."""


def report_of(
    pairs: Sequence[PlayedPair], picture: Picture, rule: Rule, replayed_pairs: int = 0
) -> Report:
    """Returns the report of these pairs, which ``picture`` describes."""
    both = analysis.sides(pairs)
    two_seats = bool(pairs) and len(pairs[0].old.placements) == 2
    counts = normalized_elo.pair_counts([pair.difference for pair in pairs]) if two_seats else []
    return Report(
        verdict=picture.verdict,
        statistic=STATISTIC,
        margin=rule.margin,
        variants=rule.variants,
        pairs=picture.pairs,
        most_pairs=rule.most_pairs,
        difference=picture.difference,
        low=picture.low,
        high=picture.high,
        replayed_pairs=replayed_pairs,
        old=both[0] if both else None,
        new=both[1] if both else None,
        seats=tuple(analysis.gains_by_seat(pairs)),
        opponents=tuple(analysis.gains_by_opponent(pairs)),
        log_likelihood_ratio=normalized_elo.log_likelihood_ratio(counts) if two_seats else None,
    )
