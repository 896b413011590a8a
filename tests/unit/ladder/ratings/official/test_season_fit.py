from __future__ import annotations

from collections.abc import Sequence

import pytest

from ladder.ids import EntryId, TeamId
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.season_fit import (
    FINAL_WEIGHT,
    OPEN_WEIGHT,
    ORDER_GAMES,
    boundary_weight,
)


@pytest.mark.parametrize(
    ("games", "is_open", "weight"),
    [
        ([], True, 0.0),
        ([ORDER_GAMES - 1] * 4, True, 0.0),
        ([ORDER_GAMES - 1, ORDER_GAMES], True, OPEN_WEIGHT / 2),
        ([ORDER_GAMES, 10 * ORDER_GAMES], True, OPEN_WEIGHT),
        ([0], False, FINAL_WEIGHT),
    ],
)
def test_the_weight_of_medals_follows_the_games_of_competitors(
    games: Sequence[int], is_open: bool, weight: float
) -> None:
    entrants = [
        Entrant(EntryId(f"ent_{n}"), TeamId(f"tea_{n}"), n, -1, is_anchor=False, games=count)
        for n, count in enumerate(games)
    ]
    anchor = Entrant(EntryId("ent_a"), TeamId("tea_a"), 9, -1, is_anchor=True, games=1000)
    assert boundary_weight([*entrants, anchor], is_open) == weight
