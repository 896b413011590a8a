from __future__ import annotations

import numpy as np
import pytest

from ladder.official.scale import score, shown


def test_the_reference_scores_600_and_a_beta_is_150_points() -> None:
    assert score(0.7, 0.7) == 600.0
    assert score(np.array([1.7, -0.3]), 0.7) == pytest.approx([750.0, 450.0])
    assert shown(0.2) == pytest.approx(30.0)
