"""Announces four gigabytes in a length field."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    os.write(kit.AGENT_FD, b"\xff\xff\xff\xff[")
    time.sleep(5)
