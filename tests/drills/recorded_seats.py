"""Runs agents of fixed seed through their own recorded seats: 200 matches without a difference.

scripts/drill recorded-seats [pytest options]
"""

from __future__ import annotations

from tests.sizes import drill

TEST = "test_an_agent_of_fixed_seed_repeats_its_recorded_moves"

if __name__ == "__main__":
    drill(f"tests/integration/test_recorded_seats.py::{TEST}")
