"""Opens files until the limit, and tries to raise the limit."""

import os
import resource
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        limit = resource.RLIMIT_NOFILE
        kit.attempt("more descriptors", resource.setrlimit, limit, (4096, 4096))
        kept: list[int] = []
        try:
            while len(kept) < 1000:
                kept.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            kit.held(f"descriptor number {len(kept)}: {error}")
        kit.tell(f"{len(kept)} descriptors", len(kept) >= 64)
        for fd in kept:
            os.close(fd)
    return kit.move(obs)
