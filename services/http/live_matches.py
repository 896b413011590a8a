"""The running matches that people watch at this process: one reader of Redis for all of them.

A `LiveMatch` holds the frames of a match. Each watcher has a place in them and no queue of its own:
a watcher who reads slowly gets more frames at a time, and costs the others nothing. `LiveMatches`
reads new steps from Redis and the state of the matches from Postgres. A match that nobody watches
is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from redis.asyncio import Redis
from redis.exceptions import RedisError
from starlette.concurrency import run_in_threadpool

from games import GAMES
from games.frames import LiveFrames
from games.protocol import hides_something
from ladder.enums import MatchState
from ladder.ids import MatchId
from ladder.matches import live_stream
from ladder.matches.live_matches import LiveState
from ladder.telemetry import log_event

TICK_SECONDS: Final = 0.1
"""Pause between two reads from Redis."""
LOOK_SECONDS: Final = 2.0
"""Pause between two looks at the rows of the matches."""
LOOK_AT_END_SECONDS: Final = 0.25
"""The same, while a match is over whose result is not recorded yet."""
LAST_STEPS_SECONDS: Final = 1.5
"""Longest wait for the last steps of a match whose result is recorded."""
AWAY_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 15.0
"""How long a match is kept that nobody asks for."""
LOAD_SECONDS: Final = 2.0
"""Longest wait for what Redis has of a match."""
ENTRIES: Final = 500
"""Most entries of a match in one read."""
MOST_MATCHES: Final = 300
MOST_CHARACTERS: Final = 8 << 20
"""Most characters of the frames of a match; further ones are not streamed."""
STEPS_AT_A_TIME: Final = 10
PAUSE_SECONDS: Final = 0.002
"""Pause after so many steps of an entry. A thread that calculates the frames of a long match
without pauses holds up all streams: each sending waits up to 5 ms for Python's lock."""
EVENT_CHARACTERS: Final = 1 << 16
"""Most characters of the frames in one event, unless a single frame has more."""
CUTS: Final = 8
"""Ready answers and events kept of a match."""
Entry = tuple[bytes, Mapping[bytes, bytes]]
K = TypeVar("K")
V = TypeVar("V")


def open_games() -> list[str]:
    """Games whose frames show no more than an agent sees."""
    return [name for name, game in GAMES.items() if not hides_something(game)]


