"""Sends one answer with every key twice, and with unknown keys."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    number = kit.question()
    text = '{"k":"reply","k":"ready","n":NUMBER,"n":1,"action":"EAST","verdict":"WON"}'
    kit.write(text.replace("NUMBER", str(number)).encode())
    time.sleep(5)
