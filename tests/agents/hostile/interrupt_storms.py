"""Asks for descriptors that timers wake in interrupts, where many epoll items could wait."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.refused("timerfd_create", 283, 85, 1, 0)
        kit.refused("signalfd4", 289, 74, -1, kit.address(8), 8, 0)
        kit.refused("signalfd", 282, -1, -1, kit.address(8), 8)
    return kit.move(obs)
