"""A caller's report about an unreachable server."""

from __future__ import annotations

import pytest

from egress import guarded_connections
from egress.address import parse
from sandbox.box.agent_program import ContractBroken
from sandbox.remote.caller import RemoteServer


@pytest.mark.parametrize(("error", "is_late"), [(TimeoutError(), True), (OSError(), False)])
def test_a_connection_timeout_counts_as_late(
    monkeypatch: pytest.MonkeyPatch, error: OSError, is_late: bool
) -> None:
    def connect(*_: object) -> None:
        raise error

    monkeypatch.setattr(guarded_connections, "connect", connect)
    server = RemoteServer(parse("https://snake.example.org/"), guarded_connections.Rules())
    with pytest.raises(ContractBroken) as broken:
        server.call("POST", "/move", "{}", 0.5)
    assert broken.value.is_late is is_late
