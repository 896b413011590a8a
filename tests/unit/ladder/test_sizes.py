from __future__ import annotations

import pytest

from ladder.sizes import size_text
from services.http.uploads import too_large_problem


@pytest.mark.parametrize(
    ("value", "text"),
    [(999, "999 B"), (12 << 10, "12 kB"), (3 << 19, "1.5 MB"), (100 << 20, "100 MB")],
)
def test_a_size_is_shown_in_its_largest_unit(value: int, text: str) -> None:
    assert size_text(value) == text


def test_a_refused_upload_names_the_largest_size_in_megabytes() -> None:
    assert "at most 100 MB are allowed" in too_large_problem(100 << 20).detail
