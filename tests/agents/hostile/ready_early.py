"""Reports ready during its import."""

import time
from typing import Any

from tests.agents.hostile import kit

kit.write(b'{"k":"ready"}')
time.sleep(0.1)


def agent(obs: Any, config: Any) -> Any:
    return kit.move(obs)
