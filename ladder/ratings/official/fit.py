"""The batch fit: expectation propagation on TrueSkill's model over all games of a season at once.

The unit is beta: one player's luck in one game has the standard deviation 1. No game counts for
less because it is old, nothing is added to make ratings move, and no order of games exists: every
round of messages treats all games alike (``chains``), so the result depends on the order of the log
and on the contenders' numbers only by rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official import overdispersion
from ladder.ratings.official.games import GameTable
from ladder.ratings.official.message_passing import (
    GameGraph,
    build_graph,
    connected_components,
    message_sums,
    pass_messages,
    sum_by_contender,
)
from ladder.ratings.official.truncated_gaussian import tie_margin

Floats = NDArray[np.float64]

TOLERANCE: Final = 5e-5
"""Beta by which a mean may still move in a round when the fit ends: 0.0075 points.

Measured, what is left to go then is less than 0.1 points."""
SWEEPS: Final = 200
"""At most so many rounds."""
TYPICAL_SPREAD: Final = 1.0
TYPICAL_WEIGHT: Final = 4.0
"""The spread before anybody has played, and of how many contenders that is worth the word."""
LEAST_SPREAD: Final = 0.05
MOST_SPREAD: Final = 10.0
"""What a learned spread is kept between."""
SCORINGS: Final = 3
"""Steps towards the likeliest spread in each round."""
CENTRE_WEIGHT: Final = 0.1
"""Precision with which the centre is near the means that were given."""
PATIENCE: Final = 30
HALFWAY: Final = 0.5
"""After so many rounds without an end smaller steps are made, and no leaps."""
MEASURED: Final = (0, 1, 2, 4, 8)
"""Before these rounds the draw margin is measured."""
MEMORY: Final = 3
"""Rounds that are looked back on (``_AndersonAcceleration``)."""
LONGEST: Final = 50.0
"""A leap of more than so many of the last round's steps is not believed."""
RIDGE: Final = 1e-10
TINY: Final = 1e-300
DAMPING: Final = 0.9
"""Share of the way to a new message; more would let two rivals' means swing for ever."""
MOST_DRAW: Final = 0.95
LEAST_DRAW: Final = 1e-3
"""A draw probability for games that tie although none was expected."""


@dataclass(frozen=True)
class Prior:
    """What is known of each contender before any game."""

    mean: Floats
    """NaN: the centre of the league."""
    sd: Floats
    """NaN: the spread of the league."""
    parent: NDArray[np.int32]
    """-1, or whose fitted mean is this one's prior mean: it submitted again."""
    parent_sd: float = 0.4
    """What a resubmission changes; the parent's own uncertainty is added."""

    def __post_init__(self) -> None:
        ancestor = self.parent
        for _ in range(len(self).bit_length()):  # each step goes twice as far back
            ancestor = np.where(ancestor >= 0, ancestor[ancestor], -1).astype(np.int32)
        if (ancestor >= 0).any():
            raise ValueError("a contender is its own ancestor")

    @classmethod
    def unknown(cls, n: int) -> Prior:
        """Nothing known of any of them."""
        return cls(np.full(n, np.nan), np.full(n, np.nan), np.full(n, -1, np.int32))

    def __len__(self) -> int:
        return len(self.mean)


@dataclass(frozen=True)
class Messages:
    """What a fit left behind to begin the next one from; of use only while the log grows."""

    seen: GameTable
    """What it told of: where one of these games changed, the next fit begins cold."""
    told: NDArray[np.float64]
    """[2, seats, games]: what each game told each skill, by place."""
    links: NDArray[np.float64]
    """[2, seats - 1, games]: the links' Gaussians."""
    tails: NDArray[np.float64]
    """[2, games, seats]: what seats at fault were told, by seat."""
    spread: float
    centre: float


@dataclass(frozen=True)
class Fit:
    """The official standing in beta; the origin is the centre unless the prior gives means."""

    mu: Floats
    sigma: Floats
    shown_sigma: Floats
    """Widened by what kappa leaves in a mean: sqrt(sigma^2 + kappa^2 H)."""
    kappa: float
    """How far pairs stray from one number each (``overdispersion``)."""
    spread: float
    """The learned standard deviation of the contenders."""
    centre: float
    """The learned prior mean: 0 unless the prior gives means."""
    messages: Messages
    sweeps: int
    """Rounds of messages it took."""


