"""Counting the frames of a trace of Chromium."""

from __future__ import annotations

from typing import Any

from benchmarks.player_frames import frame_ends


def frame(state: str, *, is_seen: bool) -> dict[str, Any]:
    report = {"state": state, "affects_smoothness": is_seen}
    return {"name": "PipelineReporter", "ph": "b", "args": {"chrome_frame_reporter": report}}


def test_only_frames_that_could_be_missed_count_as_dropped() -> None:
    events: list[dict[str, Any]] = [
        {"name": "PipelineReporter", "ph": "e", "args": {}},
        {"name": "RunTask"},
        frame("STATE_PRESENTED_ALL", is_seen=False),
        frame("STATE_PRESENTED_PARTIAL", is_seen=True),
        frame("STATE_PRESENTED_PARTIAL", is_seen=False),
        frame("STATE_DROPPED", is_seen=True),
        frame("STATE_DROPPED", is_seen=False),
        frame("STATE_NO_UPDATE_DESIRED", is_seen=False),
    ]
    assert frame_ends(events) == {"presented": 2, "partial": 1, "dropped": 1}
