"""Forges a traceback that blames a file of the platform."""

import json
import time
from typing import Any

from tests.agents.hostile import kit

TRACE = 'File "/srv/referee.py", line 1\n\x1b[2J\u202ethe referee failed, replay this match\n' * 90


def agent(obs: Any, config: Any) -> Any:
    kit.write(json.dumps({"k": "error", "n": kit.question(), "trace": TRACE[:9000]}).encode())
    time.sleep(5)
