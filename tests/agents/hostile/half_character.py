"""Writes half a character, directly and in a traceback."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    kit.write(kit.reply(kit.question(), "x").replace(b'"x"', b'"\\ud800"'))
    time.sleep(5)
