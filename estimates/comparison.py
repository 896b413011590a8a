"""Decides whether a new version is better. The command line, the API and the pages use this rule.

*Better*: the lower bound of the mean difference is above 0. *Not better*: the upper bound is below
the margin. *Cannot tell*: neither happened within the allowed pairs.

The bounds come from a confidence sequence for the mean of paired differences. It may be looked at
after every pair. For each possible mean, a bettor with a capital of 1 bets that the true mean is
larger. At the true mean no strategy earns: the chance that the capital ever reaches ``1 / error``
is at most ``error`` (Ville's inequality). So all means at which it reached that are excluded, at
any time.

Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
betting", Journal of the Royal Statistical Society B 86 (2024), section 4. Their stakes aim at the
shortest interval; ours aim at the margin, because only two means decide: 0 and the margin.

For two seats the generalised sequential probability ratio test in normalised Elo is shown beside
the verdict, for people who know it from chess engines. It decides nothing. A pair has one of five
results (pentanomial), or a game one of three. The likelihood is maximised under each hypothesis:
Van den Bergh, "Comments on normalized Elo" (hardy.uhasselt.be/Fishtest).

Seat and opponents are drawn at random for each pair. So all pairs have the same mean difference,
which the confidence sequence needs: fixed turns would let it depend on the number of the pair. The
figures by seat, by opponent and by cost help to find out why. They decide nothing: their intervals
hold once, not at each look, and among many seats and opponents some differ by chance.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import log, sqrt
from random import Random
from statistics import fmean, stdev
from typing import Final

import numpy as np
import numpy.typing as npt

from estimates.intervals import half_width

Array = npt.NDArray[np.float64]

AIMS: Final = ((0.5, 0.25), (1.0, 0.5), (2.0, 0.25))
"""Bettors: the difference that each expects, in margins, and its share of the capital."""
MOST_LOST: Final = 0.75
"""Largest share of the capital that one pair can cost."""
HALVINGS: Final = 24  # a bound is exact to 2 ** -23


def log_capital(differences: Array, mean: float, margin: float) -> Array:
    """Returns the logarithm of the capital after each pair, of bets that the mean is larger.

    ``differences`` has the shape (..., pairs), each in [-1, 1], and so has the result. A larger
    ``mean`` never gives a larger capital. A stake depends on earlier pairs only.
    """
    before = np.arange(1, differences.shape[-1] + 1)  # pairs before this one, and one assumed pair
    squares = _sum_before(differences**2) + 1.0
    variance = squares / before - (_sum_before(differences) / before) ** 2
    logs = []
    for aim, share in AIMS:
        expected = aim * margin
        stake = np.minimum(expected / (variance + expected**2), MOST_LOST / (1.0 + mean))
        logs.append(np.log(share) + np.cumsum(np.log1p(stake * (differences - mean)), axis=-1))
    total: Array = np.logaddexp.reduce(np.stack(logs), axis=0)
    return total


def lower_bound(differences: Array, margin: float, error: float, decisive: float) -> float:
    """Returns a bound that at every pair is below the true mean, except with chance ``error``.

    ``differences`` has the shape (pairs,). ``decisive`` is the mean that a verdict asks about: the
    bound is larger than it exactly if the capital at this mean ever reached ``1 / error``.
    """
    if not len(differences):
        return -1.0
    limit = -np.log(error)
    low, high, middle = -1.0, 1.0, decisive
    for _ in range(HALVINGS):
        if log_capital(differences, middle, margin).max() >= limit:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return -1.0 if low == -1.0 else high


def upper_bound(differences: Array, margin: float, error: float, decisive: float) -> float:
    """Returns a bound above the true mean, as ``lower_bound`` returns one below it."""
    return -lower_bound(-differences, margin, error, -decisive)


def _sum_before(values: Array) -> Array:
    """The sum of the values before each one."""
    return np.cumsum(values, axis=-1) - values


ELO_OF_T: Final = 800 / log(10)
"""Normalised Elo of one standard deviation of a game."""
BOUNDS: Final = (0.0, 2.0)
SMALLEST_COUNT: Final = 1e-3  # stands for a result that never happened


def log_likelihood_ratio(counts: Sequence[int], elo: tuple[float, float] = BOUNDS) -> float:
    """Returns the log-likelihood ratio of normalised Elo ``elo[1]`` against ``elo[0]``.

    ``counts`` are results from worst to best: five for pairs of games, three for single games.
    """
    if len(counts) not in (3, 5):
        raise ValueError(f"give three or five counts, not {len(counts)}")
    total = sum(counts)
    if not total:
        return 0.0
    shares = np.maximum(np.asarray(counts, dtype=np.float64), SMALLEST_COUNT) / total
    scores = np.linspace(0.0, 1.0, len(counts))
    of_pair = sqrt(2) if len(counts) == 5 else 1.0  # a pair has two games
    null, other = (_most_likely(scores, shares, bound / ELO_OF_T * of_pair) for bound in elo)
    return float(total * np.sum(shares * np.log(other / null)))


def pair_counts(differences: Sequence[float]) -> list[int]:
    """Returns how many pairs gave each of the differences -1, -0.5, 0, 0.5 and 1."""
    counts = [0] * 5
    for difference in differences:
        counts[round(2 * difference) + 2] += 1
    return counts


def _most_likely(scores: Array, shares: Array, deviations: float) -> Array:
    """The likeliest distribution whose mean is ``deviations`` standard deviations above 0.5."""
    chances = np.full(len(scores), 1 / len(scores))
    for _ in range(100):
        mean = float(chances @ scores)
        spread = sqrt(float(chances @ (scores - mean) ** 2))
        slopes = scores - 0.5 - deviations * spread * (1 + ((mean - scores) / spread) ** 2) / 2
        weight = _root(lambda x, a=slopes: float(np.sum(shares * a / (1 + x * a))), slopes)  # type: ignore[misc]
        last, chances = chances, shares / (1 + weight * slopes)
        if np.abs(chances - last).max() < 1e-12:
            break
    return chances


def _root(falls: Callable[[float], float], slopes: Array) -> float:
    """The zero of a falling function between its poles."""
    low, high = -1 / float(slopes.max()), -1 / float(slopes.min())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) > 0 else (low, middle)
    return (low + high) / 2


STATISTIC: Final = "betting confidence sequence of the paired difference"
ERROR: Final = 0.05
"""Chance of a false *better*, and chance of a false *not better*."""
MARGIN: Final = 0.1
LEAST_MARGIN: Final = 0.01
MOST_MARGIN: Final = 0.5
MOST_PAIRS: Final = 100_000
MOST_VARIANTS: Final = 1_000


class Verdict(StrEnum):
    """The answer to "is the new version better?"."""

    BETTER = "better"
    """The lower bound of the difference is above 0."""
    NOT_BETTER = "not_better"
    """The upper bound of the difference is below the margin."""
    CANNOT_TELL = "cannot_tell"
    """The pairs were used up before either bound decided."""


EXIT_STATUS: Final = {Verdict.BETTER: 0, Verdict.NOT_BETTER: 1, Verdict.CANNOT_TELL: 3}


def default_pairs(margin: float) -> int:
    """Returns the pairs after which a comparison gives up, if nobody chose a number.

    Of differences with a variance of 0.5 or less, 99 % are decided by then.
    """
    return math.ceil(15 / margin**2)


class RuleError(ValueError):
    """A number of a rule is out of range. The message names its field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message = field, message


