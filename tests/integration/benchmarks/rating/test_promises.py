from __future__ import annotations

from benchmarks.rating import __main__ as rating
from benchmarks.rating import rules, tricks


def test_a_promise_stands_beside_its_aim() -> None:
    (row,) = rating.in_flight([1, 2])
    assert row[-1] == "yes"
    assert row[2] == "<= 4"


def test_a_slow_agent_without_a_limit_holds_many_places() -> None:
    assert rules.most_in_flight(1, None) > tricks.MOST_IN_FLIGHT


def test_a_frozen_score_gains_only_by_the_first_rules() -> None:
    before, ours = (
        tricks.play_season(1, "freeze", first_rules=first).gain_points for first in (True, False)
    )
    assert before > ours
