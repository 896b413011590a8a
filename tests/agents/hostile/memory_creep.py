"""Takes eight megabytes more in each loop."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    taken: list[bytearray] = []
    while len(taken) < 75:
        taken.append(bytearray(8 << 20))
    kit.breach(f"{len(taken) * 8} MB of memory")
    return kit.move(obs)
