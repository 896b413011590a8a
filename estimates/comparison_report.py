"""Draws the pairs of a comparison, scores their games, and reports where two versions differ.

Seat and opponents are drawn at random for each pair. So all pairs have the same mean difference,
which the confidence sequence needs: fixed turns would let it depend on the number of the pair.

The figures by seat, by opponent and by cost help to find out why. They decide nothing: their
intervals hold once, not at each look, and among many seats and opponents some differ by chance.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import fmean, stdev
from typing import Final

from estimates import comparison
from estimates.comparison import STATISTIC, Picture, Rule, Verdict
from estimates.intervals import half_width


@dataclass(frozen=True, slots=True)
class PairPlan:
    """How both games of a pair are played."""

    number: int
    """Number in the comparison, from 1."""
    seed: bytes
    seat: int
    """Seat of the old version in one game and of the new version in the other."""
    opponents: tuple[int, ...]
    """Index of the opponent in each other seat, in order."""

    def lineup(self, version: int) -> tuple[int, ...]:
        """Returns the index in each seat, with this version in its seat."""
        return (*self.opponents[: self.seat], version, *self.opponents[self.seat :])


def plan_pair(seed: bytes, number: int, seats: int, opponents: int) -> PairPlan:
    """Draws a pair for ``seats`` seats. The same arguments give the same pair.

    ``seed`` is the comparison's. Each opponent sits at most once, if there are enough of them.
    """
    digest = hashlib.sha256(seed + b"pair%d" % number).digest()
    chance = Random(digest[16:])  # noqa: S311 (both games use the same draw; nothing is secret)
    seat = chance.randrange(seats)
    drawn: list[int] = []
    while len(drawn) < seats - 1:
        drawn += chance.sample(range(opponents), min(opponents, seats - 1 - len(drawn)))
    return PairPlan(number, digest[:16], seat, tuple(drawn))


def share_beaten(placements: Sequence[int], seat: int) -> float:
    """Returns the share of the opponents that this seat beat; a shared place counts half."""
    own = placements[seat]
    others = [place for other, place in enumerate(placements) if other != seat]
    return sum((place > own) + (place == own) / 2 for place in others) / len(others)


DESCRIBED: Final = {"use_attribute_docstrings": True}
"""For ``__pydantic_config__`` of a record that the API answers."""
LEAST_PAIRS: Final = 10
"""Fewer pairs give no interval: their spread is hardly known."""


@dataclass(frozen=True, slots=True)
class GameOfPair:
    """One of the two games of a pair, as the compared version played it."""

    placements: tuple[int, ...]
    """By seat."""
    fault: bool
    """Whether the compared version made a fault."""
    charged_seconds: float
    max_move_seconds: float
    moves: int | None = None
    """Answers of the compared version; None if nobody counted them."""


@dataclass(frozen=True, slots=True)
class PlayedPair:
    """A pair of which both games ended."""

    number: int
    seat: int
    opponents: tuple[str, ...]
    """Name of the opponent in each other seat, in order."""
    old: GameOfPair
    new: GameOfPair

    @property
    def difference(self) -> float:
        """By how much larger a share of the opponents the new version beat, from -1 to 1."""
        return share_beaten(self.new.placements, self.seat) - share_beaten(
            self.old.placements, self.seat
        )


@dataclass(frozen=True, slots=True)
class Gain:
    """How both versions did in one seat, or against one opponent. The interval decides nothing."""

    __pydantic_config__ = DESCRIBED
    name: str
    games: int
    """Pairs in this seat, or pairs in which this opponent sat."""
    old: float
    """Share beaten by the old version, from 0 to 1."""
    new: float
    low: float | None
    """Lower end of the 95 % interval of the difference. None: so few or equal pairs have none."""
    high: float | None


@dataclass(frozen=True, slots=True)
class Side:
    """How one version did over all pairs."""

    __pydantic_config__ = DESCRIBED
    score: float
    """Mean share of the opponents beaten."""
    faults: int
    mean_move_seconds: float | None
    """Charged time for each move; None if nobody counted the moves."""
    longest_move_seconds: float


def gains_by_seat(pairs: Sequence[PlayedPair]) -> list[Gain]:
    """Returns the gain in each seat that was played, first seat first."""
    results: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for pair in pairs:
        old, new = (share_beaten(game.placements, pair.seat) for game in (pair.old, pair.new))
        results[pair.seat].append((old, new))
    return [_gain(f"seat {seat}", results[seat]) for seat in sorted(results)]


def gains_by_opponent(pairs: Sequence[PlayedPair]) -> list[Gain]:
    """Returns the gain against each opponent, largest loss first."""
    results: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for pair in pairs:
        others = [seat for seat in range(len(pair.old.placements)) if seat != pair.seat]
        met: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for name, seat in zip(pair.opponents, others, strict=True):
            old, new = (_beaten(game.placements, pair.seat, seat) for game in (pair.old, pair.new))
            met[name].append((old, new))
        for name, values in met.items():
            results[name].append((fmean(v[0] for v in values), fmean(v[1] for v in values)))
    gains = [_gain(name, values) for name, values in results.items()]
    return sorted(gains, key=lambda gain: (gain.new - gain.old, gain.name))


def sides(pairs: Sequence[PlayedPair]) -> tuple[Side, Side] | None:
    """Returns the old and the new version's side; None without pairs."""
    if not pairs:
        return None
    return (
        _side([(pair.old, pair.seat) for pair in pairs]),
        _side([(pair.new, pair.seat) for pair in pairs]),
    )


def most_telling(pairs: Iterable[PlayedPair], most: int) -> list[PlayedPair]:
    """Returns the pairs with the largest differences, lost ones first."""
    uneven = [pair for pair in pairs if pair.difference]
    uneven.sort(key=lambda pair: (-abs(pair.difference), pair.difference, pair.number))
    return uneven[:most]


def _side(games: Sequence[tuple[GameOfPair, int]]) -> Side:
    moves = [game.moves for game, _ in games if game.moves is not None]
    all_counted = len(moves) == len(games) and sum(moves) > 0
    return Side(
        score=fmean(share_beaten(game.placements, seat) for game, seat in games),
        faults=sum(game.fault for game, _ in games),
        mean_move_seconds=(
            sum(game.charged_seconds for game, _ in games) / sum(moves) if all_counted else None
        ),
        longest_move_seconds=max(game.max_move_seconds for game, _ in games),
    )


def _beaten(placements: Sequence[int], own: int, other: int) -> float:
    return (placements[other] > placements[own]) + (placements[other] == placements[own]) / 2


def _gain(name: str, results: Sequence[tuple[float, float]]) -> Gain:
    old, new = fmean(old for old, _ in results), fmean(new for _, new in results)
    differences = [new - old for old, new in results]
    if len(results) < LEAST_PAIRS or min(differences) == max(differences):
        return Gain(name, len(results), old, new, None, None)
    half = half_width(stdev(differences)) / sqrt(len(results))
    low, high = max(-1.0, new - old - half), min(1.0, new - old + half)
    return Gain(name, len(results), old, new, low, high)


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
    both = sides(pairs)
    two_seats = bool(pairs) and len(pairs[0].old.placements) == 2
    counts = comparison.pair_counts([pair.difference for pair in pairs]) if two_seats else []
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
        seats=tuple(gains_by_seat(pairs)),
        opponents=tuple(gains_by_opponent(pairs)),
        log_likelihood_ratio=comparison.log_likelihood_ratio(counts) if two_seats else None,
    )
