"""The simulated league follows the limits of the service."""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchmarks.rating import __main__ as rating
from benchmarks.rating import worlds
from benchmarks.rating.official_ladder import DEFAULTS, Official
from benchmarks.rating.seasons import Life, _League, newer_of_team


def test_entries_of_a_team_are_counted_from_the_newest() -> None:
    teams = np.array([0, 1, 0, -1, 0, 1, -1], np.int32)
    assert newer_of_team(teams).tolist() == [2, 1, 1, 0, 0, 0, 0]


def test_a_team_keeps_its_newest_entries_and_one_is_ranked() -> None:
    world = worlds.living(12, 4, np.random.default_rng(1))
    league = _League(Official(4, growth=1.0), world, Life(games=32), np.random.default_rng(2))
    for day in range(5):
        league.admit([int(np.flatnonzero(league.teams == 0).max())], day)
        league.play()
    for _ in range(8):  # until the matches in flight have ended
        league.play()
    teams = Counter(league.teams[league.active].tolist())
    anchors = teams.pop(-1)
    assert anchors == 4
    assert len(teams) == 12
    assert max(teams.values()) == DEFAULTS.team_active_limit
    shown, places = league.board()
    assert Counter(league.teams[shown].tolist()) == dict.fromkeys(teams, 1)
    assert sorted(places.tolist()) == list(range(1, 13))


def test_a_short_season_has_measures_for_both_ladders() -> None:
    for make in (rating.ours_living, rating.kaggle):
        (living,) = rating.play_living(make, [1], Life(open_days=7, frozen_days=1, rounds=4))
        assert len(living.shots) == 2
        assert living.newcomers
        assert living.moved > 0
    for make in (rating.ours, rating.kaggle):
        (static,) = rating.play("static-100x4", make, [1], (5, 10))
        assert [shot.games for shot in static.shots] == [5, 10]
