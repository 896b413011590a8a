"""Sets the machine's clock and its own clocks."""

import time
from typing import Any

from tests.agents.hostile import kit


def frozen() -> float:
    return 0.0


def agent(obs: Any, config: Any) -> Any:
    kit.attempt("the clock", time.clock_settime, time.CLOCK_REALTIME, 0.0)
    kit.refused("settimeofday", 164, 170, 0, 0)
    kit.refused("adjtimex", 159, 171, 0)
    kit.refused("clock_adjtime", 305, 266, 0, 0)
    start = time.perf_counter
    time.time = time.monotonic = time.perf_counter = frozen
    begin = start()
    while start() - begin < 1.0:
        pass
    return kit.move(obs)
