"""Finds favourites to whom several contenders lose, or with whom they tie, on purpose. Pure.

Each pair's results have two explanations. Without throwing, they follow from the skills. With it,
the opponent gives away half or nearly all of these games: it loses to the favourite, comes last in
its games, or ties with it. The evidence of a pair is the ratio of the two probabilities.

The evidence of a favourite multiplies those of all its opponents, of which some share throws games.
Without throwing and with known skills, the mean of this number is at most 1, so it exceeds N in at
most one of N cases (Markov's inequality). Skills are estimated, so alarms are more frequent: with
``ALARM`` of .02, 100 simulated seasons without throwers had 2 after 100 games of each agent and 5
after 200 (``benchmarks rating collusion``).

Source: Vovk and Wang, E-values: Calibration, Combination and Applications, Annals of Statistics 49
(2021).

A contender that throws a game often comes last. For a strong one that is less likely than a loss to
the favourite alone, so fewer games show it. Some honest contenders often come last although they
are strong. So the expected number is higher for those that come last too often in other games.

Thrown games raise the favourite and lower the throwers. So the skills are estimated again without
each pair's games, by the probability that they were thrown.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.fit import Fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.message_passing import sum_by_contender
from ladder.ratings.official.overdispersion import HIGH, LOW, TIE, MetPairs
from ladder.ratings.official.truncated_gaussian import normal_cdf, win_moments

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

THROWN: Final = (0.5, 0.95)
"""Shares of their games that throwers may give away."""
THROWERS: Final = (0.02, 0.1, 0.25)
"""Shares of a favourite's opponents that may throw."""
TYPICAL: Final = 0.1
"""The one of ``THROWERS`` that says how likely a pair's games were thrown."""
NAMED: Final = 0.5
"""Probability of thrown games from which an opponent of a suspect favourite is named."""
ALARM: Final = 0.02
"""Expected number of suspect favourites in a season without throwers, if skills were known."""
WATCHED: Final = 30
"""Number of favourites that are examined further: those with most evidence by all skills."""
ROUNDS: Final = 4
"""How often skills are estimated without thrown games."""
USUAL_TIES: Final = 4.0
"""Ties, and as many expected ones, that each contender starts with."""
MOST_TIES: Final = 6.0
"""The habits of both explain at most this many times as many ties as usual, or as few. With more,
those who tie with each other only would explain themselves."""
HABIT_ROUNDS: Final = 4
LEVELS: Final = 10
"""Groups of pairs by the skill of the weaker one, for the frequency of ties."""
LIKELIEST: Final = 0.95
"""Highest probability of a tie without throwing."""
ROOT2: Final = 2.0**0.5


@dataclass(frozen=True, slots=True)
class UnlikelyPair:
    """A contender that loses to the favourite, comes last in its games or ties with it more often
    than the skills say.
    """

    thrower: int
    meetings: int
    """Meetings without a fault or a tie."""
    lost: int
    expected: float
    """Expected number of losses."""
    last: int
    """Games with the favourite in which it came last, behind at least two others."""
    expected_last: float
    """Expected number of these; 0 if it came last fewer than two times."""
    tied: int
    """Meetings without a fault that ended in a tie."""
    expected_tied: float
    chance: float
    """Probability that it threw no game, if one opponent in ten throws."""


@dataclass(frozen=True, slots=True)
class SuspectFavourite:
    """A contender with several opponents whose results against it are unlikely."""

    favourite: int
    pairs: tuple[UnlikelyPair, ...]
    """The least likely first."""
    chance: float
    """Expected number of favourites as suspect as this one in a season without throwers, if skills
    were known."""


