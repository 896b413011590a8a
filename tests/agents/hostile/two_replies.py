"""Answers twice, so that the second answer might count for the next move."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 1:
        kit.write(kit.reply(kit.question(), "EAST"))
    return kit.move(obs)
