"""The server of docs/how-to/run-a-remote-agent.md answers a match's requests."""

from __future__ import annotations

import json
import re
import threading
from http.server import ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from egress.address import parse
from egress.guarded_connections import Rules
from sandbox.remote.caller import RemoteServer

PAGE = Path(__file__).parents[2] / "docs/how-to/run-a-remote-agent.md"
HOME = Rules(allow=(ip_network("127.0.0.1"),), ports=((1, 65535),))
SEEN = {
    "board": {"width": 3, "height": 3, "snakes": [{"body": [{"x": 0, "y": 2}, {"x": 1, "y": 2}]}]},
    "you": {"head": {"x": 0, "y": 2}},
}
"""A snake in the upper left corner, with its body to the right."""


def test_the_documented_remote_server_answers_moves(capfd: pytest.CaptureFixture[str]) -> None:
    (text,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    defined: dict[str, Any] = {"__name__": "snake"}
    exec(compile(text, PAGE, "exec"), defined)
    with ThreadingHTTPServer(("127.0.0.1", 0), defined["Snake"]) as served:
        served.daemon_threads = True
        threading.Thread(target=served.serve_forever, args=(0.01,)).start()
        try:
            address = parse(f"http://127.0.0.1:{served.server_port}{defined['SECRET']}")
            server, body = RemoteServer(address, HOME), json.dumps(SEEN)
            server.check_health("1")
            assert server.call("POST", "/start", body, None)[0] == 200
            assert server.call("POST", "/move", body, None) == (200, b'{"move": "down"}')
            assert server.call("POST", "/end", body, None)[0] == 200
            assert server.call("POST", "/else", body, None)[0] == 404
            server._caller.close()
        finally:
            served.shutdown()