def find_throwers(
    games: GameTable, fit: Fit, considered: NDArray[np.bool_], alarm: float = ALARM
) -> list[SuspectFavourite]:
    """Returns the suspect favourites, the least likely first.

    ``fit`` is that of ``games``. Only ``considered`` contenders are named. ``alarm`` is the
    expected number of favourites in a season without throwers.
    """
    met = _meetings(fit.pairs, considered)
    if not len(met):
        return []
    n, skills = len(considered), (fit.clean_mu, fit.clean_sigma)
    habits = _tie_habits(met, skills, fit, n)
    lost, evidence = _evidence(met, skills, fit, habits)
    watched = np.zeros(n, np.bool_)
    watched[np.argsort(-_favourite_evidence(met, evidence, n), kind="stable")[:WATCHED]] = True
    rows = np.flatnonzero(watched[met.favourite])
    met, habits, lost, last = met.take(rows), habits[rows], lost[rows], None
    for turn in range(ROUNDS):
        without = _skills_without(met, _thrown_chances(lost), skills)
        if turn == ROUNDS - 2:  # last places take most of the time
            last = count_last_places(games, met.thrower, met.favourite, without, fit.kappa)
        lost, evidence = _evidence(met, without, fit, habits, last)
    assert last is not None
    expected = considered.sum() * np.exp(-_favourite_evidence(met, evidence, n))
    chance = 1.0 - _thrown_chances(evidence)
    found = []
    for favourite in np.flatnonzero(watched & (expected < alarm)).tolist():
        rows = np.flatnonzero((met.favourite == favourite) & (chance < 1.0 - NAMED))
        rows = rows[np.argsort(chance[rows], kind="stable")]
        pairs = _name_pairs(met, rows, without, fit, habits, last, chance)
        if pairs:
            found.append(SuspectFavourite(favourite, pairs, float(expected[favourite])))
    return sorted(found, key=lambda each: each.chance)


@dataclass(frozen=True, slots=True)
class _Meetings:
    """Each pair that met more than once, with either as the thrower: arrays of [pairs]."""

    thrower: Indices
    favourite: Indices
    lost: Floats
    """Games that the thrower lost against the favourite."""
    decided: Floats
    """Meetings without a fault or a tie."""
    tied: Floats

    def __len__(self) -> int:
        return len(self.thrower)

    def take(self, rows: Indices) -> _Meetings:
        """Returns these pairs."""
        return _Meetings(
            self.thrower[rows],
            self.favourite[rows],
            self.lost[rows],
            self.decided[rows],
            self.tied[rows],
        )


def _meetings(pairs: MetPairs, considered: NDArray[np.bool_]) -> _Meetings:
    """Returns the meetings of the considered contenders."""
    low, high = pairs.low[pairs.often], pairs.high[pairs.often]
    known = considered[low] & considered[high]
    low, high, outcomes = low[known], high[known], pairs.outcomes[:, known]
    return _Meetings(
        np.concatenate([low, high]),
        np.concatenate([high, low]),
        np.concatenate([outcomes[HIGH], outcomes[LOW]]),
        np.tile(outcomes[LOW] + outcomes[HIGH], 2),
        np.tile(outcomes[TIE], 2),
    )


def _gaps(met: _Meetings, skills: tuple[Floats, Floats], kappa: float) -> Floats:
    """Returns how much better each favourite is than the thrower, by node: [pairs, nodes]."""
    mu, sigma = skills
    unsure = np.sqrt(sigma[met.favourite] ** 2 + sigma[met.thrower] ** 2 + kappa**2)
    gaps: Floats = (mu[met.favourite] - mu[met.thrower])[:, None] + unsure[:, None] * NODES
    return gaps


def _loss_chances(gaps: Floats, margin: float) -> Floats:
    """Returns the probability at each gap that the thrower loses, if they do not tie."""
    lost, won = normal_cdf((gaps - margin) / ROOT2), normal_cdf((-gaps - margin) / ROOT2)
    chances: Floats = lost / np.maximum(lost + won, 1e-12)
    return chances


def _tie_habits(met: _Meetings, skills: tuple[Floats, Floats], fit: Fit, n: int) -> Floats:
    """Returns how many times as often each pair ties as its skills say: [pairs].

    This depends on the habits of both, and on the level: in some games the best often share the
    first place. Pairs count by the probability that their ties were not given away. All contenders
    start with the usual habit: otherwise a ring's habit would explain its ties.
    """
    gaps, of, own = _gaps(met, skills, fit.kappa), met.decided + met.tied, np.ones(len(met))
    if not met.tied.any():
        return own
    lower = np.argsort(np.minimum(skills[0][met.thrower], skills[0][met.favourite]), kind="stable")
    level, habits, honest = np.zeros(len(met), np.intp), np.ones(n), np.ones(len(met))
    level[lower] = np.minimum(LEVELS * np.cumsum(of[lower]) / of.sum(), LEVELS - 1)
    usual = _tie_chances(gaps, fit, own) @ SHARES * of

    def ratio(group: Indices, groups: int, factors: Floats) -> Floats:
        tied = sum_by_contender(group, honest * met.tied, groups) + USUAL_TIES
        ratios: Floats = tied / (
            sum_by_contender(group, honest * usual * factors, groups) + USUAL_TIES
        )
        return ratios

    for _ in range(HABIT_ROUNDS):
        both = np.clip(habits[met.thrower] * habits[met.favourite], 1.0 / MOST_TIES, MOST_TIES)
        of_level = ratio(level, LEVELS, both)[level]
        thrown = _log_ratio(met.tied, of, _tie_chances(gaps, fit, of_level * both))
        honest = 1.0 - _thrown_chances(thrown)
        habits = ratio(met.thrower, n, of_level)
    return of_level * np.clip(
        habits[met.thrower] * habits[met.favourite], 1.0 / MOST_TIES, MOST_TIES
    )


