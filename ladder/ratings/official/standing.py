"""Computes the official standing of a season from a fit: scores, ranks, medal chances. Pure.

Ranks and chances belong to teams. ``representatives`` chooses the entry that represents a team.
Reference agents fix the scale; they have a place but no rank. Draws of ranks are independent
between contenders. A rank is 1 plus the number of better rivals; twins count once.

While uploads are open, games make the order more certain first. Medals come first as soon as the
standing expects a correlation of ``ORDER_GOAL`` with the true order. Games for medals tell more
when it is known who may win one. A new entry lowers the expected correlation, so the order may come
first again. A league with many new entries may never reach that correlation. Then medals come first
after ``ORDER_GAMES``. If at least ``MANY_MEDALS`` of the teams hold medals, order and medals both
count from the start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ladder.field_types import RECORD
from ladder.ids import EntryId
from ladder.leagues.medals import MedalRules
from ladder.ratings.official import representatives
from ladder.ratings.official.fit import Fit
from ladder.ratings.official.learned_priors import CHANGE_DEVIATION
from ladder.ratings.official.representatives import Entrant

DRAWS: Final = 400
"""Draws of each rank; a chance of a half has the error 0.025."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OfficialPlace:
    """The result of the fit over all results of the season for one entry."""

    __pydantic_config__ = RECORD
    score: Annotated[float, Field(examples=[851.2])]
    """Points."""
    sigma: Annotated[float, Field(examples=[14.0])]
    """Points; 1.96 sigma is half of the 95 % interval of the score."""
    rank: Annotated[int | None, Field(exclude=True)]
    """1 is best; equal scores share a rank, and the next rank follows directly. None unless the
    entry represents its team.
    """
    rank_low: Annotated[int, Field(examples=[1])]
    """Best rank of the 95 % interval of its team."""
    rank_high: Annotated[int, Field(examples=[3])]
    """Worst rank of the 95 % interval."""
    chances: Annotated[tuple[float, float, float], Field(examples=[[0.81, 1.0, 1.0]])]
    """Chances of gold, of silver or better, of any medal."""
    loss: Annotated[float, Field(exclude=True)]
    """Loss of the standing from uncertainty (``remaining_uncertainty``)."""


@dataclass(frozen=True)
class PairingPlaces:
    """What the pairing reads of all places."""

    entry_ids: Sequence[EntryId]
    values: Floats
    """[3, entries]: score, sigma and loss."""

    @classmethod
    def none(cls) -> PairingPlaces:
        """Returns those of a season without a standing."""
        return cls((), np.zeros((3, 0)))

    def of(self, wanted: Sequence[EntryId]) -> Floats:
        """Returns the values of these entries, NaN for those without a place: [3, wanted]."""
        if self.entry_ids == wanted:
            return self.values
        at = {entry: n for n, entry in enumerate(self.entry_ids)}
        rows = np.array([at.get(entry, -1) for entry in wanted], np.intp)
        unplaced = np.full((3, 1), np.nan)
        return np.concatenate([self.values, unplaced], axis=1)[:, rows]


@dataclass(frozen=True)
class OfficialStanding:
    """The official standing of a season."""

    places: tuple[OfficialPlace, ...]
    """One place for each entrant, in the given order."""
    reference: float
    """Mean of the reference agents in beta, which is mu0 in points."""
    wrong_medals: float
    """Expected number of teams whose medal is of the wrong class."""
    teams: int
    """Number of teams for the medals, also those that have not played; equal bundles count once."""
    expected_order: float
    """Expected Spearman correlation of the teams' ranks with the true ones."""
    boundary_weight: float
    """Weight of the medal boundaries in the places' losses."""
    rules: MedalRules
    """The medal rules, with a number for each line."""
    counted_as: tuple[int, ...]
    """For each entrant: teams of equal number count once for the medals."""


