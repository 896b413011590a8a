"""Fits TrueSkill's model to all games of a season at once, by expectation propagation.

The unit is beta: one player's luck in one game has the standard deviation 1. Old games count fully,
nothing increases the variance over time, and games have no order. Every round of messages treats
all games alike (``message_passing``). So the order of the log and the contenders' numbers only
change the rounding.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ids import SeasonId
from ladder.ratings.official import learned_priors, overdispersion
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import LearnedPriors, Prior
from ladder.ratings.official.message_passing import (
    build_graph,
    extend_graph,
    message_sums,
    pass_messages,
)
from ladder.ratings.official.truncated_gaussian import tie_margin

Floats = NDArray[np.float64]

TOLERANCE: Final = 2e-4
"""Beta by which a mean, a deviation or the spread may still move in the last round: 0.03 points.
The largest remaining error in 202 random leagues was 0.26 points.
"""
SWEEPS: Final = 200
"""Highest number of rounds."""
PATIENCE: Final = 30
"""Rounds after which a fit counts as slow."""
SLOW: Final = 0.1
"""A slow fit's tolerance is this share of the given one, because its error is many times its last
move."""
UNSTABLE: Final = 100
"""Rounds after which acceleration stops, and messages only move by HALFWAY."""
HALFWAY: Final = 0.5
"""Share of the way to a new message in an unstable fit, and of a slow fit's way to new variances of
resubmissions."""
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
class Messages:
    """Messages of a fit, for the start of the next one; only valid while the log grows."""

    seen: GameTable
    """The games of the fit; if one has changed, the next fit is cold."""
    league: LearnedPriors
    """The games with their messages, the learned priors and the positions of the frames."""


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
    margin: float
    """Difference of two performances in beta below which they tie."""


def fit(
    games: GameTable,
    prior: Prior,
    *,
    draw_probability: float | None = None,
    warm: Messages | None = None,
    tolerance: float = TOLERANCE,
) -> Fit:
    """Returns the skills of all contenders from all games.

    Without ``warm``, a pure function of the other arguments. With it, the result is almost the same
    (see ``TOLERANCE``), and faster. ``draw_probability`` is that of two equals. None: the
    probability at which the pairs tie as often as they did.
    """
    n = len(prior)
    if warm is not None and not games.continues(warm.seen):
        warm = None
    old_games = 0 if warm is None else len(warm.seen)
    if warm is None:
        graph = build_graph(games)
    else:
        graph = extend_graph(warm.league.graph, games, old_games)
    meetings = overdispersion.sorted_meetings(graph, n)
    pairs, tied = overdispersion.count_pairs(meetings, n), overdispersion.tie_share(meetings)
    del meetings
    share = tied if draw_probability is None else draw_probability
    share = min(max(share, LEAST_DRAW if tied else 0.0), MOST_DRAW)

    def margin(mu: Floats, precision: Floats) -> float:
        if draw_probability is not None or not tied:
            return tie_margin(share)
        return tie_margin(share, overdispersion.difference_deviation(pairs, mu, precision**-0.5))

    league = LearnedPriors(prior, graph)
    if warm is not None:
        league.start_from(warm.league)
        mu, precision, shift = league.marginals(*message_sums(graph, n))
        # A round of the new games alone costs little and causes most of the change.
        eps = margin(mu, precision)
        pass_messages(graph, precision, shift, eps, 1.0, since=old_games)
    mu, precision, shift = league.marginals(*message_sums(graph, n))
    leaps, done, change = _AndersonAcceleration(), 0, np.inf
    while done < SWEEPS and change >= tolerance:
        eps = margin(mu, precision)
        slow, unstable = done >= PATIENCE, done >= UNSTABLE
        damping = (HALFWAY if unstable else DAMPING) if done else 1.0
        told = pass_messages(graph, precision, shift, eps, damping)
        last, sigma = mu, precision**-0.5
        reached, precision, shift = league.marginals(*told, HALFWAY if slow else 1.0)
        done += 1
        moves = np.concatenate((reached - last, precision**-0.5 - sigma, [league.spread_step]))
        change = float(np.abs(moves).max()) / (SLOW if slow else 1.0)
        mu = reached if unstable else leaps.next(last, reached, precision)
        shift += precision * (mu - reached)
    if warm is not None and not change < tolerance:  # its messages may be the cause
        return fit(games, prior, draw_probability=draw_probability, tolerance=tolerance)
    clean_mu, clean_sigma = league.mu, precision**-0.5
    kappa = overdispersion.kappa(pairs, clean_mu, clean_sigma, eps)
    mu, sigma = league.rate_faults(told, eps)
    widened = np.sqrt(sigma**2 + kappa**2 * overdispersion.opponent_concentration(pairs))
    there = games.contenders >= 0
    return Fit(
        mu,
        sigma,
        widened,
        kappa,
        league.spread,
        league.centre,
        Messages(games, league),
        done,
        pairs,
        clean_mu,
        clean_sigma,
        np.bincount(games.contenders[there], minlength=n),
        np.bincount(games.contenders[there & games.faults], minlength=n),
        eps,
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


GROWTH: Final = 1.05
"""A fit is due after the log grew by this factor."""


def fit_season(
    games: GameTable,
    parents: NDArray[np.int32],
    *,
    warm: Messages | None = None,
    faults_are_losses: bool = True,
) -> Fit:
    """Returns the fit of all games; ``parents`` are those of ``SeasonLog``: [contenders].

    ``faults_are_losses``: in games of two seats a fault counts as a plain loss. A benchmark
    compares both ways.
    """
    n = len(parents)
    kept = learned_priors.parents_to_keep(games, parents)
    prior = Prior(np.full(n, np.nan), np.full(n, np.nan), kept)
    fitted = fit(games.with_faults_as_losses() if faults_are_losses else games, prior, warm=warm)
    failed = games.contenders[games.faults & (games.contenders >= 0)]
    return replace(fitted, failed=np.bincount(failed, minlength=n))


def season_seed(season_id: SeasonId) -> int:
    """Returns 63 bits that nobody chooses, the same for all versions.

    So repeated fits do not raise the chance that a medal is sealed.
    """
    drawn = hashlib.sha256(season_id.encode()).digest()
    return int.from_bytes(drawn[:8], "big") >> 1
