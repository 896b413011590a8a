"""Kills every part of a fleet by turns while 110 matches are played; each counts once.

scripts/drill chaos [pytest options]
"""

from __future__ import annotations

from tests.sizes import drill

if __name__ == "__main__":
    drill("tests/chaos")
