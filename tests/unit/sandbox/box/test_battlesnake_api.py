"""The conversation with a Battlesnake server, over any transport."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from sandbox.box.agent_program import ContractBroken
from sandbox.box.bundle_manifest import Contract
from sandbox.box.harness import _ProgramAgent
from sandbox.box.http_contract import BattlesnakeConversation

START = {"k": "start", "seed": "00" * 16, "load": "own", "clock": {"act_seconds": 0.5}}
BOARD: dict[str, Any] = {"width": 9, "height": 9, "food": [], "snakes": []}
SEEN: dict[str, Any] = {"game": {"id": "g"}, "turn": 0, "board": BOARD, "you": {"id": "s0"}}


def _seen(*snakes: str) -> dict[str, Any]:
    """The observation of the first of these snakes."""
    told = [
        {"id": name, "name": name, "latency": "0", "health": 90, "body": [{"x": 1, "y": 2}]}
        for name in snakes
    ]
    board = {**BOARD, "snakes": told}
    game = {"id": "g", "timeout": 500}
    return {**SEEN, "game": game, "board": board, "you": dict(told[0]), "remainingOverageTime": 0.0}


class Line:
    """A transport that returns a prepared result for each request."""

    takes_seconds = 0.0

    def __init__(self, *fates: Exception | None) -> None:
        self._fates = iter(fates)
        self.asked: list[tuple[str, float | None]] = []
        self.bodies: list[dict[str, Any]] = []
        self.answer = b'{"move": "up"}'

    def call(self, method: str, path: str, body: str, seconds: float | None) -> tuple[int, bytes]:
        self.asked.append((path, seconds))
        if path == "/move":
            time.sleep(self.takes_seconds)
        fate = None if path == "/start" else next(self._fates)
        if fate is not None:
            raise fate
        self.bodies.append(json.loads(body))
        return 200, self.answer


def test_consecutive_late_requests_get_extra_time_once() -> None:
    late = [ContractBroken("late", is_late=True) for _ in range(3)]
    line = Line(*late, None, ContractBroken("no answer of HTTP"), None)
    conversation = BattlesnakeConversation("1", line.call)
    conversation.start(START)
    for _ in late:
        with pytest.raises(ContractBroken):
            conversation.move({**SEEN, "remainingOverageTime": 2.0})
    assert conversation.move({**SEEN, "remainingOverageTime": 2.0}) == {"move": "up"}
    with pytest.raises(ContractBroken):
        conversation.move({**SEEN, "remainingOverageTime": 2.0})
    conversation.move({**SEEN, "remainingOverageTime": 2.0})
    moves = [seconds for path, seconds in line.asked if path == "/move"]
    assert moves == pytest.approx([2.6, 2.5, 2.5, 2.5, 2.6, 2.6], abs=0.04)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (ContractBroken("in vain", is_late=True), {"is_late": True}),
        (ContractBroken("in vain"), {}),
        (ContractBroken("in vain", is_gone=True), {"is_gone": True}),
    ],
)
def test_the_referee_gets_the_outcome_of_a_failed_request(
    broken: ContractBroken, told: dict[str, Any]
) -> None:
    kept = _ProgramAgent(Contract.HTTP, BattlesnakeConversation("1", Line(broken).call))
    kept.start({**START, "load": "first_move"})
    kept._is_open = True  # there is no program to open
    kept._speaker.start(START)
    answer = kept.act({"n": 7, "observation": {**SEEN, "remainingOverageTime": 0.0}})
    fault = {"k": "fault", "n": 7, "why": "in vain", "is_gone": False, "is_invalid": False}
    assert answer == fault | told


def test_own_snake_shows_the_latency_of_the_last_answer() -> None:
    line = Line(None, None, ContractBroken("late", is_late=True), None)
    line.takes_seconds = 0.02
    conversation = BattlesnakeConversation("1", line.call)
    conversation.start(START)
    for move in range(4):
        if move == 2:
            with pytest.raises(ContractBroken):
                conversation.move(_seen("s0", "s1"))
        else:
            conversation.move(_seen("s0", "s1"))
    first, second, after_late = [body for body in line.bodies if body["board"]["snakes"]][1:]
    assert first["you"]["latency"] == "0"
    assert int(second["you"]["latency"]) >= 20
    assert [int(one["latency"]) >= 20 for one in second["board"]["snakes"]] == [True, False]
    assert after_late["you"]["latency"] == "500"


def test_the_2017_api_shows_dead_snakes_as_last_seen() -> None:
    line = Line(None, None)
    conversation = BattlesnakeConversation("2017", line.call)
    conversation.start(START)
    conversation.move(_seen("s0", "s1"))
    conversation.move(_seen("s0"))
    *_, first, second = line.bodies
    assert first["dead_snakes"] == []
    assert second["dead_snakes"] == [
        {"id": "s1", "name": "s1", "taunt": "", "health_points": 90, "coords": [[1, 6]]}
    ]


@pytest.mark.parametrize("answer", [b'"up"', b'["up"]', b"7", b"null", b"up"])
def test_an_answer_that_is_not_an_object_is_invalid(answer: bytes) -> None:
    line = Line(None)
    line.answer = answer
    conversation = BattlesnakeConversation("1", line.call)
    conversation.start(START)
    with pytest.raises(ContractBroken, match="no JSON object") as raised:
        conversation.move(_seen("s0"))
    assert raised.value.is_invalid
