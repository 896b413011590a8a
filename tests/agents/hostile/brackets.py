"""Sends nested brackets as large as the largest frame."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    number = kit.question()
    body = kit.reply(number, 0).replace(b"0}", b"[" * 15_000 + b"}")
    kit.write(body)
    time.sleep(5)
