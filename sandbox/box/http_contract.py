"""The child's side of the contract *http*: Battlesnake's API over a socket in the box.

Sends ``GET /`` once the program listens. After that ``BattlesnakeConversation`` takes over.

A Python program may listen on any port (``socket_patch``). Other programs listen on a port of the
box's own loopback interface, preferably ``$PORT``, or bind the unix socket ``$PECK_SOCKET``.
"""

from __future__ import annotations

import os
import time
from typing import Any

from . import loopback, socket_patch
from .agent_program import AgentProgram, ContractBroken
from .battlesnake_api import BattlesnakeConversation
from .bundle_manifest import Manifest
from .http_client import HttpClient, connect_local
from .lines_contract import program_environment

_STEP_SECONDS = 0.002
_PORT = 8000


class HttpAgent:
    """An agent whose program is a server."""

    def __init__(self, manifest: Manifest, agent_dir: str) -> None:
        self._manifest, self._agent_dir = manifest, agent_dir
        self._program: AgentProgram | None = None
        # An abstract name leaves no file to delete. The path is for programs that cannot bind such
        # a name.
        name, path = f"peck-{os.getpid()}", f"/tmp/peck-{os.getpid()}.sock"  # noqa: S108
        self._environment = program_environment() | {"PORT": str(_PORT), "PECK_SOCKET": path}
        if manifest.is_python:
            self._environment[socket_patch.SOCKET_NAME_VARIABLE] = name
            connect = connect_local(lambda: (f"\0{name}", path))
        else:
            connect = connect_local(lambda: (*loopback.listening_addresses(first=_PORT), path))
        self._caller = HttpClient(connect, self._waited_seconds)
        self._conversation = BattlesnakeConversation(manifest.api, self._call)

    def start(self, told: dict[str, Any]) -> None:
        """Start the program and wait until it listens and answers."""
        program = AgentProgram(self._manifest, self._agent_dir, self._environment, talks=False)
        self._program = program
        self._conversation.start(told)
        while not self._caller.try_connect():
            if program.describe_exit() is not None:
                raise program.gone_error("")
            time.sleep(_STEP_SECONDS)
        if self._manifest.api == "1":
            self._call("GET", "/", "", None)

    def move(self, observation: dict[str, Any]) -> Any:
        """Return the JSON answer to POST /move."""
        return self._conversation.move(observation)

    def end(self, observation: dict[str, Any]) -> None:
        """Send POST /end."""
        self._conversation.end(observation)
        self._caller.close()

    def _waited_seconds(self) -> float:
        return 0.0 if self._program is None else self._program.waited_seconds()

    def _call(self, method: str, path: str, body: str, seconds: float | None) -> tuple[int, bytes]:
        try:
            return self._caller.call(method, path, body, seconds)
        except OSError:
            assert self._program is not None
            if self._program.describe_exit(0.05) is not None:
                raise self._program.gone_error("") from None
            raise ContractBroken(
                f"{method} {path}: the server closed the connection or stopped listening; "
                "answer each request"
            ) from None
