"""When a medal is certain enough, and how often a certain medal turns out wrong."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass

import numpy as np
import pytest

from ladder.leagues.medals import BEST_FIRST, Medal, MedalRuleKind, MedalRules
from ladder.matches.pairing.information_gain import fisher_information
from ladder.ratings.medal_sealing import (
    GROWTH,
    STANDINGS_THAT_MUST_AGREE,
    Chances,
    sealed_medal,
)
from ladder.ratings.official.standing import DRAWS

LINES = MedalRules(MedalRuleKind.LINES, 900.0, 800.0, 700.0)
AGENTS = 100


@pytest.mark.parametrize(
    ("rules", "chance", "medal"),
    [
        (MedalRules(), 0.96, Medal.SILVER),  # counted in 400 draws: the true value may be 0.94
        (MedalRules(), 0.98, Medal.GOLD),
        (LINES, 0.96, Medal.GOLD),
        (LINES, 0.94, Medal.SILVER),
    ],
)
def test_a_sampled_chance_needs_a_margin_for_sampling_error(
    rules: MedalRules, chance: float, medal: Medal
) -> None:
    assert sealed_medal([(chance, 1.0, 1.0)], rules, 0.95) is medal


def test_a_sealed_medal_needs_certainty_in_every_look() -> None:
    gold, silver, nothing = (1.0, 1.0, 1.0), (0.5, 1.0, 1.0), (0.0, 0.1, 0.9)
    assert sealed_medal([gold, gold, gold], LINES, 0.95) is Medal.GOLD
    assert sealed_medal([gold, silver, gold], LINES, 0.95) is Medal.SILVER
    assert sealed_medal([gold, silver, nothing], LINES, 0.95) is None


@dataclass(frozen=True)
class Looked:
    """One season: a standing after every thirtieth result, and the deserved medals."""

    games: list[float]
    chances: list[list[Chances]]
    deserved: list[int]
    """By agent: 0 gold, 3 nothing."""


def looked_at(seed: int, too_small: float) -> Looked:
    """A season whose fit has deviations ``too_small`` times the right ones.

    One seed serves the draws of all its standings.
    """
    rng = np.random.default_rng(seed)
    skill = rng.standard_normal(AGENTS)
    cuts = np.array(MedalRules().cuts(AGENTS))
    noise = rng.standard_normal((DRAWS, AGENTS))
    deserved = np.searchsorted(cuts, (-skill).argsort().argsort() + 1).tolist()
    found = Looked([], [], deserved)
    told, known, games = np.zeros(AGENTS), 0.0, 10.0
    while games < 250:
        new = games * fisher_information(4) - known
        told += new * skill + np.sqrt(new) * rng.standard_normal(AGENTS)
        known += new
        drawn = told / (1 + known) + noise * too_small / np.sqrt(1 + known)
        last = -np.sort(-drawn, axis=1)[:, cuts - 1]
        shares = [(drawn >= last[:, n : n + 1]).mean(axis=0) for n in range(3)]
        found.games.append(games)
        found.chances.append(list(zip(*(each.tolist() for each in shares), strict=True)))
        games *= 1 + 1 / 30
    return found


def sealed(season: Looked, looks: int) -> list[tuple[int, int]]:
    """The best class sealed for each agent that has one, and its deserved class."""
    best: dict[int, int] = {}
    for n in range(len(season.games)):
        chosen = [n]
        while chosen[-1] >= 0 and len(chosen) < looks:
            aim = season.games[chosen[-1]] / GROWTH
            chosen.append(bisect(season.games, aim) - 1)
        if chosen[-1] < 0:
            continue
        for who in range(AGENTS):
            if season.chances[n][who][2] > 0.95:
                medal = sealed_medal(
                    [season.chances[look][who] for look in chosen], MedalRules(), 0.95
                )
                if medal is not None:
                    best[who] = min(best.get(who, 2), BEST_FIRST.index(medal))
    return [(medal, season.deserved[who]) for who, medal in best.items()]


@pytest.mark.parametrize("too_small", [1.0, 0.8])
def test_at_most_5_percent_of_medals_sealed_at_95_percent_are_wrong(
    too_small: float,
) -> None:
    # A fit with right deviations, and one with too small ones.
    seasons = [looked_at(seed, too_small) for seed in range(8)]
    shares = {}
    for looks in (1, STANDINGS_THAT_MUST_AGREE):
        seals = [seal for season in seasons for seal in sealed(season, looks)]
        assert len(seals) > 8 * 30
        shares[looks] = sum(deserved > medal for medal, deserved in seals) / len(seals)
    assert shares[STANDINGS_THAT_MUST_AGREE] <= 0.05
    assert shares[STANDINGS_THAT_MUST_AGREE] < shares[1]
