from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.equal_groups import EqualGroup, find_equal_groups


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
        assert np.count_nonzero(group.members >= 100) > 65
        assert np.count_nonzero(group.members < 100) < 45
        assert abs(group.middle - 1.0) < sigma
        assert 0.5 < group.share < 0.95
        assert abs(np.count_nonzero(group.members < 100) - group.explained) < 25


@pytest.mark.parametrize(("honest", "sigma"), [(100, 0.3), (100, 0.1), (1000, 0.15), (1000, 0.05)])
def test_a_field_without_copies_has_no_group(honest: int, sigma: float) -> None:
    assert [field_with_copies(seed, honest, 0, sigma) for seed in range(5)] == [[]] * 5


def test_games_tell_a_dense_part_of_a_field_apart() -> None:
    rng = np.random.default_rng(1)
    skill = np.concatenate([2.0 * rng.standard_normal(150), 0.3 * rng.standard_normal(150)])
    sigma = np.full(300, 0.08)
    assert find_equal_groups(skill + sigma * rng.standard_normal(300), sigma) == []


def test_the_field_with_which_a_group_is_compared_does_not_have_its_members() -> None:
    found = [field_with_copies(seed, 100, 100, 0.25) for seed in range(40)]
    sureness = [max((group.sureness for group in groups), default=0.0) for groups in found]
    assert np.median(sureness) > 5.75  # 5.64 with the whole field


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_skewed_field_without_copies_seldom_has_a_group(sign: float) -> None:
    groups = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        skill = sign * rng.exponential(1.0, 200)
        groups += len(find_equal_groups(skill + 0.3 * rng.standard_normal(200), np.full(200, 0.3)))
    assert groups <= 1  # 8 if a normal field is expected


def test_few_contenders_in_the_tail_of_a_field_are_no_group() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        skill = rng.standard_normal(200)
        skill[100:] = 1.5
        skill[:20] -= 4.0
        error = 0.2 * rng.standard_normal(200)
        found = find_equal_groups(skill + error, np.full(200, 0.2))
        assert [len(group.members) > 80 for group in found] == [True]


def test_many_new_contenders_do_not_hide_a_group() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        skill = np.concatenate([rng.standard_normal(100), np.full(100, 1.0)])
        new = 0.6 * rng.standard_normal(300)
        mu = np.concatenate([new, skill + 0.2 * rng.standard_normal(200)])
        group = find_equal_groups(mu, np.repeat([0.8, 0.2], [300, 200]))[0]
        assert np.count_nonzero(group.members >= 400) > 75
        assert group.members.min() >= 300


def test_places_beside_a_group_are_no_groups() -> None:
    for seed in range(5):
        found = field_with_copies(seed, 600, 150, 0.25)
        assert [round(group.middle) for group in found] == [1]


def test_tiny_fields_have_no_group() -> None:
    assert find_equal_groups(np.zeros(0), np.zeros(0)) == []
    assert find_equal_groups(np.zeros(5), np.full(5, 0.1)) == []
