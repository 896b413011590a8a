"""Hostile agents and archives: each of them in a box of each launcher."""

from __future__ import annotations

import os
import sys

import pytest

from tests.integration.sandbox.conftest import EVERY_LAUNCHER

FILES = ("test_hostile_matches.py", "test_archives.py")


def main() -> int:
    """Run both files with all launchers. Options are pytest's."""
    os.environ[EVERY_LAUNCHER] = "1"
    files = [f"tests/integration/sandbox/{name}" for name in FILES]
    return int(pytest.main([*files, *sys.argv[1:]]))


if __name__ == "__main__":
    sys.exit(main())
