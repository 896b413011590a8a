"""The analysis of an entry, on invented games."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimates.intervals import Z95
from ladder.ids import AgentId, EntryId, MatchId
from ladder.matches.pairing.information_gain import fisher_information
from ladder.ratings.rating_updates import Rating
from ladder.reports import entry_analysis
from ladder.reports.entry_analysis import OtherSeat, PlayedMatch, RelativeStrength

BETA = 150.0
OWN = Rating(600.0, 0.0)
numbers = count()


def game(
    *rivals: tuple[str, int], placement: int = 1, seat: int = 0, verdict: str = "DONE"
) -> PlayedMatch:
    """A game against these opponents with these places."""
    number = next(numbers)
    return PlayedMatch(
        match_id=MatchId(f"m{number}"),
        at=datetime(2026, 1, 1, tzinfo=UTC),
        seat=seat,
        placement=placement,
        reward=float(10 - placement),
        verdict=verdict,
        charged_seconds=float(number),
        max_move_seconds=0.1,
        rivals=tuple(
            OtherSeat(EntryId(f"e{name}"), AgentId(name), place, float(10 - place), "DONE")
            for name, place in rivals
        ),
    )


def scores(**mus: float) -> dict[EntryId, Rating]:
    return {EntryId(f"e{name}"): Rating(mu, 0.0) for name, mu in mus.items()}


def test_meetings_are_counted_by_placement() -> None:
    games = [game(("a", 2), ("b", 1)), game(("a", 1), placement=3), game(("a", 3))]
    first, second = entry_analysis.head_to_head(games)
    assert (first.agent_id, first.games) == ("a", 3)
    assert (first.better, first.tied, first.worse) == (2, 0, 1)
    assert first.reward_difference == pytest.approx((1 - 2 + 2) / 3)
    assert (second.better, second.tied, second.worse) == (0, 1, 0)


def test_half_a_beta_separates_stronger_near_and_weaker_opponents() -> None:
    games = [game(("a", 2), ("b", 2), ("c", 2), ("d", 2))]
    known = scores(a=600 + 76, b=600 + 74, c=600 - 74, d=600 - 76)
    found = entry_analysis.shares_by_strength(entry_analysis.duels(games, OWN, known, BETA))
    assert [found[kind].duels for kind in RelativeStrength] == [1, 2, 1]
    assert found[RelativeStrength.NEAR].actual == 1.0
    assert found[RelativeStrength.NEAR].expected == pytest.approx(0.5)
    assert found[RelativeStrength.STRONGER].expected == pytest.approx(
        1 - (found[RelativeStrength.WEAKER].expected or 0)
    )


def test_a_faulty_game_does_not_count_for_strength() -> None:
    games = [game(("a", 1), placement=2, verdict="TIMEOUT")]
    found = entry_analysis.shares_by_strength(entry_analysis.duels(games, OWN, scores(a=600), BETA))
    assert found[RelativeStrength.NEAR] == entry_analysis.WinShare(0, 1, None, None)
    assert entry_analysis.shares_by_seat(games, [])[0].games == 1


def test_the_least_expected_results_come_first() -> None:
    games = [
        game(("a", 2)),
        game(("b", 2)),
        game(("a", 1), placement=2),
        game(("w", 1), placement=2),
    ]
    won, lost = entry_analysis.upsets(
        entry_analysis.duels(games, OWN, scores(a=700, b=900, w=500), BETA), 5
    )
    assert [upset.agent_id for upset in won] == ["b", "a"]
    assert [upset.agent_id for upset in lost] == ["w"]
    assert all(upset.expected < entry_analysis.SURPRISE for upset in won + lost)
    assert entry_analysis.upsets(
        entry_analysis.duels(games, OWN, scores(a=610, b=690, w=590), BETA), 5
    ) == (
        [],
        [],
    )


def test_time_statistics_of_one_game_equal_the_game() -> None:
    assert entry_analysis.time_summary([], 1.0) is None
    (only,) = games = [game(("a", 2))]
    found = entry_analysis.time_summary(games, 1.0)
    assert found is not None
    assert found.match_p99_seconds == found.match_median_seconds == only.charged_seconds


@given(
    sigma=st.floats(1, 300),
    within=st.floats(1, 300),
    seats=st.integers(2, 8),
)
def test_games_left_is_the_fewest_games_for_the_interval(
    sigma: float, within: float, seats: int
) -> None:
    left = entry_analysis.games_left(sigma, within, beta=BETA, seats=seats)
    assert left is not None

    def half(games: int) -> float:
        precision = (BETA / sigma) ** 2 + games * fisher_information(seats)
        return Z95 * BETA / sqrt(precision)

    assert half(left) <= within * (1 + 1e-9)
    assert left == 0 or half(left - 1) >= within * (1 - 1e-9)


def test_games_left_is_unknown_if_overdispersion_keeps_the_interval_wide() -> None:
    strays = (20 / BETA) ** 2

    def left(within: float, *repeated: float) -> int | None:
        return entry_analysis.games_left(
            50, within, beta=BETA, seats=4, strays=strays, repeated=(repeated[0], repeated[1])
        )

    assert left(1.9 * 20, 1.0, 1.0) is None
    more, fewer = left(60, 1.0, 1.0), left(60, 0.0, 0.0)
    assert more is not None
    assert fewer is not None
    assert more > fewer > 0
    fading = left(1.9 * 20, 1.0, 0.0)
    assert fading is not None, "new opponents make up for those met so far"
    assert left(97, 1.0, 0.0) == 1
    assert entry_analysis.games_left(50, 60, beta=BETA, seats=1) is None


def test_a_single_meeting_is_not_a_repetition() -> None:
    once = entry_analysis.head_to_head([game(("a", 2), ("b", 2), ("c", 2), ("d", 2))])
    assert entry_analysis.opponent_repetition(once) == (0.25, 0.0)
    always = entry_analysis.head_to_head([game(("a", 2)) for _ in range(5)])
    assert entry_analysis.opponent_repetition(always) == (1.0, 1.0)
    assert entry_analysis.opponent_repetition([]) == (0.0, 0.0)
    assert entry_analysis.opponent_repetition(entry_analysis.head_to_head([game(("a", 2))])) == (
        1.0,
        0.0,
    )
