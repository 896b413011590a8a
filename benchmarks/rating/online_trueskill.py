"""TrueSkill game by game, vectorised over games without a common player; used by the baselines.

It has the model and the messages of the ``trueskill`` package without a draw margin: a tie means
equal performances. The package needs hundreds of microseconds a game. tests/integration/benchmarks
compares the two.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ERFC = (
    -1.26551223,
    1.00002368,
    0.37409196,
    0.09678418,
    -0.18628806,
    0.27886807,
    -1.13520398,
    1.48851587,
    -0.82215223,
    0.17087277,
)
"""Numerical Recipes 6.2: erfc(x) = t exp(-x^2 + polynomial(t)), t = 1/(1 + x/2), to 1e-7."""


def normal_cdf(x: Floats) -> Floats:
    """The share of a standard normal below each value."""
    z = np.abs(x) / sqrt(2)
    tail = 0.5 * np.exp(-z * z) * _scaled_erfc(z)
    result: Floats = np.where(x > 0, 1 - tail, tail)
    return result


def update(
    mu: Floats, sigma: Floats, ranks: NDArray[np.int16], sweeps: int = 5
) -> tuple[Floats, Floats]:
    """New means and deviations of the players of many games (rows), in units of beta."""
    order = np.argsort(ranks, axis=1, kind="stable")
    ranked = np.take_along_axis(ranks, order, axis=1)
    mean = np.take_along_axis(mu, order, axis=1).T
    own = np.take_along_axis(sigma, order, axis=1).T ** 2
    precision = 1 / (own + 1)
    share = mean * precision
    players = len(mean)
    tied = (ranked[:, 1:] == ranked[:, :-1]).T
    # Natural parameters of each difference for the player ahead and the player behind.
    ahead = np.zeros((2, players - 1, len(mu)))
    behind = np.zeros((2, players - 1, len(mu)))
    steps = [*range(players - 1), *range(players - 3, -1, -1)]
    for _ in range(sweeps if players > 2 else 1):
        for j in steps:
            p1, s1 = precision[j].copy(), share[j].copy()
            p2, s2 = precision[j + 1].copy(), share[j + 1].copy()
            if j > 0:
                p1 += behind[0, j - 1]
                s1 += behind[1, j - 1]
            if j + 2 < players:
                p2 += ahead[0, j + 1]
                s2 += ahead[1, j + 1]
            m1, v1, m2, v2 = s1 / p1, 1 / p1, s2 / p2, 1 / p2
            lead, variance = m1 - m2, v1 + v2
            deviation = np.sqrt(variance)
            t = lead / deviation
            v = np.where(tied[j], -t, _mills(t))
            w = np.where(tied[j], 1.0, np.clip(v * (v + t), 1e-9, 1.0))
            said = lead + deviation * v / w
            wide = variance * (1 - w) / w
            ahead[0, j] = 1 / (wide + v2)
            ahead[1, j] = (said + m2) * ahead[0, j]
            behind[0, j] = 1 / (wide + v1)
            behind[1, j] = (m1 - said) * behind[0, j]
    heard = np.zeros((2, players, len(mu)))
    heard[:, :-1] += ahead
    heard[:, 1:] += behind
    # The messages are about performances; luck separates performance and skill.
    weight = heard[0] / (1 + heard[0])
    after = 1 / (1 / own + weight)
    moved = after * (mean / own + heard[1] / (1 + heard[0]))
    new_mu, new_sigma = np.empty_like(mu), np.empty_like(sigma)
    np.put_along_axis(new_mu, order, moved.T, axis=1)
    np.put_along_axis(new_sigma, order, np.sqrt(after).T, axis=1)
    return new_mu, new_sigma


def split_into_batches(lineups: NDArray[np.int32], contenders: int) -> list[NDArray[np.intp]]:
    """Split games into few groups, in which no player is twice and each player's order stays."""
    last = [0] * contenders
    group = np.empty(len(lineups), dtype=np.intp)
    for number, lineup in enumerate(lineups.tolist()):
        wave = max(last[player] for player in lineup)
        group[number] = wave
        for player in lineup:
            last[player] = wave + 1
    return [np.flatnonzero(group == wave) for wave in range(int(group.max(initial=-1)) + 1)]


def _mills(t: Floats) -> Floats:
    """density(t) / share below t: the shift of the mean of a normal truncated at zero."""
    z = np.abs(t) / sqrt(2)
    scaled = _scaled_erfc(z)
    density = np.exp(-z * z)
    tail = 0.5 * density * scaled
    factor = sqrt(1 / (2 * pi))
    result: Floats = np.where(t > 0, factor * density / (1 - tail), 2 * factor / scaled)
    return result


def _scaled_erfc(z: Floats) -> Floats:
    t = 1 / (1 + 0.5 * z)
    polynomial = np.full_like(t, _ERFC[-1])
    for coefficient in _ERFC[-2::-1]:
        polynomial = polynomial * t + coefficient
    result: Floats = t * np.exp(polynomial)
    return result
