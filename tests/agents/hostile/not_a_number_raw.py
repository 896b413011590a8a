"""Writes NaN and infinity as raw text."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    kit.write(kit.reply(kit.question(), "x").replace(b'"x"', b"[NaN,-Infinity,1e999]"))
    time.sleep(5)
