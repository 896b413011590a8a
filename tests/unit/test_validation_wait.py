"""What `peck submit --wait` says while a validation waits."""

from __future__ import annotations

from typing import Any, cast

import pytest

from services.api_client import Client
from services.cli import submissions
from services.cli.submissions import queue_text, wait_for_validation

PLACE = {"position": 0, "eta_seconds": 26.0, "playing_seconds": None}


@pytest.mark.parametrize(
    ("position", "text"),
    [(0, "next in the queue, about 26 s to go"), (1, "place 2 in the queue, about 26 s to go")],
)
def test_places_in_the_queue_count_from_one(position: int, text: str) -> None:
    assert queue_text({**PLACE, "position": position}) == text


class Ladder:
    """Answers with these entries, one after the other."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)

    def get(self, _path: str) -> dict[str, Any]:
        return self.answers.pop(0)


def test_without_a_terminal_a_line_is_printed_only_after_a_change(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(submissions, "POLL_SECONDS", 0.0)
    second = {"id": "ent_1", "state": "pending", "reason": None, "queue": {**PLACE, "position": 1}}
    first = {**second, "queue": PLACE}
    ended = {**second, "state": "active"}
    ladder = cast(Client, Ladder(second, first, first, ended))
    assert wait_for_validation(ladder, second) == ended
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "queue" in line] == [
        "validation: place 2 in the queue, about 26 s to go",
        "validation: next in the queue, about 26 s to go",
    ]
