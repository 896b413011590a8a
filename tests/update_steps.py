"""The steps of an update with Docker Compose, as ``deploy/runbook.md`` gives them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

RUNBOOK: Final = Path(__file__).parents[1] / "deploy" / "runbook.md"
PORT: Final = re.compile(r"^# .*proxy.* port (\d+)")
COMPOSE: Final = ("docker", "compose")


def update_steps() -> list[tuple[str, ...]]:
    """The words of each command, in order. A change of the proxy is ``("proxy", PORT)``."""
    section = re.search(r"^## Update with Compose\n(.*?)^## ", RUNBOOK.read_text(), re.M | re.S)
    assert section is not None
    block = re.search(r"^```\n(.*?)^```$", section.group(1), re.MULTILINE | re.DOTALL)
    assert block is not None
    steps: list[tuple[str, ...]] = []
    for line in block.group(1).splitlines():
        port = PORT.match(line)
        if port is not None:
            steps.append(("proxy", port.group(1)))
        elif words := shlex.split(line, comments=True):
            steps.append(tuple(words))
    return steps
