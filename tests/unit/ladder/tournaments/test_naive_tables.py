"""A part of the drill ``tournament-tables``."""

from __future__ import annotations

import pytest

from tests.drills.tournament_tables import check_tournament


@pytest.mark.parametrize("number", range(1, 41))
def test_random_tournament_has_one_champion_and_the_tables_of_the_documentation(
    number: int,
) -> None:
    _, faults = check_tournament(number)
    assert faults == []
