"""Fits TrueSkill's model to all games of a season at once, by expectation propagation.

The unit is beta: one player's luck in one game has the standard deviation 1. Old games count fully,
nothing increases the variance over time, and games have no order. Every round of messages treats
all games alike (``message_passing``). So the order of the log and the contenders' numbers only
change the rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official import overdispersion
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.message_passing import (
    GameGraph,
    build_graph,
    connected_components,
    message_sums,
    pass_messages,
    rate_faults,
    sum_by_contender,
)
from ladder.ratings.official.resubmission_inheritance import CHANGE_SCALE, change_variances
from ladder.ratings.official.truncated_gaussian import tie_margin

Floats = NDArray[np.float64]

TOLERANCE: Final = 5e-5
"""Beta by which a mean may still move in the last round: 0.0075 points. Measured, the remaining
error is then less than 0.1 points.
"""
SWEEPS: Final = 200
"""Highest number of rounds."""
TYPICAL_SPREAD: Final = 1.0
TYPICAL_WEIGHT: Final = 4.0
"""Prior spread, and its weight as a number of contenders."""
LEAST_SPREAD: Final = 0.05
MOST_SPREAD: Final = 10.0
"""Bounds of the learned spread."""
SCORINGS: Final = 3
"""Steps towards the likeliest spread in each round."""
CENTRE_WEIGHT: Final = 0.1
"""Precision of the centre around the given means."""
PATIENCE: Final = 30
HALFWAY: Final = 0.5
"""Share of the way to a new message after PATIENCE rounds, when acceleration also stops."""
MEASURED: Final = (0, 1, 2, 4, 8)
"""Rounds before which the draw margin is estimated."""
MEMORY: Final = 3
"""Number of earlier rounds that ``_AndersonAcceleration`` uses."""
LONGEST: Final = 50.0
"""Longest accepted acceleration, in steps of the last round."""
RIDGE: Final = 1e-10
TINY: Final = 1e-300
DAMPING: Final = 0.9
"""Share of the way to a new message; with more, two rivals' means could oscillate for ever."""
MOST_DRAW: Final = 0.95
LEAST_DRAW: Final = 1e-3
"""Draw probability for games that tie although none was expected."""


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


@dataclass(frozen=True)
class Messages:
    """Messages of a fit, for the start of the next one; only valid while the log grows."""

    seen: GameTable
    """The games of the fit; if one has changed, the next fit is cold."""
    told: NDArray[np.float64]
    """[2, seats, games]: messages from games to skills, by place."""
    links: NDArray[np.float64]
    """[2, seats - 1, games]: Gaussians of the links."""
    spread: float
    centre: float


@dataclass(frozen=True)
class Fit:
    """The official standing in beta; the origin is the centre unless the prior gives means."""

    mu: Floats
    sigma: Floats
    shown_sigma: Floats
    """Sigma plus the part of kappa that remains in a mean: sqrt(sigma^2 + kappa^2 H)."""
    kappa: float
    """Deviation of a pair's own advantage (``overdispersion``)."""
    spread: float
    """The learned standard deviation of the contenders."""
    centre: float
    """The learned prior mean; 0 unless the prior gives means."""
    messages: Messages
    sweeps: int
    """Number of rounds."""
    pairs: overdispersion.MetPairs
    """All pairs that met, with the outcomes of those that met more than once."""
    clean_mu: Floats
    clean_sigma: Floats
    """Skill and deviation without the contender's faults: what its other games show."""
    played: NDArray[np.intp]
    failed: NDArray[np.intp]
    """Games of each contender, and those that it failed."""


