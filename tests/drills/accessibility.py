"""Checks every page by all rules of axe, on a phone and in both themes.

scripts/drill accessibility [pytest options]
"""

from __future__ import annotations

from tests.sizes import drill

if __name__ == "__main__":
    drill("tests/web/test_accessibility.py")
