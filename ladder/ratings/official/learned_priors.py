"""Learns the priors of a fit, places the frames of its messages, and rates the faults.

Most resubmissions play almost like their parent, and a few play very differently. So the fit models
the change of skill by Student's t distribution, which allows rare large changes. As soon as the
games contradict the parent's mean, that mean loses most of its weight. If the fault rates of a
resubmission and its parent differ much, the parent's mean is not used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.message_passing import (
    GameGraph,
    connected_components,
    pass_fault_messages,
    sum_by_contender,
)

Floats = NDArray[np.float64]

TYPICAL_SPREAD: Final = 1.0
TYPICAL_WEIGHT: Final = 4.0
"""The prior of the spread is log-normal around the typical one, with the weight of this number of
contenders."""
MOST_AWAY: Final = math.log(4.0)
"""From twice the typical spread on, the prior pulls no stronger, so wide leagues are possible."""
LEAST_SPREAD: Final = 0.05
MOST_SPREAD: Final = 10.0
"""Bounds of the learned spread."""
SCORINGS: Final = 3
"""Steps towards the likeliest spread in each round."""
REVERSAL: Final = 0.5
"""If two successive steps of the spread each reverse the one before and exceed this share of it,
later steps are half as long. In leagues of close rivals the spread could oscillate without end."""
CENTRE_WEIGHT: Final = 0.1
"""Precision of the centre around the given means."""
FAULT_ROUNDS: Final = 200
"""Highest number of rounds that rate the faults."""
FAULT_TOLERANCE: Final = 5e-5
"""Beta by which a mean may still move in the last of these rounds."""
TINY: Final = 1e-300


@dataclass(frozen=True)
class Prior:
    """Prior knowledge of each contender."""

    mean: Floats
    """NaN: the centre of the league. The service gives no means. If they are tens of beta apart and
    contradict the games, a fit may not converge.
    """
    sd: Floats
    """NaN: the spread of the league."""
    parent: NDArray[np.int32]
    """Number of the previous submission; its fitted mean is the prior mean. -1: none. The prior
    variance is the sum of the change's (``change_variances``) and the parent's, and at most that
    of the league's spread.
    """

    def __post_init__(self) -> None:
        ancestor = self.parent
        for _ in range(len(self).bit_length()):  # each step doubles the distance
            ancestor = np.where(ancestor >= 0, ancestor[ancestor], -1).astype(np.int32)
        if (ancestor >= 0).any():
            raise ValueError("a contender is its own ancestor")

    @classmethod
    def unknown(cls, n: int) -> Prior:
        """Returns a prior without knowledge of any contender."""
        return cls(np.full(n, np.nan), np.full(n, np.nan), np.full(n, -1, np.int32))

    def __len__(self) -> int:
        return len(self.mean)


class LearnedPriors:
    """The learned priors, and the positions of the messages' frames.

    Games only give differences, so each connected part of the league has its own frame. Moving a
    frame moves all its contenders at once; messages would take hundreds of rounds.

    Resubmissions push one contender without an opposite push. They would move the whole league away
    from the centre, where newcomers start. So a shift of all games keeps the sum at 0. It does not
    change differences between contenders with many games.
    """

    def __init__(self, prior: Prior, graph: GameGraph) -> None:
        n = len(prior)
        self.graph = graph
        self.part = connected_components(graph, n, faults=False)
        self.parts = int(self.part.max(initial=-1)) + 1
        self.parented = prior.parent >= 0
        self.parent = np.where(self.parented, prior.parent, np.arange(n))
        self.abroad = self.parented & (self.part[self.parent] != self.part)
        self.given = ~np.isnan(prior.mean) & ~self.parented
        self.free = ~self.given & ~self.parented
        self.mean = np.where(self.given, prior.mean, 0.0)
        self.learned = np.isnan(prior.sd) & ~self.parented
        self.resubmitted = np.isnan(prior.sd) & self.parented
        self.variance = np.where(np.isnan(prior.sd), 1.0, prior.sd) ** 2
        self.spread = TYPICAL_SPREAD
        self.spread_step = 0.0
        """The last step of the spread, without the factor ``spread_share``."""
        self.spread_share, self.has_turned = 1.0, False
        self.centre = self.anchor = float(self.mean[self.given].mean()) if self.given.any() else 0.0
        self.heir_variance = self.variance[self.resubmitted]
        """Prior variances of resubmissions."""
        self.frame = np.zeros(self.parts)
        self.lift = np.zeros(self.parts)
        self.sigma2 = np.full(n, self.spread**2)
        self.mu = np.where(self.given, self.mean, self.centre)

    def start_from(self, earlier: LearnedPriors) -> None:
        """Takes the state of a fit of the first contenders and games."""
        self.spread, self.centre = earlier.spread, earlier.centre
        old = len(earlier.mu)
        self.mu[:old], self.sigma2[:old] = earlier.mu, earlier.sigma2
        self.sigma2[old:] = self.spread**2
        part = self.part[:old]
        count = np.maximum(np.bincount(part, minlength=self.parts), 1)
        self.frame = np.bincount(part, earlier.frame[earlier.part], self.parts) / count
        self.lift = np.bincount(part, earlier.lift[earlier.part], self.parts) / count

    def marginals(
        self, told_pi: Floats, told_tau: Floats, share: float = 1.0
    ) -> tuple[Floats, Floats, Floats]:
        """Returns means of all contenders, and precisions and shifts in the messages' frames.

        ``share``: share of the way to new variances of resubmissions.
        """
        self._learn_spread(told_pi, told_tau)
        place = self.lift + self.frame
        off = told_tau + told_pi * (place[self.part] - self.mu[self.parent])
        variance = self._prior_variances(told_pi, off)
        heirs = self.resubmitted
        variance[heirs] += (1.0 - share) * (self.heir_variance - variance[heirs])
        self.heir_variance = variance[heirs]
        known = 1.0 / variance
        precision = known + told_pi
        fallen = told_pi * self.lift[self.part] + told_tau
        inner = (known * (self._means(self.mu) - self.frame[self.part]) + fallen) / precision
        self._place_frames(known, inner, told_pi)
        frame = self.frame[self.part]
        shift = known * (self._means(self.mu) - frame) + told_pi * self.lift[self.part] + told_tau
        self.sigma2 = 1.0 / precision
        self.mu = shift / precision + frame
        return self.mu, precision, shift

    def rate_faults(self, told: tuple[Floats, Floats], margin: float) -> tuple[Floats, Floats]:
        """Returns means and deviations with the faults; ``told`` are the chains' messages.

        A fault lowers its contender, and the resubmissions that inherit from it. It changes nobody
        else against the others. It lowers the mean of all that games or faults connect, so they
        rise together: newcomers still start at that mean.
        """
        followers, clean = self.graph.followers, self.mu
        rows, who = followers.rows, followers.who
        if not len(rows):
            return clean, self.sigma2**0.5
        place = self.lift + self.frame
        away = place[self.part[followers.last]] - self.frame[self.part[who]]
        last_pi = self.graph.last_precision[rows]
        last = last_pi, self.graph.last_shift[rows] + last_pi * away
        fault_pi = sum_by_contender(who, followers.told_precision, len(clean))
        fault_tau = sum_by_contender(who, followers.told_shift, len(clean))
        frame, mu = self.frame[self.part], clean
        for done in range(FAULT_ROUNDS):
            off = told[1] + told[0] * (place[self.part] - mu[self.parent])
            off += fault_tau + fault_pi * (frame - mu[self.parent])
            known = 1.0 / self._prior_variances(told[0] + fault_pi, off)
            precision = known + told[0] + fault_pi
            fallen = told[0] * self.lift[self.part] + told[1] + fault_tau
            shift = known * (self._means(mu) - frame) + fallen
            before, mu = mu, shift / precision + frame
            fault_pi, fault_tau = pass_fault_messages(followers, last, (precision, shift), margin)
            if done and np.abs(mu - before).max() < FAULT_TOLERANCE:
                break
        joined = connected_components(self.graph, len(mu), faults=True)
        free = sum_by_contender(joined, np.where(self.free, known, 0.0), len(mu))
        held = sum_by_contender(joined, np.where(self.given, 1.0, 0.0), len(mu))
        lost = sum_by_contender(joined, np.where(self.free, known * (clean - mu), 0.0), len(mu))
        rises = (held == 0.0) & (free > 0.0)
        rise = np.divide(lost, free, out=np.zeros(len(mu)), where=rises)
        return mu + rise[joined], precision**-0.5

    def _prior_variances(self, told_pi: Floats, off: Floats) -> Floats:
        """Returns the variances of all priors.

        ``told_pi`` are the messages' precisions, ``off`` these times the distance from the parent.
        """
        variance = self.variance.copy()
        variance[self.learned] = self.spread**2
        heirs = self.resubmitted
        of_parent = self.sigma2[self.parent[heirs]]
        change = change_variances(told_pi[heirs], off[heirs], of_parent)
        # The distance to a parent in another part is not known from games.
        change[self.abroad[heirs]] = CHANGE_SCALE**2
        # With more than a newcomer's variance, a bad parent could raise the score.
        variance[heirs] = np.minimum(of_parent + change, self.spread**2)
        return variance

    def _means(self, mu: Floats) -> Floats:
        """Returns the prior means; ``mu`` are the contenders' current means."""
        mean = np.where(self.given, self.mean, self.centre)
        return np.where(self.parented, mu[self.parent], mean)

    def _total(self, values: Floats, where: NDArray[np.bool_]) -> Floats:
        """Returns sums by part."""
        return sum_by_contender(self.part[where], values[where], self.parts)

    def _place_frames(self, known: Floats, inner: Floats, told_pi: Floats) -> None:
        """Moves frames and centre to the priors, without changing the shape of a part."""
        held = self.given | self.abroad
        free, fixed = self._total(known, self.free), self._total(known, held)
        near = self.parented & ~self.abroad
        drift = self._total(known * (inner[self.parent] - inner), near)
        # The change of the drift with a shift.
        follows = told_pi / (known + told_pi)
        slope = self._total(known * (follows[self.parent] - follows), near)
        told = sum_by_contender(self.part, told_pi, self.parts)
        lift = (self.lift * slope - drift) / np.maximum(told + slope, 0.01 * told + TINY)
        self.lift = np.where(told > 0.0, lift, 0.0)
        pull = self._total(known * (self._means(self.mu) - inner), held)
        lean = self._total(known * inner, self.free)
        weight = np.maximum(free + fixed, TINY)
        if self.given.any():
            stiffness = CENTRE_WEIGHT + float((free * fixed / weight).sum())
            aim = float((free * (pull - lean) / weight + lean).sum())
            self.centre = (aim + CENTRE_WEIGHT * self.anchor) / stiffness
        moved = (free * self.centre - lean + pull) / weight
        self.frame = np.where(free + fixed > 0.0, moved, self.frame)

    def _learn_spread(self, told_pi: Floats, told_tau: Floats) -> None:
        """Learns the likeliest spread by Fisher's scoring."""
        pi = told_pi[self.learned]
        mean = self._means(self.mu) - (self.frame + self.lift)[self.part]
        off = (told_tau - told_pi * mean)[self.learned]
        square = self.spread**2
        for _ in range(SCORINGS):
            weight = 1.0 / (1.0 + pi * square)
            slope = float(((off * weight) ** 2 - pi * weight).sum())
            away = min(math.log(square / TYPICAL_SPREAD**2), MOST_AWAY)
            slope -= TYPICAL_WEIGHT * away / square
            square += slope / (float(((pi * weight) ** 2).sum()) + TYPICAL_WEIGHT / square**2)
            square = min(max(square, LEAST_SPREAD**2), MOST_SPREAD**2)
        step = square**0.5 - self.spread
        turns = step * self.spread_step < 0.0 and abs(step) > REVERSAL * abs(self.spread_step)
        if turns and self.has_turned:
            self.spread_share *= 0.5
        self.has_turned, self.spread_step = turns, step
        self.spread += self.spread_share * step