def fit(
    games: GameTable,
    prior: Prior,
    *,
    draw_probability: float | None = None,
    warm: Messages | None = None,
    tolerance: float = TOLERANCE,
    sweeps: int = SWEEPS,
) -> Fit:
    """Returns the skills of all contenders from all games.

    Without ``warm``, a pure function of the other arguments. With it, the result is the same within
    ``tolerance``, and faster. ``draw_probability`` is that of two equals. None: the probability at
    which the pairs tie as often as they did.
    """
    n = len(prior)
    layout = build_graph(games)
    meetings = overdispersion.sorted_meetings(layout)
    pairs, tied = overdispersion.count_pairs(meetings, n), overdispersion.tie_share(meetings)
    del meetings
    share = tied if draw_probability is None else draw_probability
    share = min(max(share, LEAST_DRAW if tied else 0.0), MOST_DRAW)
    eps = tie_margin(share)
    league = _LearnedPriors(prior, layout)
    if warm is not None and games.continues(warm.seen):
        _restore_messages(layout, warm)
        league.spread, league.centre = warm.spread, warm.centre
    mu, precision, shift = league.marginals(*message_sums(layout, n))
    leaps, done, change = _AndersonAcceleration(), 0, np.inf
    while done < sweeps and change >= tolerance:
        if draw_probability is None and tied and done in MEASURED:
            eps = tie_margin(share, overdispersion.difference_deviation(pairs, mu, precision**-0.5))
        patient = done >= PATIENCE
        damping = (HALFWAY if patient else DAMPING) if done else 1.0
        told = pass_messages(layout, precision, shift, eps, damping)
        last = mu
        reached, precision, shift = league.marginals(*told)
        done += 1
        change = float(np.abs(reached - last).max(initial=0.0))
        mu = reached if patient else leaps.next(last, reached, precision)
        shift += precision * (mu - reached)
    clean_mu, clean_sigma = league.mu, precision**-0.5
    kappa = overdispersion.kappa(pairs, clean_mu, clean_sigma, eps)
    precision, shift = rate_faults(layout, precision, shift, league.lift[league.part], eps)
    mu, sigma = league.means_with_faults(precision, shift), precision**-0.5
    widened = np.sqrt(sigma**2 + kappa**2 * overdispersion.opponent_concentration(pairs))
    messages = _save_messages(layout, games, league)
    there = games.contenders >= 0
    return Fit(
        mu,
        sigma,
        widened,
        kappa,
        league.spread,
        league.centre,
        messages,
        done,
        pairs,
        clean_mu,
        clean_sigma,
        np.bincount(games.contenders[there], minlength=n),
        np.bincount(games.contenders[there & games.faults], minlength=n),
    )


class _AndersonAcceleration:
    """Proposes the next means from the last rounds: Anderson's acceleration.

    If contenders only meet similar ones, plain rounds converge slowly. This tries the combination
    of the last rounds with the least movement.
    """

    def __init__(self) -> None:
        self.last: tuple[Floats, Floats] | None = None
        self.steps: list[tuple[Floats, Floats]] = []

    def next(self, tried: Floats, reached: Floats, precision: Floats) -> Floats:
        """Returns the means to try after a round from ``tried`` to ``reached``."""
        change = reached - tried
        if self.last is not None:
            before, was = self.last
            self.steps = [*self.steps[1 - MEMORY :], (change - before, reached - was)]
            if np.abs(change).max(initial=0.0) > 2.0 * np.abs(before).max(initial=0.0):
                self.steps = []
        self.last = change, reached
        if not self.steps:
            return reached
        changes, moves = (np.stack(column) for column in zip(*self.steps, strict=True))
        products = (changes * precision) @ changes.T
        products[np.diag_indices(len(products))] *= 1.0 + RIDGE
        products[np.diag_indices(len(products))] += TINY
        back = np.linalg.solve(products, (changes * precision) @ change)
        leap: Floats = back @ moves
        if np.abs(leap).max() > LONGEST * np.abs(change).max():
            self.steps = []
            return reached
        return reached - leap


