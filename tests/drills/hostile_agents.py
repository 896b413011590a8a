"""Runs all tests of boxes, with all hostile agents and archives, in each launcher."""

from __future__ import annotations

import os
import sys

import pytest

from tests.integration.sandbox.conftest import EVERY_LAUNCHER

FOLDER = "tests/integration/sandbox"


def main() -> int:
    """Run the folder with all launchers. Options are pytest's."""
    os.environ[EVERY_LAUNCHER] = "1"
    return int(pytest.main([FOLDER, *sys.argv[1:]]))


if __name__ == "__main__":
    sys.exit(main())