def _tie_chances(gaps: Floats, fit: Fit, habits: Floats) -> Floats:
    """Returns the probability of a tie of each pair at each gap: [pairs, nodes]."""
    usual = normal_cdf((fit.margin - gaps) / ROOT2) - normal_cdf((-fit.margin - gaps) / ROOT2)
    return np.minimum(usual * habits[:, None], LIKELIEST)


def _evidence(
    met: _Meetings,
    skills: tuple[Floats, Floats],
    fit: Fit,
    habits: Floats,
    last: LastPlaces | None = None,
) -> tuple[Floats, Floats]:
    """Returns the logarithm of each pair's evidence: that of losses and last places, and that of
    ties too. The skills without thrown games depend on the former.
    """
    gaps = _gaps(met, skills, fit.kappa)
    found = [_log_ratio(met.lost, met.decided, _loss_chances(gaps, fit.margin))]
    if last is not None and last.games.any():
        found.append(_log_ratio(np.minimum(last.last, last.games), last.games, last.at))
    lost = _mean(found)
    if met.tied.any():
        ties = _tie_chances(gaps, fit, habits)
        found.append(_log_ratio(met.tied, met.decided + met.tied, ties))
    return lost, _mean(found)


def _mean(logarithms: Sequence[Floats]) -> Floats:
    """Returns the logarithm of the mean."""
    mean: Floats = np.logaddexp.reduce(logarithms, axis=0) - np.log(len(logarithms))
    return mean


def _log_ratio(times: Floats, of: Floats, p: Floats) -> Floats:
    """Returns the logarithm of the ratio of two probabilities: of so many events with and without
    throwing; ``p`` is the chance of one without it: [pairs, nodes].
    """
    p = np.clip(p, 1e-9, 1.0 - 1e-9)
    thrown = np.stack([p, *(p + share * (1.0 - p) for share in THROWN)])
    likely = times[:, None] * np.log(thrown) + (of - times)[:, None] * np.log1p(-thrown)
    honest, *others = np.logaddexp.reduce(likely + np.log(SHARES), axis=2)
    ratio: Floats = _mean(others) - honest
    return ratio


def _favourite_evidence(met: _Meetings, evidence: Floats, n: int) -> Floats:
    """Returns the logarithm of each favourite's evidence: [contenders]."""
    by_share = [
        sum_by_contender(met.favourite, np.logaddexp(np.log1p(-share), np.log(share) + evidence), n)
        for share in THROWERS
    ]
    return _mean(by_share)


def _thrown_chances(evidence: Floats) -> Floats:
    """Returns the probability of each pair that games were thrown."""
    odds = TYPICAL / (1.0 - TYPICAL) * np.exp(np.minimum(evidence, 50.0))
    chances: Floats = odds / (1.0 + odds)
    return chances


def _name_pairs(
    met: _Meetings,
    rows: Indices,
    skills: tuple[Floats, Floats],
    fit: Fit,
    habits: Floats,
    last: LastPlaces,
    chance: Floats,
) -> tuple[UnlikelyPair, ...]:
    met, habits = met.take(rows), habits[rows]
    gaps = _gaps(met, skills, 0.0)[:, :1]
    losses = met.decided * _loss_chances(gaps, fit.margin)[:, 0]
    ties = (met.decided + met.tied) * _tie_chances(gaps, fit, habits)[:, 0]
    columns = (
        *(met.thrower, met.decided, met.lost, losses),
        *(last.last[rows], last.expected[rows], met.tied, ties, chance[rows]),
    )
    return tuple(
        UnlikelyPair(
            *(thrower, int(decided), int(lost), expected),
            *(int(often), usual, int(tied), usual_ties, likely),
        )
        for thrower, decided, lost, expected, often, usual, tied, usual_ties, likely in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )


