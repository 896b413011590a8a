"""Tries 2,000 orders of a match's events against the model of its rows.

scripts/drill lease-orders [pytest options]
"""

from __future__ import annotations

from tests.sizes import drill

if __name__ == "__main__":
    drill("tests/integration/ladder/test_lease_machine.py")
