"""The names that ``python -m benchmarks`` runs."""

from __future__ import annotations

import importlib.util

import pytest

from benchmarks.__main__ import MARK, NAMES, PAGE


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_name_is_a_module(name: str) -> None:
    assert importlib.util.find_spec(f"benchmarks.{name}") is not None


def test_the_page_of_figures_says_once_which_part_a_run_writes() -> None:
    assert PAGE.read_text().count(MARK) == 1
