"""Sends frames of kinds that an agent may not send."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 1:
        kit.write(b'{"k":"end","verdict":"WON","n":%d}' % kit.question())
    return kit.move(obs)
