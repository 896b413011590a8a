from __future__ import annotations

from math import sqrt
from random import Random
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ladder.enums import KAGGLE
from ladder.ids import EntryId, MatchId
from ladder.ratings.rating_updates import (
    RatedResult,
    Rating,
    RatingParameters,
    rate_result,
    update_ratings,
)
from tests.rated_log import rate_all

SEASON = RatingParameters()
START = SEASON.initial_rating
RATINGS = st.builds(Rating, st.floats(-500, 2500), st.floats(5, 250))
SEATS = st.integers(2, 6)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Rating], list[int], list[bool]]:
    seats = draw(SEATS)
    return (
        draw(st.lists(RATINGS, min_size=seats, max_size=seats)),
        draw(st.lists(st.integers(1, seats), min_size=seats, max_size=seats)),
        draw(st.lists(st.booleans(), min_size=seats, max_size=seats)),
    )


def test_a_duel_between_newcomers_matches_trueskill() -> None:
    winner, loser = update_ratings(SEASON, [START, START], [1, 2], [False, False])
    # Herbrich, Minka, Graepel 2006: the closed form for two players.
    normal = NormalDist()
    margin = normal.inv_cdf((1 + 0.05) / 2) * sqrt(2) * 150
    c = sqrt(2 * 150**2 + 2 * 200**2)
    v = normal.pdf(-margin / c) / normal.cdf(-margin / c)
    w = v * (v - margin / c)
    assert winner.mu == pytest.approx(600 + 200**2 / c * v)
    assert loser.mu == pytest.approx(600 - 200**2 / c * v)
    assert winner.sigma == loser.sigma == pytest.approx(200 * sqrt(1 - 200**2 / c**2 * w))


def test_a_draw_between_equals_moves_no_mean() -> None:
    for after in update_ratings(SEASON, [START, START], [1, 1], [False, False]):
        assert after.mu == pytest.approx(600.0)
        assert after.sigma < START.sigma


def test_a_faulty_seat_lowers_only_the_faulty_agents_rating() -> None:
    field = [Rating(600, 100), Rating(620, 90), Rating(640, 80), Rating(660, 70)]
    after = update_ratings(SEASON, field, [2, 1, 4, 3], [False, False, False, True])
    assert after[:3] == update_ratings(SEASON, field[:3], [2, 1, 3], [False] * 3)
    assert after[3] == update_ratings(SEASON, field, [2, 1, 4, 5], [False] * 4)[3]
    assert after[3].mu < field[3].mu


def test_two_faulty_seats_do_not_rate_each_other() -> None:
    field = [Rating(600, 100), Rating(620, 90), Rating(640, 80)]
    after = update_ratings(SEASON, field, [1, 2, 2], [False, True, True])
    assert after[0] == field[0]  # a lone survivor gains nothing
    assert after[1] == update_ratings(SEASON, [field[0], field[1]], [1, 2], [False] * 2)[1]
    assert after[2] == update_ratings(SEASON, [field[0], field[2]], [1, 2], [False] * 2)[1]


def test_a_match_of_faulty_seats_changes_no_rating() -> None:
    field = [Rating(600, 100), Rating(620, 90)]
    assert update_ratings(SEASON, field, [1, 2], [True, True]) == tuple(field)


def test_kaggles_rule_uses_the_given_placements() -> None:
    field = [Rating(600, 100), Rating(620, 90), Rating(640, 80)]
    kaggle = RatingParameters(fault_rule=KAGGLE)
    assert update_ratings(kaggle, field, [1, 2, 3], [False, True, True]) == update_ratings(
        SEASON, field, [1, 2, 3], [False] * 3
    )


@given(SEATS.flatmap(lambda n: st.permutations(range(n))), st.data())
def test_seat_order_does_not_change_the_ratings(order: list[int], data: st.DataObject) -> None:
    seats = len(order)
    ratings = data.draw(st.lists(RATINGS, min_size=seats, max_size=seats))
    faults = data.draw(st.lists(st.booleans(), min_size=seats, max_size=seats))
    # Without ties: the package chains equal places in the order of its input.
    placements = data.draw(st.permutations(range(1, seats + 1)))
    straight = update_ratings(SEASON, ratings, placements, faults)
    turned = update_ratings(
        SEASON,
        [ratings[i] for i in order],
        [placements[i] for i in order],
        [faults[i] for i in order],
    )
    for place, i in enumerate(order):
        assert turned[place].mu == pytest.approx(straight[i].mu, abs=0.5)
        assert turned[place].sigma == pytest.approx(straight[i].sigma, abs=0.5)


@given(tables())
def test_a_match_never_increases_uncertainty(
    table: tuple[list[Rating], list[int], list[bool]],
) -> None:
    ratings, placements, faults = table
    after = update_ratings(SEASON, ratings, placements, faults)
    assert all(new.sigma <= old.sigma + 1e-9 for old, new in zip(ratings, after, strict=True))
    for old, new, fault in zip(ratings, after, faults, strict=True):
        if fault:
            assert new.mu <= old.mu + 1e-6


@given(st.floats(-1e5, 1e5), st.floats(-1e5, 1e5), st.floats(1, 250), st.booleans())
def test_an_extreme_upset_is_rated(mine: float, theirs: float, sigma: float, is_draw: bool) -> None:
    mu = Rating(mine, sigma), Rating(theirs, sigma)
    winner, loser = update_ratings(SEASON, mu, [1, 1 if is_draw else 2], [False, False])
    assert winner.mu == winner.mu
    if not is_draw:
        assert winner.mu >= mine - 1e-6
        assert loser.mu <= theirs + 1e-6


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(0, 30))
def test_incremental_updates_equal_a_full_replay(seed: int, cut: int) -> None:
    rng = Random(seed)
    field = [EntryId(f"e{n}") for n in range(6)]
    log = [
        RatedResult(
            MatchId(f"m{n}"),
            tuple(rng.sample(field, 4)),
            tuple(rng.randint(1, 4) for _ in range(4)),
            tuple(rng.random() < 0.2 for _ in range(4)),
        )
        for n in range(30)
    ]
    ratings = rate_all(SEASON, log[:cut])
    for result in log[cut:]:
        ratings.update(rate_result(SEASON, ratings, result))
    assert ratings == rate_all(SEASON, log)


def test_an_entry_in_several_seats_is_rated_by_the_best_seat() -> None:
    twin, other = EntryId("twin"), EntryId("other")
    after = rate_result(
        SEASON, {}, RatedResult(MatchId("m"), (twin, other, twin), (3, 2, 1), (False, False, False))
    )
    assert after == dict(
        zip((twin, other), update_ratings(SEASON, [START, START], [1, 2], [False] * 2), strict=True)
    )
