"""The conversation with a Battlesnake server, whoever carries its requests."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.box.battlesnake import Conversation
from sandbox.box.contract import Contract
from sandbox.box.harness import _Kept
from sandbox.box.program import Broken

START = {"k": "start", "seed": "00" * 16, "load": "own", "clock": {"act_seconds": 0.5}}
SEEN: dict[str, Any] = {"game": {"id": "g"}, "turn": 0, "board": {}, "you": {}}


class Line:
    """Carries requests to a server that is told beforehand what becomes of each."""

    def __init__(self, *fates: Exception | None) -> None:
        self._fates = iter(fates)
        self.asked: list[tuple[str, float | None]] = []

    def call(self, method: str, path: str, body: str, seconds: float | None) -> tuple[int, bytes]:
        self.asked.append((path, seconds))
        fate = None if path == "/start" else next(self._fates)
        if fate is not None:
            raise fate
        return 200, b'{"move": "up"}'


def test_a_server_that_hangs_in_one_request_after_the_other_falls_behind_but_once() -> None:
    late = [Broken("late", is_late=True) for _ in range(3)]
    line = Line(*late, None, Broken("no answer of HTTP"), None)
    conversation = Conversation("1", line.call)
    conversation.open(START)
    for _ in late:
        with pytest.raises(Broken):
            conversation.move({**SEEN, "remainingOverageTime": 2.0})
    assert conversation.move({**SEEN, "remainingOverageTime": 2.0}) == {"move": "up"}
    with pytest.raises(Broken):
        conversation.move({**SEEN, "remainingOverageTime": 2.0})
    conversation.move({**SEEN, "remainingOverageTime": 2.0})
    moves = [seconds for path, seconds in line.asked if path == "/move"]
    assert moves == pytest.approx([2.6, 2.5, 2.5, 2.5, 2.6, 2.6], abs=0.04)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Broken("in vain", is_late=True), {"is_late": True}),
        (Broken("in vain"), {}),
        (Broken("in vain", is_gone=True), {"is_gone": True}),
    ],
)
def test_the_referee_is_told_what_became_of_a_request(broken: Broken, told: dict[str, Any]) -> None:
    kept = _Kept(Contract.HTTP, Conversation("1", Line(broken).call))
    kept.start({**START, "load": "first_move"})
    kept._is_open = True  # there is no program to be opened
    kept._speaker.open(START)
    answer = kept.act({"n": 7, "observation": {**SEEN, "remainingOverageTime": 0.0}})
    fault = {"k": "fault", "n": 7, "why": "in vain", "is_gone": False, "is_invalid": False}
    assert answer == fault | told
