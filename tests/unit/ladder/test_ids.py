from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder import ids


@given(st.sampled_from(ids.PREFIXES), st.integers(0, 2**48 - 2))
def test_ids_sort_by_time(prefix: str, at_ms: int) -> None:
    earlier, later = ids.new_id(prefix, at_ms=at_ms), ids.new_id(prefix, at_ms=at_ms + 1)
    assert ids.is_id(earlier, prefix)
    assert earlier < later
    assert f"{prefix}_{ids.time_part(at_ms)}" <= earlier < f"{prefix}_{ids.time_part(at_ms + 1)}"


def test_ids_of_one_millisecond_sort_in_creation_order() -> None:
    made = [ids.new_id("mat") for _ in range(2000)]
    assert made == sorted(set(made))


def test_another_prefix_or_shape_is_an_invalid_id() -> None:
    match_id = ids.new_id("mat")
    assert not ids.is_id(match_id, "ent")
    assert not ids.is_id(match_id.upper(), "mat")
    assert not ids.is_id(match_id + "0", "mat")
    with pytest.raises(ValueError, match="prefix"):
        ids.new_id("xyz")