def build_standing(
    fit: Fit,
    entrants: Sequence[Entrant],
    *,
    mu0: float,
    beta: float,
    seed: int,
    boundary_weight: float | None,
    rules: MedalRules,
    anchor_names: Mapping[EntryId, str] | None = None,
    teams: int | None = None,
    equal_scores_count_once: bool = False,
) -> OfficialStanding:
    """Computes the standing of these entrants; ``mu0`` and ``beta`` are the season's, in points.

    ``boundary_weight`` weighs the medal boundaries against the order in the losses; None: as
    while uploads are open. ``teams`` replaces the number of teams for medals.
    Teams with equal bundles, or with a shared place, count once there. With
    ``equal_scores_count_once``, which a benchmark compares, all teams of equal score do.
    ``anchor_names`` names the reference agents for medal lines.
    """
    mu, sigma = _skills(fit, entrants)
    anchors = [mu[n] for n, each in enumerate(entrants) if each.is_anchor and each.contender >= 0]
    reference = float(np.mean(anchors)) if anchors else fit.centre
    standing_by = representatives.choose_representatives(entrants, mu, sigma)
    twins = _share_places(entrants, standing_by, mu, sigma)
    scores = mu0 + beta * (mu - reference)
    held = np.unique(scores[standing_by])
    counted_as = np.unique(scores, return_inverse=True)[1] if equal_scores_count_once else twins
    counted, firsts = np.unique(counted_as[standing_by], return_index=True)
    if teams is None:
        teams = len(counted) + _count_waiting_teams(entrants)
    named = {
        name: n
        for n, each in enumerate(entrants)
        if (name := (anchor_names or {}).get(each.entry_id)) is not None
    }
    line_sigmas = [beta * sigma[named[name]] if name in named else 0.0 for name in rules.agents]
    rules = rules.placed({name: float(scores[n]) for name, n in named.items()}, mu0)
    last = rules.cuts(teams)
    drawn = draw_ranks(mu, sigma, twins, standing_by, DRAWS, seed)
    outlook = rank_outlook(drawn, last)
    chances = outlook.chances
    if rules.lines is not None:
        chances = _chance_above_lines(rules.lines, line_sigmas, scores, beta * sigma)
    among = len(held) - np.searchsorted(held, scores)
    each_once = np.sort(scores[standing_by][firsts])
    ahead = len(counted) - np.searchsorted(each_once, scores, side="right")
    wrong = [
        1.0 - _chance_of_class(chances[n], earned)
        for n in standing_by.tolist()
        if (earned := _medal_class(rules, int(ahead[n]), float(scores[n]), last)) is not None
    ]
    order = expected_order(drawn[:, standing_by], among[standing_by])
    if boundary_weight is None:
        games = [each.games for each in entrants if not each.is_anchor]
        mean_games = sum(games) / max(len(games), 1)
        wrong_share = sum(wrong) / max(len(wrong), 1)
        medal_share = len(wrong) / max(teams, 1)
        boundary_weight = open_weight(medal_share, order, mean_games, wrong_share)
    losses = remaining_uncertainty(drawn, last, boundary_weight)
    if rules.lines is not None:
        expected = max(1.0, float(chances[standing_by, -1].sum()))
        losses = losses + boundary_weight / expected * (chances * (1.0 - chances)).sum(axis=1)
    ranked = np.zeros(len(entrants), np.bool_)
    ranked[standing_by] = True
    columns = (
        scores,
        beta * sigma,
        ranked,
        among,
        outlook.rank_low,
        outlook.rank_high,
        chances,
        losses,
    )
    places = tuple(
        OfficialPlace(
            score=score,
            sigma=deviation,
            rank=rank if has_rank else None,
            rank_low=low,
            rank_high=high,
            chances=(gold, silver, bronze),
            loss=lost,
        )
        for score, deviation, has_rank, rank, low, high, (gold, silver, bronze), lost in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )
    once = tuple(counted_as.tolist())
    return OfficialStanding(
        places, reference, sum(wrong), teams, order, boundary_weight, rules, once
    )


def _skills(fit: Fit, entrants: Sequence[Entrant]) -> tuple[Floats, Floats]:
    """Returns means and deviations. Before its first game an entry has its parent's, or the
    prior's.
    """
    mu = np.full(len(entrants), fit.centre)
    sigma = np.full(len(entrants), fit.spread)
    for n, each in enumerate(entrants):
        if each.contender >= 0:
            mu[n], sigma[n] = fit.mu[each.contender], fit.shown_sigma[each.contender]
        elif each.parent >= 0:
            mu[n] = fit.mu[each.parent]
            sigma[n] = np.hypot(fit.shown_sigma[each.parent], CHANGE_DEVIATION)
    return mu, sigma


