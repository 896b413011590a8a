"""Decides when a medal is certain enough to be sealed. Pure.

Each standing is another chance for a class to pass the confidence by luck. So
``STANDINGS_THAT_MUST_AGREE`` standings must agree, each with ``GROWTH`` times the results of the
previous one.

Measured in 60 simulated seasons of 100 teams, with a standing after each thirtieth more results. At
95 % confidence, 2.8 % of the medals sealed by one standing are wrong, and 1.5 % by three. If the
fit's deviations are a fifth too small, 6.8 % and 4.1 % are wrong. The rule delays one medal in 25.

The final standing needs no other standing, because nobody chose its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from estimates.intervals import wilson_interval
from ladder.leagues.medals import BEST_FIRST, Medal, MedalRules
from ladder.ratings.official.standing import DRAWS

STANDINGS_THAT_MUST_AGREE: Final = 3
GROWTH: Final = 1.05
"""Least growth of the log between two standings: a twentieth."""

Chances = tuple[float, float, float]
"""Chances of gold, of silver or better, of any medal."""


def sealed_medal(looks: Sequence[Chances], rules: MedalRules, confidence: float) -> Medal | None:
    """Returns the class that all these standings support, or None.

    Chances of ranks come from draws, so the draws' error is subtracted.
    """
    for medal, chances in zip(BEST_FIRST, zip(*looks, strict=True), strict=False):
        if all(_chance_lower_bound(chance, rules) >= confidence for chance in chances):
            return medal
    return None


def _chance_lower_bound(chance: float, rules: MedalRules) -> float:
    """Returns a lower bound of the chance; for lines the chance is exact."""
    return chance if rules.lines is not None else wilson_interval(chance * DRAWS, DRAWS)[0]
