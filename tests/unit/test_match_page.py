"""The message of a match page for a replay that it cannot show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.http.problems import ProblemError
from services.web import matches
from services.web.matches import frames_json
from tests.unit.games.test_frames import episode


def test_a_replay_without_matching_rules_is_not_found() -> None:
    record, states = episode(1)
    assert len(frames_json(record)["frames"]) == len(states)
    first, *others = record.steps
    other_rules = replace(record, steps=(replace(first, moves=("sideways",) * 3), *others))
    for found in (replace(record, game="gone"), other_rules):
        with pytest.raises(ProblemError, match="can no longer be shown") as told:
            frames_json(found)
        assert told.value.kind.status == 404


def test_page_of_a_step_in_a_long_log() -> None:
    moves = [{"step": step} for step in range(200)]
    size = matches.MOVES_SHOWN
    assert matches.page_of_step(moves, size - 1) == 1
    assert matches.page_of_step(moves, size) == 2
    assert matches.page_of_step(moves, 500) is None
    assert matches.page_of_step(moves, None) is None
