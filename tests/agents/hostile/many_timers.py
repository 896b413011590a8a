"""Creates timers, queued signals, event and timer descriptors."""

import ctypes
import os
import select
import signal
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        timers = 0
        while (
            timers < 2000 and kit.libc.timer_create(1, None, ctypes.c_void_p(kit.address(8))) == 0
        ):
            timers += 1
        kit.tell(f"{timers} timers", timers > 1000)
        queued = 0
        try:
            while queued < 2000:
                os.kill(os.getpid(), 64)
                queued += 1
        except OSError as error:
            kit.held(f"signal number {queued}: {error}")
        kept: list[Any] = []
        try:
            while len(kept) < 500:
                kept += [select.epoll(), os.eventfd(0)]
        except OSError as error:
            kit.held(f"descriptor number {len(kept)}: {error}")
    return kit.move(obs)
