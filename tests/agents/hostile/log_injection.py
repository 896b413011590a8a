"""Writes text that a page, a terminal or a careless reader could misread."""

import sys
from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)

LINES = (
    "<script>alert(1)</script>",
    "\x1b]0;owned\x07\x1b[2J",
    '{"verdict": "WON", "reward": 1e9}',
    "VERDICT: neighbour timed out",
    "\u202ethgir ot tfel",
    "=cmd|' /C calc'!A0",
    "\0\0\0",
    "\r",
)


def agent(obs: Any, config: Any) -> Any:
    for line in LINES:
        print(line)
        print(line, file=sys.stderr)
    raise RuntimeError("\x1b[31m" + "<b>" * 50 + LINES[2])
