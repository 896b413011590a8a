"""Answers who watch a running match: a stream of server-sent events, or the same frames as JSON.

Events: ``frames`` (`games.frames.LiveFrames.cut`), ``next`` when another episode began, and
``end`` with the state of the match. An event's id names attempt, episode and number of frames, and
a reader resumes from it. The right to watch is checked before each event.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

import psycopg
import psycopg_pool
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import Send

from ladder.database.db import Connection
from ladder.ids import MatchId
from ladder.matches import history
from ladder.people.records import Viewer
from services.http.app_state import State, read_rows
from services.http.live_matches import LOOK_SECONDS, LiveMatch, open_games
from services.http.reader_limits import AGAIN_SECONDS

CHECK_SECONDS: Final = 3.0
"""How often a stream reads its viewer again: a session may end, a person may leave a team."""
BEAT_SECONDS: Final = 15.0
LATE_LOOK_SECONDS: Final = 0.5
"""Pause between two looks at a match whose league has a delay."""
LONGEST_SECONDS: Final = 1800.0
SLOW_SECONDS: Final = 15.0
"""Longest wait for a reader that takes nothing. Then the stream ends, and the page asks instead."""
RETRY_MS: Final = 1000
PLACE: Final = re.compile(r"^(\d{1,6})\.(\d{1,4})\.(\d{1,7})$")
MEDIA_TYPE: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Watcher:
    """Somebody who watches a match."""

    key: str
    """User id, or network of a person without a session: for limits."""
    viewer: Viewer
    read_again: Callable[[Connection], Viewer | None] | None
    """Reads the viewer anew; None if the session or token ended. None for strangers."""

    def may_watch(self, conn: Connection, match_id: MatchId) -> bool:
        """Whether the session or token is still valid, and its owner may still watch."""
        viewer = self.read_again(conn) if self.read_again else self.viewer
        return viewer is not None and history.may_watch(conn, viewer, match_id, open_games())


class LiveStream(StreamingResponse):
    """Server-sent events that end for a reader who takes nothing."""

    media_type = MEDIA_TYPE

    def __init__(self, content: AsyncIterator[str | bytes]) -> None:
        super().__init__(content, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def stream_response(self, send: Send) -> None:
        """Overrides Starlette's method, which waits for a slow reader without a limit."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        async for chunk in self.body_iterator:
            text = chunk.encode() if isinstance(chunk, str) else bytes(chunk)
            try:
                async with asyncio.timeout(SLOW_SECONDS):
                    await send({"type": "http.response.body", "body": text, "more_body": True})
            except TimeoutError:
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def place_after(match: LiveMatch, position: int, given: str) -> int:
    """Number of frames that the reader of this id has. 0 for an id of something else."""
    found = PLACE.match(given)
    if found is None or (int(found[1]), int(found[2])) != (match.attempt, position):
        return 0
    known = int(found[3])
    return known if known <= match.shown(position) else 0


def live_document(match: LiveMatch, position: int, first: int) -> str:
    """The frames from number ``first`` on, as the JSON object of one answer."""
    end = match.shown(position)
    facts = json.dumps(
        {
            "state": match.state,
            "id": match.place(position, end),
            "position": position,
            "episodes": match.episodes,
        },
        separators=(",", ":"),
    )
    if not end:
        return f'{facts[:-1]},"first":0,"frames":[],"steps":[]}}'
    return f"{facts[:-1]},{match.cut(position, first, end)[1:]}"


def ended_document(state: str) -> str:
    """The answer for a match that is not being played."""
    content = {"state": state, "id": "", "position": 0, "episodes": 0, "first": 0}
    return json.dumps({**content, "frames": [], "steps": []}, separators=(",", ":"))


def end_event(state: str) -> str:
    return f'event: end\ndata: {{"state":"{state}"}}\n\n'


async def single_event(text: str) -> AsyncIterator[str]:
    """A stream of one event."""
    yield text


async def live_events(
    app_state: State, match: LiveMatch, watcher: Watcher, position: int, given: str
) -> AsyncIterator[str | bytes]:
    """Yields events until the match, the right to watch or this process ends, or LONGEST_SECONDS
    passed.

    Yields none if the viewer, or the process, has too many streams.
    """
    is_person = watcher.viewer.user_id is not None
    match.watchers += 1
    try:
        with app_state.watchers.counted(watcher.key, is_person=is_person) as has_room:
            if not has_room:
                yield f"retry: {AGAIN_SECONDS * 1000}\n\n"
                return
            async for event in _events(app_state, match, watcher, position, given):
                yield event
    finally:
        match.watchers -= 1
        match.asked_at = time.monotonic()


async def _events(
    app_state: State, match: LiveMatch, watcher: Watcher, position: int, given: str
) -> AsyncIterator[str | bytes]:
    yield f"retry: {RETRY_MS}\n\n"
    sent = place_after(match, position, given)
    episodes = position + 1
    checked_at = sent_at = time.monotonic()
    may_watch = True
    until = checked_at + LONGEST_SECONDS
    while (now := time.monotonic()) < until and not app_state.ending.has_begun:
        if watcher.read_again is None:
            may_watch = match.is_public
        elif now - checked_at > CHECK_SECONDS and not match.has_ended:
            checked_at = now
            try:
                may_watch = await run_in_threadpool(
                    read_rows, app_state.news, lambda conn: watcher.may_watch(conn, match.id)
                )
            except (psycopg.OperationalError, psycopg_pool.PoolTimeout):
                return
        if not may_watch:
            if not match.has_ended:  # a match that is queued again is hidden: the next look tells
                await match.wait(2 * LOOK_SECONDS)
            if match.has_ended:
                yield end_event(match.state)
            return
        shown = match.shown(position)
        if shown > sent:
            event, sent = match.event(position, sent, shown)
            sent_at = now
            yield event
            continue  # sending may have taken long
        if match.episodes > episodes:
            episodes = match.episodes
            yield f'event: next\ndata: {{"position":{episodes - 1}}}\n\n'
        if match.has_ended:
            yield end_event(match.state)
            return
        if now - sent_at > BEAT_SECONDS:
            sent_at = now
            yield ": still here\n\n"
        await match.wait(LATE_LOOK_SECONDS if match.delay_seconds else CHECK_SECONDS)
