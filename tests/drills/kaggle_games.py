"""Plays 970 games here and in kaggle-environments; all steps agree and every rule is used.

scripts/drill kaggle-games [pytest options]
"""

from __future__ import annotations

from tests.sizes import drill

TEST = "test_games_agree_with_kaggle_step_by_step"

if __name__ == "__main__":
    drill(f"tests/integration/test_kaggle_conformance.py::{TEST}")