def _count_waiting_teams(entrants: Sequence[Entrant]) -> int:
    """Returns how many teams have valid entries but no game; equal bundles count once.

    Such a team stands by its newest entry. A copy of a bundle that has played adds no team.
    """
    competing = [each for each in entrants if not each.is_anchor]
    playing = {each.team_id for each in competing if each.contender >= 0}
    known = {each.bundle for each in competing if each.contender >= 0}
    newest = {each.team_id: each for each in competing if each.team_id not in playing}
    waiting = {each.bundle or each.entry_id for each in newest.values()}
    return len(waiting - known)


def _chance_above_lines(
    lines: Sequence[float], line_sigmas: Sequence[float], scores: Floats, sigmas: Floats
) -> Floats:
    """Returns [n, lines]: the probability of a score at each line or above.

    A line that a reference agent names is as uncertain as the score of this agent.
    """
    return np.array(
        [
            [
                0.5 * math.erfc((line - score) / (math.sqrt(2.0) * math.hypot(sigma, line_sigma)))
                for line, line_sigma in zip(lines, line_sigmas, strict=True)
            ]
            for score, sigma in zip(scores, np.maximum(sigmas, 1e-9), strict=True)
        ]
    ).reshape(len(scores), len(lines))


def _share_places(
    entrants: Sequence[Entrant], standing_by: NDArray[np.intp], mu: Floats, sigma: Floats
) -> NDArray[np.intp]:
    """Gives representatives of teams that share a place one skill: that of all their games.

    Changes ``mu`` and ``sigma``. Returns the first entrant of the same place or contender, which
    shares its skill and draw.
    """
    shared: dict[str, list[int]] = {}
    for n in standing_by.tolist():
        if entrants[n].shared_place:
            shared.setdefault(entrants[n].shared_place, []).append(n)
    place_of = {n: place for place, members in shared.items() for n in members}
    for members in shared.values():
        played = {entrants[n].contender: n for n in members}  # equal bundles share their games
        own = list(played.values())
        told = np.maximum(sigma[own], 1e-9) ** -2.0
        mu[members] = float((mu[own] * told).sum() / told.sum())
        sigma[members] = float(told.sum()) ** -0.5
    first: dict[tuple[str, int], int] = {}
    return np.array(
        [
            n
            if each.contender < 0
            else first.setdefault((place_of[n], -1) if n in place_of else ("", each.contender), n)
            for n, each in enumerate(entrants)
        ],
        np.intp,
    )


def _medal_class(rules: MedalRules, ahead: int, score: float, last: Sequence[int]) -> int | None:
    """Returns the class of a team's medal, 0 the best; None without a medal.

    ``ahead`` is the number of teams that stand before it.
    """
    if rules.lines is not None:
        return next((n for n, line in enumerate(rules.lines) if score >= line), None)
    return next((n for n, cut in enumerate(last) if ahead < cut), None)


def _chance_of_class(chances: Floats, earned: int) -> float:
    """Returns the probability that a team has a medal of exactly this class; 0 is the best."""
    return float(chances[earned] - (chances[earned - 1] if earned else 0.0))


Ranks = NDArray[np.int32]
AT_ONCE: Final = 32
"""Number of draws whose working arrays fit the cache."""


@dataclass(frozen=True)
class RankOutlook:
    """Possible ranks of each contender."""

    rank_low: Ranks
    """Best rank of the 95 % interval."""
    rank_high: Ranks
    """Worst rank of the 95 % interval."""
    chances: Floats
    """[n, cuts]: the probability of a rank at each cut or better."""


