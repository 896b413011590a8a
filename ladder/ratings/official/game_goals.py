"""Decides how much games sharpen the medals and how much the order. Pure.

While uploads are open, most games first sharpen the order. As soon as the standing expects its
order to be nearly right, they sharpen the medals: only then is it known who may win one, and two
goals in turn need fewer games than both together. A newcomer, whose place nobody knows, brings the
games back to the order.
"""

from __future__ import annotations

from typing import Final

ORDER_GOAL: Final = 0.99
"""Expected Spearman correlation with the true order from which medals come first."""
WRONG_GOAL: Final = 0.05
"""Expected share of medals of a wrong class from which both count."""
EARLY_WEIGHT: Final = 0.01
"""Weight of medal boundaries against the order before the order is nearly right."""
MEDAL_WEIGHT: Final = 2.0
"""The same until the medals are nearly right too, and after uploads close."""
LATER_WEIGHT: Final = 0.1
"""The same after both."""


def open_weight(expected_order: float, wrong_share: float) -> float:
    """Returns the weight of medal boundaries against the order while uploads are open."""
    if expected_order < ORDER_GOAL:
        return EARLY_WEIGHT
    return MEDAL_WEIGHT if wrong_share > WRONG_GOAL else LATER_WEIGHT
