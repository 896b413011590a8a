"""Decides whether games make the order or the medals more certain. Pure.

While uploads are open, the order comes first. Medals come first as soon as the standing expects a
correlation of ``ORDER_GOAL`` with the true order. Games for medals tell more when it is known who
may win one. A new entry lowers the expected correlation, so the order may come first again.

A league with many new entries may never reach that correlation. Then medals come first after
``ORDER_GAMES``. If at least ``MANY_MEDALS`` of the teams hold medals, order and medals both count
from the start.
"""

from __future__ import annotations

from typing import Final

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
