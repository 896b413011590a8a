"""Sends a number with sixteen thousand digits."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    kit.write(kit.reply(kit.question(), 0).replace(b"0}", b"9" * 16_000 + b"}"))
    time.sleep(5)