CHANGE_SCALE: Final = 0.3
"""Scale of the change of a resubmission, in beta."""
CHANGE_FREEDOM: Final = 1.0
"""Degrees of freedom of this change."""
CHANGE_DEVIATION: Final = CHANGE_SCALE / 0.6745
"""Deviation in beta of a normal distribution that has half of all changes in the same interval."""
STEPS: Final = 32
"""Steps of expectation maximization."""
APART: Final = 0.3
"""A parent is dropped if the fault rates differ by more than this."""
LEAST_GAMES: Final = 2
"""Games of a resubmission before its fault rate is compared."""
PRIOR_GAMES: Final = 1.0
PRIOR_SHARE: Final = 0.1
"""Prior of a fault rate: one more game, with a tenth of a fault."""


def parents_to_keep(games: GameTable, parents: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns each contender's parent, or -1 if it has none or the fault rates differ too much:
    [contenders].
    """
    n = len(parents)
    there = games.contenders >= 0
    who = games.contenders[there]
    played = np.bincount(who, minlength=n)
    faults = np.bincount(who[games.faults[there]], minlength=n)
    share = (faults + PRIOR_SHARE) / (played + PRIOR_GAMES)
    apart = np.abs(share - share[np.maximum(parents, 0)]) > APART
    return np.where(apart & (played >= LEAST_GAMES), np.int32(-1), parents)


def change_variances(precision: Floats, off: Floats, parent_variance: Floats) -> Floats:
    """Estimates the variance of each resubmission's change of skill; arrays are [resubmissions].

    ``precision``: precision of the skill by the games alone, in 1 / beta^2. ``off``: ``precision``
    times the distance of that skill from the parent's mean, in 1 / beta. ``parent_variance`` and
    the result are in beta^2.

    A t distribution is a normal distribution whose variance is itself random. Expectation
    maximization estimates this variance. Source: Lange, Little and Taylor, Robust Statistical
    Modeling Using the t Distribution, JASA 84 (1989).
    """
    square = CHANGE_SCALE**2
    told = 1.0 / (1.0 + precision * parent_variance)
    variance = np.full(len(precision), square)
    for _ in range(STEPS):
        left = 1.0 / (1.0 / variance + precision * told)
        expected = (left * told * off) ** 2 + left
        variance = (CHANGE_FREEDOM * square + expected) / (CHANGE_FREEDOM + 1.0)
    return variance
