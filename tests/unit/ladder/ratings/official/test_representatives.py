from __future__ import annotations

from typing import Any

import numpy as np

from ladder.ids import EntryId, TeamId
from ladder.ratings.official.representatives import LEAST_GAMES, Entrant, choose_representatives


def chosen(mu: list[float], games: list[int], sigma: float = 0.1, **changes: Any) -> list[int]:
    """The representatives of one team with these entries, oldest first."""
    declared = changes.get("declared", -1)
    team = [
        Entrant(
            EntryId(f"ent_{n}"),
            TeamId("tea_1"),
            changes.get("contenders", range(len(mu)))[n] if games[n] else -1,
            -1,
            is_anchor=n in changes.get("anchors", ()),
            is_declared=n == declared,
            games=games[n],
        )
        for n in range(len(mu))
    ]
    return list(choose_representatives(team, np.array(mu), np.full(len(mu), sigma)))


def test_the_newest_entry_with_enough_games_represents_its_team() -> None:
    assert chosen([0.1, 0.0], [50, LEAST_GAMES]) == [1]
    assert chosen([0.0, 1.0], [50, LEAST_GAMES - 1]) == [0]


def test_bytes_that_enter_again_are_as_old_as_before() -> None:
    assert chosen([0.1, 0.0, 0.1], [50, LEAST_GAMES, 50], contenders=[0, 1, 0]) == [1]


def test_an_older_entry_that_is_surely_better_represents_its_team() -> None:
    assert chosen([0.5, 0.7, 0.0], [50, 50, 50]) == [1]
    assert chosen([0.2, 0.0], [50, 50]) == [1]


def test_without_enough_games_the_entry_with_the_most_represents_its_team() -> None:
    assert chosen([0.0, 9.0, 9.0], [3, 2, 2]) == [0]
    assert chosen([0.0, 0.0], [2, 2]) == [1]
    assert chosen([0.0], [0]) == []


def test_a_declared_entry_counts_once_it_has_enough_games() -> None:
    assert chosen([0.0, 9.0], [50, 50], declared=0) == [0]
    assert chosen([0.0, 9.0], [LEAST_GAMES - 1, 50], declared=0) == [1]
    assert chosen([0.0, 9.0], [1, 2], declared=0) == [0]


def test_a_reference_agent_represents_no_team() -> None:
    assert chosen([9.0, 0.0], [50, 50], anchors=[0]) == [1]
