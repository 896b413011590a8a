"""What comes next where one match follows another."""

from __future__ import annotations

from dataclasses import replace

from ladder.ids import LeagueId, MatchId
from ladder.matches.records import Match
from ladder.reports.next_match import choose_next
from tests.unit.ladder.matches.test_match_titles import match


def of(name: str, league: str) -> Match:
    return replace(match([1, 2]), id=MatchId(name), league_id=LeagueId(league))


def test_match_of_another_league_is_chosen_first() -> None:
    best = [of("geese", "geese"), of("snake", "snake")]
    chosen = choose_next(([], best), [], LeagueId("geese"))
    assert chosen is not None
    assert chosen.id == "snake"


def test_each_match_is_shown_once_before_any_repeats() -> None:
    live = [of("live", "geese")]
    best = [of("geese", "geese"), of("snake", "snake")]
    past: list[str] = []
    last = None
    for _ in range(5):
        chosen = choose_next((live, best), past, last)
        assert chosen is not None
        past = [*(one for one in past if one != chosen.id), chosen.id]
        last = chosen.league_id
    # After all three, those of the longest time ago come again.
    assert past == ["geese", "live", "snake"]
    assert choose_next((), past, last) is None