def fit(
    games: GameTable,
    prior: Prior,
    *,
    draw_probability: float | None = None,
    warm: Messages | None = None,
    tolerance: float = TOLERANCE,
    sweeps: int = SWEEPS,
) -> Fit:
    """The skills of all contenders given all games.

    Without ``warm`` a pure function of the other arguments; with it the same within ``tolerance``,
    sooner. ``draw_probability`` is that of two equals; None: whatever lets the pairs that met tie
    as often as they did.
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
    mu = league.mu
    sigma = precision**-0.5
    kappa = overdispersion.kappa(pairs, mu, sigma, eps)
    widened = np.sqrt(sigma**2 + kappa**2 * overdispersion.opponent_concentration(pairs))
    messages = _save_messages(layout, games, league)
    return Fit(mu, sigma, widened, kappa, league.spread, league.centre, messages, done)


class _AndersonAcceleration:
    """Means to try next, from where the last rounds led: Anderson's acceleration.

    Where contenders only meet their like, news passes from one to the next and plain rounds creep.
    The combination of the last rounds that would have moved least is tried instead.
    """

    def __init__(self) -> None:
        self.last: tuple[Floats, Floats] | None = None
        self.steps: list[tuple[Floats, Floats]] = []

    def next(self, tried: Floats, reached: Floats, precision: Floats) -> Floats:
        """What to try, when these means led to those."""
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
    """The priors as learned so far, and where the frame of the messages lies.

    Games only tell differences, so messages are kept in a frame that each connected part of the
    league has to itself. To move a frame moves all its contenders at once, which messages from one
    to the next would take hundreds of rounds to do.

    Faults and resubmissions push one contender and nobody back. Alone they would carry the whole
    league away from the centre where newcomers start; so all games lift by what holds the sum at
    0, which changes no difference between contenders who have played much.
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
        self.change = prior.parent_sd**2
        self.spread = TYPICAL_SPREAD
        self.centre = self.anchor = float(self.mean[self.given].mean()) if self.given.any() else 0.0
        self.frame = np.zeros(self.parts)
        self.lift = np.zeros(self.parts)
        self.sigma2 = np.full(n, self.spread**2)
        self.mu = np.where(self.given, self.mean, self.centre)

    def marginals(self, told_pi: Floats, told_tau: Floats) -> tuple[Floats, Floats, Floats]:
        """Means, and precisions and shifts in the messages' frames, of all contenders."""
        self._learn_spread(told_pi, told_tau)
        variance = self.variance.copy()
        variance[self.learned] = self.spread**2
        heirs = self.resubmitted
        variance[heirs] = self.change + self.sigma2[self.parent[heirs]]
        known = 1.0 / variance
        precision = known + told_pi
        fallen = told_pi * self.lift[self.part] + told_tau
        inner = (known * (self._means() - self.frame[self.part]) + fallen) / precision
        self._place_frames(known, inner, told_pi)
        frame = self.frame[self.part]
        shift = known * (self._means() - frame) + told_pi * self.lift[self.part] + told_tau
        self.sigma2 = 1.0 / precision
        self.mu = shift / precision + frame
        return self.mu, precision, shift

    def _means(self) -> Floats:
        """Prior means as they are now."""
        mean = np.where(self.given, self.mean, self.centre)
        return np.where(self.parented, self.mu[self.parent], mean)

    def _total(self, values: Floats, where: NDArray[np.bool_]) -> Floats:
        """Sums by part."""
        return sum_by_contender(self.part[where], values[where], self.parts)

    def _place_frames(self, known: Floats, inner: Floats, told_pi: Floats) -> None:
        """Frames and centre where the priors hold them, each part's shape being what it is."""
        followers = self.layout.followers
        held = self.given | self.abroad
        free, fixed = self._total(known, self.free), self._total(known, held)
        afloat = (
            sum_by_contender(self.part, np.where(self.free | self.learned, 1.0, 0.0), self.parts)
            > 0.0
        )[self.part[followers.who]]
        force = followers.told_shift - followers.told_precision * inner[followers.who]
        drift = sum_by_contender(self.part[followers.who], np.where(afloat, force, 0.0), self.parts)
        pull = sum_by_contender(self.part[followers.who], np.where(afloat, 0.0, force), self.parts)
        near = self.parented & ~self.abroad
        drift += self._total(known * (inner[self.parent] - inner), near)
        # How far each follows a lift, and how the drift changes with it.
        follows = told_pi / (known + told_pi)
        force = np.where(afloat, followers.told_precision * follows[followers.who], 0.0)
        slope = self._total(known * (follows[self.parent] - follows), near)
        slope -= sum_by_contender(self.part[followers.who], force, self.parts)
        told = sum_by_contender(self.part, told_pi, self.parts)
        lift = (self.lift * slope - drift) / np.maximum(told + slope, 0.01 * told + TINY)
        self.lift = np.where(told > 0.0, lift, 0.0)
        pull += self._total(known * (self._means() - inner), held)
        lean = self._total(known * inner, self.free)
        weight = np.maximum(free + fixed, TINY)
        if self.given.any():
            stiffness = CENTRE_WEIGHT + float((free * fixed / weight).sum())
            aim = float((free * (pull - lean) / weight + lean).sum())
            self.centre = (aim + CENTRE_WEIGHT * self.anchor) / stiffness
        moved = (free * self.centre - lean + pull) / weight
        self.frame = np.where(free + fixed > 0.0, moved, self.frame)

    def _learn_spread(self, told_pi: Floats, told_tau: Floats) -> None:
        """The spread that makes what the games told likeliest, by Fisher's scoring."""
        # What a fault tells its own seat is told to nobody else: it would pull the spread up.
        followers = self.layout.followers
        told_pi = told_pi - sum_by_contender(followers.who, followers.told_precision, len(told_pi))
        told_tau = told_tau - sum_by_contender(followers.who, followers.told_shift, len(told_tau))
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
    tails = np.zeros((2, count, seats))
    for chains in layout.chains:
        for at, row in enumerate(chains.told_precision):
            told[0, at, chains.rows] = row
            told[1, at, chains.rows] = chains.told_shift[at]
        for at, row in enumerate(chains.link_precision):
            links[0, at, chains.rows] = row
            links[1, at, chains.rows] = chains.link_shift[at]
    followers = layout.followers
    tails[0, followers.rows, followers.seats] = followers.told_precision
    tails[1, followers.rows, followers.seats] = followers.told_shift
    return Messages(games, told, links, tails, league.spread, league.centre)


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
    followers = layout.followers
    old = slice(0, int(np.searchsorted(followers.rows, len(warm.seen))))
    rows, seats = followers.rows[old], followers.seats[old]
    followers.told_precision[old] = warm.tails[0, rows, seats]
    followers.told_shift[old] = warm.tails[1, rows, seats]