@dataclass(frozen=True, slots=True)
class Rule:
    """What decides a comparison. Raises RuleError for numbers out of range."""

    margin: float = MARGIN
    """Difference that matters, as a share of the opponents beaten."""
    most_pairs: int = default_pairs(MARGIN)
    variants: int = 1
    """Variants in the declared series. All of them together give a false *better* in 5 %."""

    def __post_init__(self) -> None:
        if not LEAST_MARGIN <= self.margin <= MOST_MARGIN:
            limits = f"from {LEAST_MARGIN} to {MOST_MARGIN}"
            raise RuleError("margin", f"must be {limits}; it is {self.margin:g}")
        if not 1 <= self.most_pairs <= MOST_PAIRS:
            raise RuleError("pairs", f"must be from 1 to {MOST_PAIRS}; it is {self.most_pairs}")
        if not 1 <= self.variants <= MOST_VARIANTS:
            raise RuleError("variants", f"must be from 1 to {MOST_VARIANTS}; it is {self.variants}")


@dataclass(frozen=True, slots=True)
class Picture:
    """What is known after some pairs. Differences are shares of the opponents beaten, -1 to 1."""

    pairs: int
    difference: float | None
    """Mean of the differences so far; None before the first pair."""
    low: float
    high: float
    verdict: Verdict | None
    """None while more pairs can decide."""


def picture_after(differences: Sequence[float], rule: Rule) -> Picture:
    """Returns what the pairs say so far. The bounds never widen as pairs are added."""
    values = np.asarray(differences, dtype=np.float64)
    low = lower_bound(values, rule.margin, ERROR / rule.variants, 0.0)
    high = upper_bound(values, rule.margin, ERROR, rule.margin)
    verdict = None
    if low > 0:
        verdict = Verdict.BETTER
    elif high < rule.margin:
        verdict = Verdict.NOT_BETTER
    elif len(values) >= rule.most_pairs:
        verdict = Verdict.CANNOT_TELL
    mean = float(values.mean()) if len(values) else None
    return Picture(len(values), mean, low, high, verdict)


@dataclass(slots=True)
class RunningComparison:
    """The pictures after each pair so far. Takes no pair after the verdict."""

    rule: Rule
    differences: list[float] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)

    @property
    def now(self) -> Picture:
        return self.pictures[-1] if self.pictures else picture_after((), self.rule)

    def add(self, difference: float) -> Picture:
        """Adds one pair's difference, from -1 to 1."""
        self.differences.append(difference)
        self.pictures.append(picture_after(self.differences, self.rule))
        return self.pictures[-1]


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
    counts = pair_counts([pair.difference for pair in pairs]) if two_seats else []
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
        log_likelihood_ratio=log_likelihood_ratio(counts) if two_seats else None,
    )
