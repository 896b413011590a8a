"""Measures how fast this machine computes, so that charged times of machines can be compared."""

from __future__ import annotations

import hashlib
import time
from typing import Final

WINDOWS: Final = 6
WINDOW_SECONDS: Final = 0.05
ROUNDS: Final = 200


def measure_speed() -> float:
    """Thousands of rounds per second of processor time on one core, in the best of some windows."""
    return max(_measure_window() for _ in range(WINDOWS))


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
