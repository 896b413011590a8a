"""The names that ``python -m benchmarks`` runs."""

from __future__ import annotations

import importlib.util

import pytest

from benchmarks.__main__ import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_name_is_a_module(name: str) -> None:
    assert importlib.util.find_spec(f"benchmarks.{name}") is not None