def _skills_without(
    met: _Meetings, thrown: Floats, skills: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Returns the skills without this share of each pair's games: one step of Newton's method."""
    mu, sigma = skills
    t = (mu[met.favourite] - mu[met.thrower]) / ROOT2
    up, up_weight = win_moments(t)
    down, down_weight = win_moments(-t)
    lost, won = thrown * met.lost, thrown * (met.decided - met.lost)
    force = (lost * up - won * down) / ROOT2
    weight = (lost * up_weight + won * down_weight) / 2.0
    count = len(mu)
    pushed = sum_by_contender(met.favourite, force, count)
    pushed -= sum_by_contender(met.thrower, force, count)
    told = sum_by_contender(met.favourite, weight, count)
    told += sum_by_contender(met.thrower, weight, count)
    before = sigma**-2.0
    left = np.maximum(before - told, 0.2 * before)
    return mu - pushed / left, left**-0.5


LEAST_SEATS: Final = 3
"""Seats of a game from which a last place says more than a loss to the favourite."""
LEAST_TIMES: Final = 2
"""Last places from which a pair is considered."""
NODES: Final = np.array([0.0, -1.3556262, 1.3556262, -2.8569700, 2.8569700])
SHARES: Final = np.array([0.5333333, 0.2220759, 0.2220759, 0.0112574, 0.0112574])
"""Gauss-Hermite points of a standard normal distribution."""
LUCK, LUCK_SHARES = np.polynomial.hermite_e.hermegauss(9)
"""Gauss-Hermite points of a performance's luck, and their weights."""


@dataclass(frozen=True)
class LastPlaces:
    """Last places of each pair's first contender in games with the second: arrays of [pairs]."""

    last: Floats
    """Number of games in which it came last, without a tie, behind at least two others."""
    expected: Floats
    """Expected number; 0 for a pair with fewer last places than ``LEAST_TIMES``."""
    games: Floats
    """Games with at least two others; 0 for a pair with fewer last places than ``LEAST_TIMES``."""
    at: Floats
    """Probability of a last place in one of them, at each node of the gap: [pairs, nodes]."""


def count_last_places(
    games: GameTable,
    who: Indices,
    favourite: Indices,
    skills: tuple[Floats, Floats],
    kappa: float,
) -> LastPlaces:
    """Returns the last places of ``who`` in games with ``favourite``: both [pairs].

    ``skills`` are means and deviations of all contenders in beta. ``kappa`` is the deviation of a
    pair's own advantage. Games in which either has a fault are left out.
    """
    count, (mu, sigma) = len(who), skills
    none = np.zeros((3, count))
    found = LastPlaces(none[0], none[1], none[2], np.zeros((count, len(NODES))))
    if games.seats < LEAST_SEATS or not count:
        return found
    met = _find_games(games, who, favourite, len(mu))
    found.last[:] = sum_by_contender(met.group, met.is_last(games), count)
    met = met.take(found.last[met.group] >= LEAST_TIMES)
    found.games[:] = sum_by_contender(met.group, np.ones(len(met.group)), count)
    seen = np.flatnonzero(found.games)
    unsure = np.sqrt(sigma[who] ** 2 + sigma[favourite] ** 2 + kappa**2)
    points = mu[who][:, None] + unsure[:, None] * NODES
    at = _chance_of_last(games, met, points[met.group], skills)
    mean = np.stack([sum_by_contender(met.group, each, count) for each in at.T], axis=1)
    found.at[seen] = mean[seen] / found.games[seen, None]
    last, expected = _all_last_places(games, np.unique(who[seen]), skills)
    other_last = last[who[seen]] - found.last[seen]
    other_expected = expected[who[seen]] - found.games[seen] * (found.at[seen] @ SHARES)
    excess = (other_last + 1.0) / (np.maximum(other_expected, 0.0) + 1.0)
    found.at[seen] = np.minimum(found.at[seen] * np.maximum(excess, 1.0)[:, None], 1.0)
    found.expected[seen] = found.games[seen] * (found.at[seen] @ SHARES)
    return found


@dataclass(frozen=True, slots=True)
class _Seatings:
    """Seats of contenders in question, grouped: arrays of [seatings]."""

    row: Indices
    """Row of the game in the log."""
    seat: Indices
    group: Indices
    present: NDArray[np.bool_]
    """Which seats of the game hold a contender without a fault: [seatings, seats]."""

    def take(self, chosen: NDArray[np.bool_]) -> _Seatings:
        """Returns these seatings."""
        return _Seatings(
            self.row[chosen], self.seat[chosen], self.group[chosen], self.present[chosen]
        )

    def others(self) -> NDArray[np.bool_]:
        """Returns the present opponents: [seatings, seats]."""
        others = self.present.copy()
        others[np.arange(len(self.row)), self.seat] = False
        return others

    def is_last(self, games: GameTable) -> Floats:
        """Returns 1 for each seat that came last without a tie, 0 for others."""
        ranks = games.ranks[self.row]
        own = ranks[np.arange(len(self.row)), self.seat]
        worst = np.where(self.others(), ranks, 0).max(axis=1, initial=0)
        return np.asarray(own > worst, np.float64)


def _find_games(games: GameTable, who: Indices, favourite: Indices, n: int) -> _Seatings:
    """Returns each game of each pair, grouped by pair."""
    is_favourite = np.zeros(n, np.bool_)
    is_favourite[favourite] = True
    rows, in_seat, present = _games_with(games, is_favourite)
    keys = favourite * n + who
    order = np.argsort(keys)
    keys = keys[order]
    found: list[tuple[Indices, Indices, Indices]] = []
    for first, second in itertools.permutations(range(games.seats), 2):
        both = np.flatnonzero(
            present[:, first] & present[:, second] & is_favourite[in_seat[:, first]]
        )
        key = in_seat[both, first] * n + in_seat[both, second]
        at = np.minimum(keys.searchsorted(key), len(keys) - 1)
        same = keys[at] == key
        found.append((both[same], np.full(np.count_nonzero(same), second), order[at[same]]))
    row, seat, pair = (np.concatenate(column) for column in zip(*found, strict=True))
    return _Seatings(rows[row], seat, pair, present[row])


def _all_last_places(
    games: GameTable, contenders: Indices, skills: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Returns how often these came last in all their games, and how often they should: [n]."""
    n = len(skills[0])
    chosen = np.zeros(n, np.bool_)
    chosen[contenders] = True
    rows, in_seat, present = _games_with(games, chosen)
    row, seat = np.nonzero(present & chosen[in_seat])
    own = in_seat[row, seat]
    seatings = _Seatings(rows[row], seat, own, present[row])
    expected = _chance_of_last(games, seatings, skills[0][own][:, None], skills)[:, 0]
    last = sum_by_contender(own, seatings.is_last(games), n)
    return last, sum_by_contender(own, expected, n)


def _games_with(
    games: GameTable, chosen: NDArray[np.bool_]
) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Returns the games of enough seats with any of the chosen contenders.

    These are the rows in the log, the contenders by seat, and which seats hold one without a fault.
    """
    there = (games.contenders >= 0) & ~games.faults
    rows = np.flatnonzero((chosen[games.contenders] & there).any(axis=1))
    rows = rows[np.count_nonzero(there[rows], axis=1) >= LEAST_SEATS]
    return rows, games.contenders[rows].astype(np.intp), there[rows]


def _chance_of_last(
    games: GameTable, seatings: _Seatings, skill: Floats, skills: tuple[Floats, Floats]
) -> Floats:
    """Returns the probability that each performance is behind all others: [seatings, points].

    ``skill`` holds the skills of the contenders in question: [seatings, points].
    """
    mu, sigma = skills
    others, contenders = seatings.others(), games.contenders[seatings.row]
    total = np.zeros(skill.shape)
    for luck, share in zip(LUCK.tolist(), (LUCK_SHARES / LUCK_SHARES.sum()).tolist(), strict=True):
        behind = np.full(skill.shape, share)
        for seat in range(games.seats):
            rows = np.flatnonzero(others[:, seat])
            rival = contenders[rows, seat]
            ahead = mu[rival][:, None] - skill[rows] - luck
            behind[rows] *= normal_cdf(ahead / np.sqrt(1.0 + sigma[rival] ** 2)[:, None])
        total += behind
    return total
