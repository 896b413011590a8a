"""Searches its process for seeds, banks, other seats and secrets of the platform."""

import gc
import sys
from typing import Any

from tests.agents.hostile import kit

WORDS = ("referee", "banks", "match_seed", "node.sock", "docker", "other_seats")


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        here = sys._getframe()
        names: set[str] = set()
        while here is not None:
            names |= set(here.f_locals) | set(here.f_globals)
            here = here.f_back  # type: ignore[assignment]
        for word in WORDS:
            kit.tell(f"{word} in a frame", any(word in name for name in names))
        for name in (
            "sandbox",
            "ladder",
            "games",
            "workers",
            "msgspec",
            "docker",
            "peckbox.supervisor",
        ):
            kit.tell(f"module {name}", name in sys.modules)
        texts = [o for o in gc.get_objects() if isinstance(o, dict) and "remainingOverageTime" in o]
        kit.tell("observations of other seats", any(t.get("index") != obs["index"] for t in texts))
    return kit.move(obs)
