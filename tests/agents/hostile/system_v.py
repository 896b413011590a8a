"""Uses shared memory, semaphores and queues of System V, and queues of POSIX."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.refused("shmget", 29, 194, 77, 4096, 0o1666)
        kit.refused("shmat", 30, 196, 0, 0, 0)
        kit.refused("semget", 64, 190, 77, 1, 0o1666)
        kit.refused("msgget", 68, 186, 77, 0o1666)
        kit.refused("mq_open", 240, 180, 0, 0o102, 0o666, 0)
    return kit.move(obs)