def draw_ranks(
    mu: Floats,
    sigma: Floats,
    twins: NDArray[np.intp],
    rivals: NDArray[np.intp],
    count: int,
    seed: int,
) -> Ranks:
    """Returns ``count`` draws of each contender's rank among these rivals: [count, n].

    ``twins`` gives the place whose draw a contender shares, or its own place. Twins tie, and count
    as one rival.
    """
    rng = np.random.Generator(np.random.SFC64(seed))
    first, own = np.unique(twins, return_inverse=True)
    rivals_there = np.zeros(len(first), np.int32)
    rivals_there[own[rivals]] = 1
    drawn = np.empty((count, len(mu)), np.int32)
    for start in range(0, count, AT_ONCE):
        part = drawn[start : start + AT_ONCE]
        skills = rng.standard_normal((len(part), len(first)))
        skills *= sigma[first]
        skills += mu[first]
        best_first = np.argsort(-skills, axis=1)
        there = rivals_there[best_first]
        rank = np.empty(best_first.shape, np.int32)
        np.put_along_axis(rank, best_first, np.cumsum(there, axis=1) - there + 1, axis=1)
        np.take(rank, own, axis=1, out=part)
    return drawn


def rank_outlook(ranks: Ranks, cuts: Sequence[int]) -> RankOutlook:
    """Returns 95 % intervals (2.5 % of the draws outside each end) and chances."""
    low, high = (math.ceil(share * len(ranks)) - 1 for share in (0.025, 0.975))
    ordered = np.sort(ranks, axis=0)
    return RankOutlook(ordered[low], ordered[high], _medal_chances(ranks, cuts))


def expected_order(drawn: Ranks, shown: NDArray[np.intp]) -> float:
    """Returns the expected Spearman correlation of the shown ranks with the true ones.

    ``drawn`` are draws of the same contenders' ranks: [count, n].
    """
    n = len(shown)
    if n < 2:
        return 1.0
    gaps = ((drawn - shown) ** 2.0).sum(axis=1)
    return float(1.0 - 6.0 * gaps.mean() / (n * (n**2 - 1.0)))


def remaining_uncertainty(ranks: Ranks, cuts: Sequence[int], boundary_weight: float) -> Floats:
    """Returns each contender's remaining uncertainty, in the order and in the medals.

    6 Var(rank) / n^3 + boundary_weight / medals * the sum over cuts of P (1 - P). P is the
    probability of a rank at the cut or better.
    """
    n = ranks.shape[1]
    order = 6.0 * ranks.var(axis=0) / max(n, 1) ** 3
    chances = _medal_chances(ranks, cuts)
    medals = max([1, *cuts])
    unclear: Floats = order + boundary_weight / medals * (chances * (1.0 - chances)).sum(axis=1)
    return unclear


def _medal_chances(ranks: Ranks, cuts: Sequence[int]) -> Floats:
    if not cuts:
        return np.zeros((ranks.shape[1], 0))
    return np.stack([np.count_nonzero(ranks <= cut, axis=0) for cut in cuts], axis=1) / len(ranks)


ORDER_GOAL: Final = 0.99
"""Expected Spearman correlation with the true order from which medals come first."""
ORDER_GAMES: Final = 110.0
"""Mean games of a competitor from which medals come first in any case."""
WRONG_GOAL: Final = 0.05
"""Expected share of wrong medals up to which order and medals both count."""
ORDER_WEIGHT: Final = 0.005
"""Weight of medal boundaries against the order while the order comes first."""
MEDAL_WEIGHT: Final = 0.3
"""Weight of medal boundaries against the order while medals come first."""
FINAL_WEIGHT: Final = 5.0
"""Weight of medal boundaries against the order after uploads close."""
BOTH_WEIGHT: Final = 0.1
"""Weight of medal boundaries against the order while both count."""
MANY_MEDALS: Final = 0.25
"""If at least this share of the teams holds medals, both count while uploads are open. With the
default medals these are leagues of up to 400 teams.
"""


def open_weight(
    medal_share: float, expected_order: float, mean_games: float, wrong_share: float
) -> float:
    """Returns the weight of medal boundaries against the order while uploads are open.

    ``medal_share`` is the share of teams with a medal, ``wrong_share`` the expected share of wrong
    medals.
    """
    if medal_share >= MANY_MEDALS:
        return BOTH_WEIGHT
    if expected_order < ORDER_GOAL and mean_games < ORDER_GAMES:
        return ORDER_WEIGHT
    return MEDAL_WEIGHT if wrong_share > WRONG_GOAL else BOTH_WEIGHT
