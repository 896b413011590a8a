from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder.medals import Medal, cuts, medal


@pytest.mark.parametrize(
    ("teams", "expected"),
    [
        (0, (0, 0, 0)),
        (1, (0, 0, 0)),
        (3, (0, 0, 1)),
        (5, (0, 1, 2)),
        (9, (0, 1, 3)),
        (10, (1, 2, 4)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (499, (10, 50, 100)),
        (500, (11, 50, 100)),
        (875, (11, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (1019, (12, 50, 101)),
        (9066, (28, 453, 906)),
    ],
)
def test_the_cuts_are_kaggles_table_rounded_down(
    teams: int, expected: tuple[int, int, int]
) -> None:
    assert cuts(teams) == expected


@given(st.integers(0, 20_000), st.integers(-1, 20_001))
def test_a_better_rank_never_earns_less_and_the_cuts_are_cumulative(teams: int, rank: int) -> None:
    gold, silver, bronze = cuts(teams)
    assert 0 <= gold <= silver <= bronze <= teams
    expected = None
    if 1 <= rank <= gold:
        expected = Medal.GOLD
    elif gold < rank <= silver:
        expected = Medal.SILVER
    elif silver < rank <= bronze:
        expected = Medal.BRONZE
    assert medal(rank, teams) is expected


def test_a_negative_number_of_teams_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        cuts(-1)
