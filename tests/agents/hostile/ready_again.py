"""Reports ready a second time."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    kit.write(b'{"k":"ready"}')
    return kit.move(obs)
