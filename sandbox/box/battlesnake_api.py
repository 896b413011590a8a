"""Speaks Battlesnake's HTTP API to a server, wherever the server runs.

``POST /start`` before the first move, ``POST /move`` for each, ``POST /end`` after the match.
Version 1 sends the observation as it is. Version 2017 is derived from it: y grows downwards, bodies
are ``coords``, health is ``health_points``. The caller starts the server and sends ``GET /``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from .agent_program import ContractBroken
from .lines_contract import json_line, printable

NEEDED = frozenset({"game", "turn", "board", "you"})
_LATER_SECONDS = 0.1
"""Extra seconds for a request, because the referee may not charge all of the time. After a request
that used them, the next request has as much less.
"""


class BattlesnakeConversation:
    """One match with one server."""

    def __init__(
        self, api: str, call: Callable[[str, str, str, float | None], tuple[int, bytes]]
    ) -> None:
        """``call`` takes method, path, body and a limit in seconds or None. It returns status and
        body.

        It raises ContractBroken for an answer that is no answer.
        """
        self._is_old = api == "2017"
        self._call = call
        self._act_seconds = 0.0
        self._is_started = False
        self._behind_seconds = 0.0
        """How much later than the referee's clock the next request begins, at most."""
        self._latency_ms = 0
        """Duration of the last answer."""
        self._seen: dict[str, dict[str, Any]] = {}
        """Each snake as last seen on the board, by id."""
        self._alive: set[str] = set()

    def start(self, told: dict[str, Any]) -> None:
        """Take the clock from the referee's start message."""
        self._act_seconds = told["clock"]["act_seconds"]

    def move(self, observation: dict[str, Any]) -> Any:
        """Return the JSON answer to POST /move."""
        if not observation.keys() >= NEEDED:
            raise ContractBroken(
                "contract http is only for Battlesnake; use callable or lines for this game",
                is_gone=True,
            )
        bank_seconds = observation.pop("remainingOverageTime")
        self._record_latency_and_snakes(observation)
        # The referee's deadline comes first; this limit ends a request that nobody needs any more.
        # It uses the season's clock, because the game's own timeout may be shorter.
        seconds = self._act_seconds + bank_seconds + _LATER_SECONDS - self._behind_seconds
        started_at = time.monotonic()
        try:
            status, text = self._ask(observation, started_at + seconds)
        except ContractBroken as broken:
            self._latency_ms = observation["game"].get("timeout", 0) if broken.is_late else 0
            # The referee's next question waited for this one: its clock runs already.
            self._behind_seconds = _LATER_SECONDS if broken.is_late else 0.0
            raise
        self._behind_seconds = 0.0
        self._latency_ms = round(1000 * (time.monotonic() - started_at))
        if status != 200:
            raise ContractBroken(
                f"POST /move was answered with status {status}; answer 200 and a JSON text, for "
                'example {"move": "up"} (why it failed may be in the log)'
            )
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ContractBroken(
                f"POST /move was answered with {printable(text)}, which is no JSON object like "
                '{"move": "up"}',
                is_invalid=True,
            )
        return answer

    def _record_latency_and_snakes(self, observation: dict[str, Any]) -> None:
        """Write the last answer's latency into the server's own snake. Remembers all snakes."""
        own, snakes = observation["you"], observation["board"].get("snakes", ())
        own["latency"] = str(self._latency_ms)
        for snake in snakes:
            if snake["id"] == own.get("id"):
                snake["latency"] = own["latency"]
        self._alive = {snake["id"] for snake in snakes}
        self._seen.update((snake["id"], snake) for snake in snakes)

    def _ask(self, observation: dict[str, Any], until: float) -> tuple[int, bytes]:
        if not self._is_started:
            self._is_started = True
            start = json_line(start_body_2017(observation) if self._is_old else observation)
            self._call("POST", "/start", start, _seconds_left(until))
        dead = [snake for name, snake in self._seen.items() if name not in self._alive]
        body = json_line(move_body_2017(observation, dead) if self._is_old else observation)
        return self._call("POST", "/move", body, _seconds_left(until))

    def end(self, observation: dict[str, Any]) -> None:
        """Send POST /end."""
        observation.pop("remainingOverageTime", None)
        body = {"game_id": observation["game"]["id"]} if self._is_old else observation
        self._call("POST", "/end", json_line(body), None)


def _seconds_left(until: float) -> float:
    return max(1e-3, until - time.monotonic())


def start_body_2017(seen: dict[str, Any]) -> dict[str, Any]:
    """The body of POST /start in 2017."""
    board = seen["board"]
    return {"game_id": seen["game"]["id"], "width": board["width"], "height": board["height"]}


def move_body_2017(seen: dict[str, Any], dead: list[dict[str, Any]]) -> dict[str, Any]:
    """The body of POST /move in 2017. ``dead`` holds dead snakes as last seen on the board."""
    board = seen["board"]
    top = board["height"] - 1

    def cells(points: list[dict[str, int]]) -> list[list[int]]:
        return [[point["x"], top - point["y"]] for point in points]

    def snake_of(snake: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": snake["id"],
            "name": snake["name"],
            "taunt": snake.get("shout", ""),
            "health_points": snake["health"],
            "coords": cells(snake["body"]),
        }

    return {
        **start_body_2017(seen),
        "turn": seen["turn"],
        "you": seen["you"]["id"],
        "food": cells(board["food"]),
        "snakes": [snake_of(one) for one in board["snakes"]],
        "dead_snakes": [snake_of(one) for one in dead],
    }
