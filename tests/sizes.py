"""The size of tests: small in the suite, large as a drill (``scripts/drill NAME``)."""

from __future__ import annotations

import os
import sys
from typing import Final, NoReturn

VARIABLE: Final = "PECK_DRILL"


def sized(suite: int, drill: int) -> int:
    """The first number in the suite, the second in a drill."""
    return drill if os.environ.get(VARIABLE) else suite


def drill(tests: str) -> NoReturn:
    """Run pytest on these tests at the size of a drill, with the drill's own arguments."""
    command = [sys.executable, "-m", "pytest", "-s", "--timeout", "0", tests, *sys.argv[1:]]
    os.execve(sys.executable, command, {**os.environ, VARIABLE: "1"})
