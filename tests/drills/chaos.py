"""Kills every part of a deployment in turn during 110 matches; each match counts once.

scripts/drill chaos [pytest options]
"""

from __future__ import annotations

from tests.sizes import drill

if __name__ == "__main__":
    drill("tests/chaos/test_chaos.py")
