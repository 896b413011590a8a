"""Sends hundreds of generated requests to each operation; every answer is declared.

scripts/drill api-fuzzing [pytest options]
"""

from __future__ import annotations

from tests.sizes import drill

if __name__ == "__main__":
    drill("tests/integration/api/test_schema_fuzzing.py")