class LiveMatch:
    """One attempt at a match. Only the event loop calls it, except ``apply``."""

    def __init__(self, match_id: MatchId, state: LiveState) -> None:
        self.id, self.attempt = match_id, state.attempt
        self.key = live_stream.stream_key(match_id, state.attempt)
        self.state, self.delay_seconds = state.state, state.delay_seconds
        self.is_public = state.is_public
        self.cursor = b"0-0"
        self.is_over = False
        """Whether the worker sent the end. The result may not be recorded yet."""
        self.watchers = 0
        self.asked_at = time.monotonic()
        self.loaded = asyncio.Event()
        self._finished_at = 0.0
        self._changed = asyncio.Event()
        self._episodes: list[tuple[LiveFrames, list[float]]] = []
        """The frames of each episode, and when Redis got each, in seconds of the Unix time."""
        self._is_broken = False
        self._cuts: dict[tuple[int, int, int], str] = {}
        self._events: dict[tuple[int, int, int], tuple[bytes, int]] = {}

    @property
    def has_ended(self) -> bool:
        """Whether nothing comes any more. The last steps may come after the result."""
        if self.state is MatchState.FINISHED:
            return self.is_over or time.monotonic() - self._finished_at > LAST_STEPS_SECONDS
        return self.state is not MatchState.RUNNING

    def apply(self, entries: Sequence[Entry]) -> None:
        """Adds what Redis has. Entries that repeat known steps change nothing."""
        for entry_id, fields in entries:
            self.cursor = entry_id
            if self._is_broken:
                continue
            try:
                content = json.loads(fields[live_stream.FIELD])
                self._apply(content, int(entry_id.split(b"-")[0]) / 1000)
            except Exception as error:  # rules of another version may fail in any way
                self._is_broken = True
                log_event("live_broken", level="warning", match=self.id, error=f"{error!r:.300}")

    def _apply(self, content: Mapping[str, Any], at: float) -> None:
        if content.get("over"):
            self.is_over = True
            return
        position = content["position"]
        if position == len(self._episodes) and "start" in content:
            self._episodes.append((LiveFrames(content["start"]), [at]))
        if position >= len(self._episodes):
            return  # its start was lost; the worker sends it again
        frames, times = self._episodes[position]
        known = len(frames) - 1 - content["first"]
        if known < 0:
            return
        for number, step in enumerate(content["steps"][known:], start=1):
            if number % STEPS_AT_A_TIME == 0:
                time.sleep(PAUSE_SECONDS)
            frames.add(step)
            times.append(at)
            if frames.size > MOST_CHARACTERS:
                raise ValueError("the frames are too large to be streamed")

    def look(self, found: LiveState | None) -> None:
        """Takes over what the rows say."""
        if found is None or found.attempt != self.attempt:
            self.state = MatchState.QUEUED  # another attempt plays, or will
            return
        if found.state is not self.state:
            self._finished_at = time.monotonic()
        self.state, self.delay_seconds = found.state, found.delay_seconds
        self.is_public = found.is_public

    @property
    def episodes(self) -> int:
        """Number of episodes that began, as far as they may be shown."""
        return sum(self.shown(position) > 0 for position in range(len(self._episodes)))

    def shown(self, position: int) -> int:
        """Number of frames of an episode that may be shown by now."""
        if position >= len(self._episodes):
            return 0
        frames, times = self._episodes[position]
        if not self.delay_seconds or self.state is MatchState.FINISHED:
            return len(times)
        latest = time.time() - self.delay_seconds
        count = len(times)
        while count and times[count - 1] > latest:
            count -= 1
        return min(count, len(frames))

    def cut(self, position: int, first: int, end: int) -> str:
        """Frames as JSON. Readers at the same place share the text."""
        frames = self._episodes[position][0]
        return _kept(self._cuts, (position, first, end), lambda: frames.cut(first, end))

    def event(self, position: int, first: int, shown: int) -> tuple[bytes, int]:
        """The next frames as a server-sent event, and how many frames its reader then has.

        Watchers at the same place share the bytes. One event has a part of many frames, so that the
        site keeps little for a watcher who reads slowly.
        """
        frames = self._episodes[position][0]

        def made() -> tuple[bytes, int]:
            end = frames.end_within(first, shown, EVENT_CHARACTERS)
            data = frames.cut(first, end)
            text = f"id: {self.place(position, end)}\nevent: frames\ndata: {data}\n\n"
            return text.encode(), end

        return _kept(self._events, (position, first, shown), made)

    def place(self, position: int, frames: int) -> str:
        """The id of the place after so many frames of an episode."""
        return f"{self.attempt}.{position}.{frames}"

    def notify(self) -> None:
        """Wakes all watchers."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Waits for news, at most this long."""
        changed = self._changed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await changed.wait()


