"""The reason of a fault as pages and notices show it."""

from __future__ import annotations

import pytest

from ladder.fault_reasons import short_reason
from ladder.notices.kinds import NoticeKind, words_of
from services.web.formatting import reason_html


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (
            "ERROR at step 1: Raised in step 1, at main.py line 3: KeyError (observation.step 0)",
            "Raised in step 1, at main.py line 3: KeyError",
        ),
        (
            "ERROR at step 0: Raised while the agent was loading: SyntaxError",
            "Raised while the agent was loading: SyntaxError",
        ),
        (
            "ERROR at step 0: The bundle was refused: no main.py",
            "The bundle was refused: no main.py",
        ),
        (
            "TIMEOUT at step 31: Your agent slept. Details: Step 31 took 3 s",
            "TIMEOUT at step 31: Your agent slept.",
        ),
        ("INVALID at step 4: The answer in step 4 is no move", "The answer in step 4 is no move"),
        ("ERROR at step 4: Raised in step 40", "ERROR at step 4: Raised in step 40"),
    ],
)
def test_a_reason_names_its_step_once(stored: str, shown: str) -> None:
    assert short_reason(stored) == shown


def test_a_notice_tells_the_reason_as_the_page_does() -> None:
    reason = "ERROR at step 1: Raised in step 1: NameError: name 'x' (observation.step 0)"
    facts = {"agent_id": "age", "agent_name": "Ada", "entry_id": "ent", "league_title": "Geese"}
    words = words_of(NoticeKind.VALIDATION_FAILED, {**facts, "details": {}, "reason": reason})
    told = "It does not play in Geese. The reason: Raised in step 1: NameError: name 'x'."
    assert words.text == told


def test_the_step_as_the_agent_saw_it_is_folded() -> None:
    told = reason_html("Raised in step 2: KeyError (observation.step 1)")
    assert told.startswith("Raised in step 2: KeyError<details>")
    assert "The agent saw observation.step 1" in told
