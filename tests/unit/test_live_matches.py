"""What a process knows of a running match after the entries that Redis had."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from games import GAMES
from games.episode import start_document, step_document
from games.frames import LiveFrames
from ladder.enums import MatchState
from ladder.ids import MatchId
from ladder.matches.live_matches import LiveState
from ladder.people.records import STRANGER
from services.http import live_matches, reader_limits
from services.http.live_matches import LiveMatch
from services.http.live_streams import (
    Watcher,
    live_document,
    live_events,
    place_after,
)
from services.http.stream_signals import Ending
from tests.loops import run_coroutine
from tests.unit.games.random_play import play

EPISODE = play(GAMES["golad"], 1)


def state(**changes: Any) -> LiveState:
    given = {"state": MatchState.RUNNING, "attempt": 1, "delay_seconds": 0, "is_public": True}
    return LiveState(**{**given, **changes})


@pytest.fixture
def match() -> LiveMatch:
    return LiveMatch(MatchId("mat_x"), state())


def entry(position: int, first: int, count: int, *, at: int = 1, begins: bool = False) -> Any:
    content: dict[str, Any] = {"position": position, "first": first}
    if begins:
        content["start"] = start_document(EPISODE)
    content["steps"] = [step_document(step) for step in EPISODE.steps[first : first + count]]
    return f"{at}-0".encode(), {b"d": json.dumps(content).encode()}


def test_both_episodes_of_a_pair_are_kept(match: LiveMatch) -> None:
    match.apply([entry(0, 0, 2, begins=True), entry(0, 2, 1), entry(1, 0, 1, begins=True)])
    assert (match.shown(0), match.shown(1), match.shown(2), match.episodes) == (4, 2, 0, 2)
    document = json.loads(live_document(match, 1, 0))
    assert (document["position"], document["episodes"], len(document["frames"])) == (1, 2, 2)


def test_entries_that_come_again_or_too_early_change_nothing(match: LiveMatch) -> None:
    match.apply([entry(0, 2, 1), entry(0, 0, 2, begins=True), entry(0, 4, 1)])
    assert match.shown(0) == 3
    match.apply([entry(0, 0, 4, begins=True)])
    assert match.shown(0) == 5
    whole = json.loads(match.cut(0, 0, 5))
    assert len(whole["frames"]) == 1 + len(whole["steps"]) == 5


def test_a_broken_entry_ends_the_frames_and_not_the_match(match: LiveMatch) -> None:
    match.apply([entry(0, 0, 2, begins=True), (b"2-0", {b"d": b"{"}), entry(0, 2, 1)])
    assert (match.shown(0), match.has_ended) == (3, False)


def test_a_large_match_is_streamed_up_to_a_limit(
    match: LiveMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_matches, "MOST_CHARACTERS", 1)
    match.apply([entry(0, 0, 3, begins=True)])
    assert match.shown(0) == 2


def test_a_finished_match_ends_after_its_last_steps(
    match: LiveMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    match.look(state(delay_seconds=3600))
    match.apply([entry(0, 0, 2, at=10**15, begins=True)])
    assert match.shown(0) == 0
    match.look(state(state=MatchState.FINISHED, delay_seconds=3600))
    assert (match.shown(0), match.has_ended) == (3, False)
    match.apply([(b"9-0", {b"d": b'{"over": true}'})])
    assert match.has_ended


def test_another_attempt_ends_the_match_here(match: LiveMatch) -> None:
    match.look(state(attempt=2))
    assert (match.has_ended, match.state) == (True, MatchState.QUEUED)


def test_an_id_of_another_attempt_begins_anew(match: LiveMatch) -> None:
    match.apply([entry(0, 0, 2, begins=True)])
    assert place_after(match, 0, match.place(0, 2)) == 2
    for other in ("2.0.2", "1.1.2", "1.0.9", "x", ""):
        assert place_after(match, 0, other) == 0


def test_rules_that_fail_in_any_way_end_the_frames_and_not_the_reader(
    match: LiveMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise IndexError("the rules of another version")

    monkeypatch.setattr(LiveFrames, "add", fail)
    match.apply([entry(0, 0, 2, begins=True), entry(0, 2, 1)])
    assert match.shown(0) == 1


def test_watchers_of_an_older_attempt_begin_anew(
    match: LiveMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_matches, "LOAD_SECONDS", 0.01)

    async def find(*attempts: int) -> list[Any]:
        known = live_matches.LiveMatches("", lambda ids: {})
        return [await known.find(match.id, state(attempt=n)) for n in attempts]

    old, new, late = run_coroutine(find(1, 2, 1))
    assert (old.has_ended, old.state, new.has_ended) == (True, MatchState.QUEUED, False)
    assert late is new


def test_a_stranger_gets_no_frames_once_the_match_is_not_public(match: LiveMatch) -> None:
    match.apply([entry(0, 0, 2, begins=True)])
    match.look(state(is_public=False))

    async def read() -> list[str]:
        return await events_until_the_end(match, Ending())

    assert run_coroutine(read()) == ["retry: 1000\n\n"]


def test_a_stream_that_came_too_late_for_the_limit_has_no_events(match: LiveMatch) -> None:
    limits = reader_limits.WatcherLimits(5)
    held: Any = SimpleNamespace(watchers=limits)
    watcher = Watcher("1.2.3.4", STRANGER, None)

    async def read() -> list[str | bytes]:
        return [text async for text in live_events(held, match, watcher, 0, "")]

    limits.refuse_more(watcher.key, is_person=False)
    with limits.counted(watcher.key, is_person=False) as is_first:
        assert is_first
        assert run_coroutine(read()) == ["retry: 30000\n\n"]
    assert match.watchers == 0
    limits.refuse_more(watcher.key, is_person=False)


def test_few_streams_leave_one_for_people_without_a_session() -> None:
    limits = reader_limits.WatcherLimits(1)
    with limits.counted("1.2.3.4", is_person=False) as has_room:
        assert has_room


async def events_until_the_end(match: LiveMatch, ending: Ending) -> list[str]:
    """The events of a stranger; the process is asked to stop after the last frame that is there."""
    held: Any = SimpleNamespace(watchers=reader_limits.WatcherLimits(45), ending=ending)
    texts = []
    async for event in live_events(held, match, Watcher("1.2.3.4", STRANGER, None), 0, ""):
        texts.append(event.decode() if isinstance(event, bytes) else event)
        if f"id: {match.place(0, match.shown(0))}" in texts[-1]:
            ending.begin()
    return texts


def test_a_stream_ends_when_the_process_is_asked_to_stop(match: LiveMatch) -> None:
    match.apply([entry(0, 0, 2, begins=True)])

    async def read() -> list[str]:
        return await events_until_the_end(match, Ending(match.notify))

    assert [text.split(":")[0] for text in run_coroutine(read())] == ["retry", "id"]
    assert (match.has_ended, match.watchers) == (False, 0)


def test_a_late_watcher_gets_a_long_match_in_parts(
    match: LiveMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    match.apply([entry(0, 0, 9, begins=True)])
    whole = json.loads(match.cut(0, 0, 10))
    monkeypatch.setattr(live_matches, "EVENT_CHARACTERS", len(match.cut(0, 0, 10)) // 3)

    async def read() -> list[str]:
        return await events_until_the_end(match, Ending())

    parts = [json.loads(text.split("data: ")[1]) for text in run_coroutine(read())[1:]]
    assert len(parts) > 2
    for name in ("frames", "steps"):
        assert [each for part in parts for each in part[name]] == whole[name]
