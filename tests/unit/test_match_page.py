"""The message of a match page for a replay that it cannot show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.http.problems import ProblemError
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
