"""How much a test does: little in the suite, much as a drill (``scripts/drill NAME``)."""

from __future__ import annotations

import os
import sys
from typing import Final, NoReturn

VARIABLE: Final = "PECK_DRILL"


def sized(suite: int, drill: int) -> int:
    """The first number in the suite, the second where a drill runs the test."""
    return drill if os.environ.get(VARIABLE) else suite


def drill(tests: str) -> NoReturn:
    """Become pytest on these tests at the size of a drill, with the drill's own arguments."""
    command = [sys.executable, "-m", "pytest", "-s", "--timeout", "0", tests, *sys.argv[1:]]
    os.execve(sys.executable, command, {**os.environ, VARIABLE: "1"})
