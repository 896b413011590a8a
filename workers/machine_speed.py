"""Measures how fast this machine computes, so that a season can ask for machines of equal speed."""

from __future__ import annotations

import hashlib
import math
import time
from typing import Final

WINDOWS: Final = 6
WINDOW_SECONDS: Final = 0.05
ROUNDS: Final = 200
AGAIN_SECONDS: Final = 60.0
REFERENCE_SPEED: Final = 6000.0
"""Speed of a machine of class 1x."""
CLASS_STEP: Final = 1.25
"""Ratio of two neighbouring speed classes."""


class SpeedMeter:
    """The best speed that this machine has shown. Busy neighbours only make it look slower."""

    def __init__(self) -> None:
        self._best = max(_measure_window() for _ in range(WINDOWS))
        self._measured_at = time.monotonic()

    def speed(self) -> float:
        """Thousands of rounds per second of processor time on one core. Measures once a minute."""
        if time.monotonic() - self._measured_at > AGAIN_SECONDS:
            self._best = max(self._best, _measure_window())
            self._measured_at = time.monotonic()
        return self._best


def speed_class(speed: float) -> str:
    """Name of the nearest speed class: ``1x``, ``1.2x``, ``1.6x``, ``2x``, and so on."""
    step = round(math.log(speed / REFERENCE_SPEED, CLASS_STEP))
    return f"{CLASS_STEP**step:.2g}x"


def _measure_window() -> float:
    """Hashes and adds, as agents in Python do; other processes cost no processor time of ours."""
    started, rounds, total, text = time.thread_time(), 0, 0, b"peck"
    while (spent := time.thread_time() - started) < WINDOW_SECONDS:
        for number in range(ROUNDS):
            total = (total * 31 + number) & 0xFFFFFFFF
            if number % 8 == 0:
                text = hashlib.sha256(text).digest()
        rounds += ROUNDS
    return rounds / spent / 1000
