"""The contract *http*, the child's side: Battlesnake's API over a unix socket of the box.

``GET /`` once the program listens, ``POST /start`` before its first move, ``POST /move`` for each,
``POST /end`` when the match is over. Version 1 is the observation as it is; the API of 2017 is made
of it: y grows downwards, bodies are ``coords``, health is ``health_points``.

A Python program may listen on any port of its machine (``listening``); others bind the socket whose
path is in ``$PECK_SOCKET``.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

from . import listening
from .calling import Caller
from .contract import Manifest
from .lines import encode, environment, shown
from .program import Broken, Program

NEEDED = frozenset({"game", "turn", "board", "you"})
_STEP_SECONDS = 0.002
_LATER_SECONDS = 0.05


class Served:
    """An agent whose program is a server."""

    def __init__(self, manifest: Manifest, agent_dir: str) -> None:
        self._manifest, self._agent_dir = manifest, agent_dir
        self._program: Program | None = None
        # A name without a file leaves nothing to wipe; a path is for those who cannot bind such.
        name, path = f"peck-{os.getpid()}", f"/tmp/peck-{os.getpid()}.sock"  # noqa: S108
        self._environment = environment() | {"PORT": "8000", "PECK_SOCKET": path}
        if manifest.is_python:
            self._environment[listening.NAME] = name
        addresses = (f"\0{name}", path) if manifest.is_python else (path,)
        self._caller = Caller(addresses, self._waited_seconds)
        self._act_seconds = 0.0
        self._is_started = False

    def open(self, told: dict[str, Any]) -> None:
        """Start the program, and wait until it listens and answers."""
        program = Program(self._manifest, self._agent_dir, self._environment, talks=False)
        self._program = program
        self._act_seconds = told["clock"]["act_seconds"]
        while not self._caller.listens():
            if program.ending() is not None:
                raise program.gone("")
            time.sleep(_STEP_SECONDS)
        if self._manifest.api == "1":
            self._call("GET", "/", "", None)

    def move(self, observation: dict[str, Any]) -> Any:
        """The JSON value that it answers POST /move with."""
        if not observation.keys() >= NEEDED:
            raise Broken(
                "contract http is for Battlesnake; for this game take callable or lines",
                is_gone=True,
            )
        bank_seconds = observation.pop("remainingOverageTime")
        is_old = self._manifest.api == "2017"
        # The referee comes first; this is for a request that nobody will answer any more. By the
        # clock, as everybody's: what the game tells of its timeout may be less.
        seconds = self._act_seconds + bank_seconds + _LATER_SECONDS
        if not self._is_started:
            self._is_started = True
            start = encode(old_start(observation) if is_old else observation)
            self._call("POST", "/start", start, seconds)
        body = encode(old_move(observation) if is_old else observation)
        status, text = self._call("POST", "/move", body, seconds)
        if status != 200:
            raise Broken(
                f"POST /move was answered with status {status}; answer 200 and a JSON text, for "
                'example {"move": "up"} (why it failed may be in the log)'
            )
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise Broken(
                f'POST /move was answered with {shown(text)}, which is no JSON text like {{"move": '
                '"up"}',
                is_invalid=True,
            ) from None

    def end(self, observation: dict[str, Any]) -> None:
        """Tell it that the match is over."""
        observation.pop("remainingOverageTime", None)
        body = (
            {"game_id": observation["game"]["id"]} if self._manifest.api == "2017" else observation
        )
        self._call("POST", "/end", encode(body), None)
        self._caller.close()

    def _waited_seconds(self) -> float:
        return 0.0 if self._program is None else self._program.waited_seconds()

    def _call(self, method: str, path: str, body: str, seconds: float | None) -> tuple[int, bytes]:
        try:
            return self._caller.call(method, path, body, seconds)
        except OSError:
            assert self._program is not None
            if self._program.ending(0.05) is not None:
                raise self._program.gone("") from None
            raise Broken(
                f"{method} {path}: the server closed the connection, or listens no more; answer "
                "each request"
            ) from None


def old_start(seen: dict[str, Any]) -> dict[str, Any]:
    """The body of POST /start in 2017."""
    board = seen["board"]
    return {"game_id": seen["game"]["id"], "width": board["width"], "height": board["height"]}


def old_move(seen: dict[str, Any]) -> dict[str, Any]:
    """The body of POST /move in 2017."""
    board = seen["board"]
    top = board["height"] - 1

    def cells(points: list[dict[str, int]]) -> list[list[int]]:
        return [[point["x"], top - point["y"]] for point in points]

    return {
        **old_start(seen),
        "turn": seen["turn"],
        "you": seen["you"]["id"],
        "food": cells(board["food"]),
        "snakes": [
            {
                "id": snake["id"],
                "name": snake["name"],
                "taunt": snake.get("shout", ""),
                "health_points": snake["health"],
                "coords": cells(snake["body"]),
            }
            for snake in board["snakes"]
        ],
        "dead_snakes": [],
    }