class LiveMatches:
    """All matches that people watch at this process, and the tasks that renew them."""

    def __init__(
        self,
        redis_url: str,
        read_states: Callable[[Sequence[MatchId]], Mapping[MatchId, LiveState]],
    ) -> None:
        """``read_states`` reads the rows of matches, in a thread."""
        self._read_states = read_states
        self._redis = (
            Redis.from_url(redis_url, socket_timeout=2.0, socket_connect_timeout=2.0)
            if redis_url
            else None
        )
        self._known: dict[MatchId, LiveMatch] = {}
        self._loading: set[asyncio.Task[None]] = set()
        self._asked = asyncio.Event()

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Renews the matches inside this block."""
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._look())]
        try:
            yield
        finally:
            for task in (*tasks, *self._loading):
                task.cancel()
            await asyncio.gather(*tasks, *self._loading, return_exceptions=True)
            if self._redis is not None:
                await self._redis.aclose()

    def notify_all(self) -> None:
        """Wakes the watchers of all matches."""
        for match in self._known.values():
            match.notify()

    async def find(self, match_id: MatchId, state: LiveState) -> LiveMatch | None:
        """The match with what Redis has of it. None if this process holds too many matches."""
        found = self._known.get(match_id)
        if found is None or found.attempt < state.attempt:
            if found is not None:  # its watchers begin anew
                found.look(None)
                found.notify()
            elif len(self._known) >= MOST_MATCHES:
                return None
            found = self._known[match_id] = LiveMatch(match_id, state)
            self._loading.add(task := asyncio.create_task(self._load(found)))
            task.add_done_callback(self._loading.discard)
            self._asked.set()
        elif found.attempt == state.attempt:
            found.look(state)
        found.asked_at = time.monotonic()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOAD_SECONDS):
                await found.loaded.wait()
        return found

    async def _read(self) -> None:
        """Reads new steps of all matches, again and again."""
        while True:
            try:
                await self._read_once()
            except (RedisError, OSError) as error:
                log_event("live_reader_away", level="warning", error=type(error).__name__)
                await asyncio.sleep(AWAY_SECONDS)
            self._drop_idle()
            if self._known:
                await asyncio.sleep(TICK_SECONDS)
            else:
                self._asked.clear()
                await self._asked.wait()

    async def _read_once(self) -> None:
        await self._read_news([one for one in self._known.values() if one.loaded.is_set()])

    async def _load(self, match: LiveMatch) -> None:
        """Reads what Redis has of a match, so that the others need not wait for a long one."""
        try:
            while await self._read_news([match]) == ENTRIES:
                pass
        except (RedisError, OSError):
            pass  # the reader of all matches tries again
        finally:
            match.loaded.set()

    async def _read_news(self, matches: Sequence[LiveMatch]) -> int:
        """Reads what Redis has that is new. Returns the number of entries."""
        if not matches or self._redis is None:
            return 0
        by_key = {match.key.encode(): match for match in matches}
        cursors: dict[Any, Any] = {key: match.cursor for key, match in by_key.items()}
        answer: Any = await self._redis.xread(cursors, count=ENTRIES)
        rows = answer.items() if isinstance(answer, dict) else answer or []
        news: dict[LiveMatch, Sequence[Entry]] = {}
        for key, entries in rows:
            # RESP3 answers with a list of lists of entries.
            news[by_key[key]] = entries[0] if entries and isinstance(entries[0], list) else entries
        if news:
            await run_in_threadpool(_apply_all, news)
        for match in news:
            match.notify()
        return sum(map(len, news.values()))

    async def _look(self) -> None:
        """Looks at the rows of all matches, again and again."""
        while True:
            ends = any(
                match.is_over or match.state is MatchState.FINISHED
                for match in self._known.values()
            )
            await asyncio.sleep(LOOK_AT_END_SECONDS if ends else LOOK_SECONDS)
            if self._known:
                try:
                    await self._look_once()
                except Exception as error:  # without this task no stream would ever end
                    log_event("live_look_failed", level="warning", error=type(error).__name__)

    async def _look_once(self) -> None:
        matches = list(self._known.values())
        found = await run_in_threadpool(self._read_states, [match.id for match in matches])
        for match in matches:
            match.look(found.get(match.id))
            if match.has_ended:
                if self._known.get(match.id) is match:
                    del self._known[match.id]
                match.loaded.set()
            match.notify()

    def _drop_idle(self) -> None:
        old = time.monotonic() - IDLE_SECONDS
        for match in list(self._known.values()):
            if not match.watchers and match.asked_at < old:
                del self._known[match.id]


def _kept(known: dict[K, V], key: K, make: Callable[[], V]) -> V:
    """What is known by this key, or what ``make`` returns. Forgets the oldest of CUTS."""
    if key not in known:
        made = make()
        if len(known) >= CUTS:
            del known[next(iter(known))]
        known[key] = made
    return known[key]


def _apply_all(news: Mapping[LiveMatch, Sequence[Entry]]) -> None:
    for match, entries in news.items():
        match.apply(entries)
