from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.equal_groups import EqualGroup, find_equal_groups
from ladder.ratings.official.season_suspects import chance_sureness


def field_with_copies(seed: int, honest: int, copies: int, sigma: float) -> list[EqualGroup]:
    """Groups in a field of normal skills, with copies at 1 beta; honest entries come first.

    The copies' estimates spread by 1.25 deviations, as in simulated floods.
    """
    rng = np.random.default_rng(seed)
    skill = np.concatenate([rng.standard_normal(honest), np.full(copies, 1.0)])
    error = sigma * rng.standard_normal(len(skill))
    error[honest:] *= 1.25
    return find_equal_groups(skill + error, np.full(len(skill), sigma))


@pytest.mark.parametrize("sigma", [0.25, 0.2, 0.1])
def test_copies_are_found_as_one_group(sigma: float) -> None:
    for seed in range(3):
        group = field_with_copies(seed, 100, 100, sigma)[0]
        assert np.count_nonzero(group.members >= 100) > 75
        assert np.count_nonzero(group.members < 100) < 45
        assert abs(group.middle - 1.0) < sigma
        assert 0.5 < group.share < 0.95
        assert abs(np.count_nonzero(group.members < 100) - group.explained) < 20


@pytest.mark.parametrize(("honest", "sigma"), [(100, 0.3), (100, 0.1), (1000, 0.15), (1000, 0.05)])
def test_a_field_without_copies_has_no_group(honest: int, sigma: float) -> None:
    assert [field_with_copies(seed, honest, 0, sigma) for seed in range(5)] == [[]] * 5


def test_games_tell_a_dense_part_of_a_field_apart() -> None:
    rng = np.random.default_rng(1)
    skill = np.concatenate([2.0 * rng.standard_normal(150), 0.3 * rng.standard_normal(150)])
    sigma = np.full(300, 0.08)
    assert find_equal_groups(skill + sigma * rng.standard_normal(300), sigma) == []


def test_most_floods_are_surer_than_chance_as_soon_as_they_may_be_a_group() -> None:
    floods = [field_with_copies(seed, 100, 100, 0.33) for seed in range(40)]
    sure = [bool(groups) and groups[0].sureness > chance_sureness(200) for groups in floods]
    assert sum(sure) >= 30


def test_less_known_contenders_do_not_hide_a_group() -> None:
    rng = np.random.default_rng(1)
    sigma = np.repeat([0.2, 0.8], [200, 100])
    skill = np.concatenate([rng.standard_normal(100), np.full(100, 1.0), np.full(100, -0.7)])
    mu = skill + sigma * rng.standard_normal(300)
    group = find_equal_groups(mu, sigma)[0]
    assert np.count_nonzero((group.members >= 100) & (group.members < 200)) > 50


def test_places_beside_a_group_are_no_groups() -> None:
    for seed in range(5):
        found = field_with_copies(seed, 600, 150, 0.25)
        assert [round(group.middle) for group in found] == [1]


def test_tiny_fields_have_no_group() -> None:
    assert find_equal_groups(np.zeros(0), np.zeros(0)) == []
    assert find_equal_groups(np.zeros(5), np.full(5, 0.1)) == []
