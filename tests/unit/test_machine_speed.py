"""Speed classes of machines."""

from __future__ import annotations

from itertools import pairwise

from workers.worker_announcement import CLASS_STEP, REFERENCE_SPEED, SpeedMeter, speed_class


def test_each_step_of_speed_has_a_class_of_its_own() -> None:
    names = [speed_class(REFERENCE_SPEED * CLASS_STEP**step) for step in range(-8, 12)]
    assert all(first != second for first, second in pairwise(names))
    assert names[8:13] == ["1x", "1.2x", "1.6x", "2x", "2.4x"]
    assert speed_class(REFERENCE_SPEED * 1.1) == speed_class(REFERENCE_SPEED / 1.1) == "1x"


def test_this_machine_has_a_speed() -> None:
    assert speed_class(SpeedMeter().speed()).endswith("x")
