"""Sends a pickle that runs a command when loaded, as its answer and as its weights."""

import os
import pickle
from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


class Bomb:
    def __reduce__(self) -> Any:
        return os.write, (1, b"BREACH: unpickled outside\n")


def agent(obs: Any, config: Any) -> Any:
    return pickle.dumps(Bomb()).decode("latin-1")
