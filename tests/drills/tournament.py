"""Kills every part of a deployment while a tournament of 64 plays; it reaches its champion.

scripts/drill tournament [pytest options]
"""

from __future__ import annotations

from tests.sizes import drill

if __name__ == "__main__":
    drill("tests/chaos/test_tournament_chaos.py")
