"""The pairs of a comparison, their scores, and the analysis of both versions."""

from __future__ import annotations

from collections import Counter

import pytest

from estimates import comparison
from estimates.comparison import (
    GameOfPair,
    PlayedPair,
    Rule,
    picture_after,
    plan_pair,
    report_of,
    share_beaten,
)

SEED = bytes(range(16))


def test_seats_and_opponents_are_drawn_evenly() -> None:
    pairs = [plan_pair(SEED, number, 4, 5) for number in range(1, 2001)]
    seats = Counter(pair.seat for pair in pairs)
    opponents = Counter(each for pair in pairs for each in pair.opponents)
    assert set(seats) == set(range(4))
    assert set(opponents) == set(range(5))
    assert max(seats.values()) < 1.3 * min(seats.values())
    assert max(opponents.values()) < 1.2 * min(opponents.values())
    assert all(len(set(pair.opponents)) == 3 for pair in pairs)
    assert len({pair.seed for pair in pairs}) == 2000


def test_both_lineups_differ_in_one_seat() -> None:
    pair = plan_pair(SEED, 7, 4, 2)
    assert pair == plan_pair(SEED, 7, 4, 2)
    old, new = pair.lineup(100), pair.lineup(200)
    assert [seat for seat in range(4) if old[seat] != new[seat]] == [pair.seat]
    assert set(old) == {0, 1, 100}


@pytest.mark.parametrize(
    ("placements", "seat", "share"),
    [((1, 2), 0, 1.0), ((1, 1), 1, 0.5), ((1, 2, 2, 4), 2, 0.5), ((1, 2, 3, 4), 3, 0.0)],
)
def test_share_beaten_counts_a_shared_place_half(
    placements: tuple[int, ...], seat: int, share: float
) -> None:
    assert share_beaten(placements, seat) == share


def game(*placements: int, fault: bool = False, moves: int | None = 10) -> GameOfPair:
    return GameOfPair(placements, fault, 0.5, 0.2, moves)


PAIRS = [
    PlayedPair(1, 0, ("a", "b"), game(2, 1, 3), game(1, 2, 3)),
    PlayedPair(2, 0, ("a", "b"), game(3, 1, 2, fault=True), game(3, 1, 2)),
    PlayedPair(3, 2, ("b", "b"), game(2, 3, 1), game(1, 2, 3)),
]


def test_gains_are_told_by_seat_and_opponent() -> None:
    seats = {gain.name: gain for gain in comparison.gains_by_seat(PAIRS)}
    assert (seats["seat 0"].games, seats["seat 0"].old, seats["seat 0"].new) == (2, 0.25, 0.5)
    assert (seats["seat 2"].old, seats["seat 2"].new) == (1.0, 0.0)
    opponents = comparison.gains_by_opponent(PAIRS)
    assert [gain.name for gain in opponents] == ["b", "a"]
    assert (opponents[1].games, opponents[1].old, opponents[1].new) == (2, 0.0, 0.5)


def test_few_or_equal_pairs_have_no_interval() -> None:
    for pairs in (PAIRS, PAIRS[:1] * 50):
        gains = [
            *comparison.gains_by_seat(pairs),
            *comparison.gains_by_opponent(pairs),
        ]
        assert {(gain.low, gain.high) for gain in gains} == {(None, None)}
    for gain in comparison.gains_by_opponent(PAIRS * 5):
        assert gain.low is not None
        assert gain.high is not None
        assert gain.low < gain.new - gain.old < gain.high


def test_own_faults_and_times_are_told_apart() -> None:
    picture = picture_after([pair.difference for pair in PAIRS], Rule())
    report = report_of(PAIRS, picture, Rule(), replayed_pairs=1)
    assert report.old is not None
    assert report.new is not None
    assert (report.old.faults, report.new.faults, report.replayed_pairs) == (1, 0, 1)
    assert report.old.mean_move_seconds == pytest.approx(0.05)
    assert report.log_likelihood_ratio is None


def test_most_telling_pairs_have_the_largest_differences() -> None:
    assert [pair.number for pair in comparison.most_telling(PAIRS, 5)] == [3, 1]
