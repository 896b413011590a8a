"""The text that says who must agree before a league shows more."""

from __future__ import annotations

import pytest

from ladder.leagues.agreements import who_must_agree


@pytest.mark.parametrize(
    ("people", "teams", "told"),
    [
        (1, 0, "1 member has not agreed to this setting. This member"),
        (3, 0, "3 members have not agreed to this setting. Each of them"),
        (
            *(0, 1),
            "1 team whose people are not members has not agreed to this setting."
            " One person of each team",
        ),
        (
            *(1, 2),
            "1 member and 2 teams whose people are not members have not agreed to this setting."
            " Each of these members and one person of each team",
        ),
    ],
)
def test_the_text_counts_only_those_who_must_agree(people: int, teams: int, told: str) -> None:
    assert who_must_agree(people, teams) == told
