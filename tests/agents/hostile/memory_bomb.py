"""Asks for 300 megabytes at once and touches them."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    taken = bytearray(300 << 20)
    kit.breach(f"{len(taken) >> 20} MB of memory")
    return kit.move(obs)