class _LearnedPriors:
    """The learned priors, and the positions of the messages' frames.

    Games only give differences, so each connected part of the league has its own frame. Moving a
    frame moves all its contenders at once; messages would take hundreds of rounds.

    Resubmissions push one contender without an opposite push. They would move the whole league away
    from the centre, where newcomers start. So a shift of all games keeps the sum at 0. It does not
    change differences between contenders with many games.
    """

    def __init__(self, prior: Prior, layout: GameGraph) -> None:
        n = len(prior)
        self.layout = layout
        self.part = connected_components(layout, n)
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
        self.centre = self.anchor = float(self.mean[self.given].mean()) if self.given.any() else 0.0
        self.frame = np.zeros(self.parts)
        self.lift = np.zeros(self.parts)
        self.sigma2 = np.full(n, self.spread**2)
        self.mu = np.where(self.given, self.mean, self.centre)
        self.known = self.sigma2**-1.0
        """Precisions of the priors."""

    def marginals(self, told_pi: Floats, told_tau: Floats) -> tuple[Floats, Floats, Floats]:
        """Returns means of all contenders, and precisions and shifts in the messages' frames."""
        self._learn_spread(told_pi, told_tau)
        variance = self.variance.copy()
        variance[self.learned] = self.spread**2
        heirs = self.resubmitted
        of_parent = self.sigma2[self.parent[heirs]]
        place = (self.lift + self.frame)[self.part] - self.mu[self.parent]
        off = (told_tau + told_pi * place)[heirs]
        change = change_variances(told_pi[heirs], off, of_parent)
        # The distance to a parent in another part is not known from games.
        change[self.abroad[heirs]] = CHANGE_SCALE**2
        # With more than a newcomer's variance, a bad parent could raise the score.
        variance[heirs] = np.minimum(of_parent + change, self.spread**2)
        self.known = known = 1.0 / variance
        precision = known + told_pi
        fallen = told_pi * self.lift[self.part] + told_tau
        inner = (known * (self._means() - self.frame[self.part]) + fallen) / precision
        self._place_frames(known, inner, told_pi)
        frame = self.frame[self.part]
        shift = known * (self._means() - frame) + told_pi * self.lift[self.part] + told_tau
        self.sigma2 = 1.0 / precision
        self.mu = shift / precision + frame
        return self.mu, precision, shift

    def means_with_faults(self, precision: Floats, shift: Floats) -> Floats:
        """Returns all means, from precisions and shifts that include the faults.

        Faults lower the mean of a part. So its contenders rise together, and newcomers still start
        in the middle of those who play. A contender whose games told little rises less.
        """
        mu = shift / precision + self.frame[self.part]
        told = np.where(self.parented, 1.0, 1.0 - self.known / precision)
        fallen = self._total(self.known * (self.mu - mu), self.free)
        room = self._total(self.known * told, self.free)
        fixed = self._total(self.known, self.given | self.abroad)
        floats = (fixed <= 0.0) & (room > 0.0)
        rise = np.divide(fallen, room, out=np.zeros(self.parts), where=floats)
        risen: Floats = mu + told * rise[self.part]
        return risen

    def _means(self) -> Floats:
        """Returns the current prior means."""
        mean = np.where(self.given, self.mean, self.centre)
        return np.where(self.parented, self.mu[self.parent], mean)

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
        pull = self._total(known * (self._means() - inner), held)
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
        mean = self._means() - (self.frame + self.lift)[self.part]
        off = (told_tau - told_pi * mean)[self.learned]
        square = self.spread**2
        for _ in range(SCORINGS):
            weight = 1.0 / (1.0 + pi * square)
            slope = float(((off * weight) ** 2 - pi * weight).sum())
            slope += TYPICAL_WEIGHT * (TYPICAL_SPREAD**2 - square) / square**2
            square += slope / (float(((pi * weight) ** 2).sum()) + TYPICAL_WEIGHT / square**2)
            square = min(max(square, LEAST_SPREAD**2), MOST_SPREAD**2)
        self.spread = square**0.5


def _save_messages(layout: GameGraph, games: GameTable, league: _LearnedPriors) -> Messages:
    count, seats = len(games), games.seats
    told = np.zeros((2, seats, count))
    links = np.zeros((2, max(seats - 1, 0), count))
    for chains in layout.chains:
        for at, row in enumerate(chains.told_precision):
            told[0, at, chains.rows] = row
            told[1, at, chains.rows] = chains.told_shift[at]
        for at, row in enumerate(chains.link_precision):
            links[0, at, chains.rows] = row
            links[1, at, chains.rows] = chains.link_shift[at]
    return Messages(games, told, links, league.spread, league.centre)


def _restore_messages(layout: GameGraph, warm: Messages) -> None:
    for chains in layout.chains:
        old = slice(0, int(np.searchsorted(chains.rows, len(warm.seen))))
        rows = chains.rows[old]
        for at in range(len(chains.who)):
            chains.told_precision[at, old] = warm.told[0, at, rows]
            chains.told_shift[at, old] = warm.told[1, at, rows]
        for at in range(len(chains.who) - 1):
            chains.link_precision[at, old] = warm.links[0, at, rows]
            chains.link_shift[at, old] = warm.links[1, at, rows]
