"""Sends the steps of a running match to Redis, so that people can watch it.

A thread reads the record that the referee fills. So the referee waits for nothing, and a Redis that
is slow or away costs a match nothing: steps that were not sent are sent later, or never. If Redis
loses the stream, the thread sends the whole match again.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from redis import Redis
from redis.exceptions import RedisError

from games.episode import start_document, step_document
from games.protocol import Game, Json, hides_something
from ladder.matches import live_stream
from ladder.matches.records import MatchOrder
from ladder.runtime_profiles import REMOTE
from ladder.telemetry import log_event
from sandbox.match.match_record import EpisodeRecord
from workers.broker import machine_login
from workers.redis_clients import client_without_retries

TICK_SECONDS: Final = 0.2
MOST_STEPS: Final = 200
"""Most steps in one entry of the stream."""
AWAY_SECONDS: Final = 2.0
"""How long a Redis that did not answer is not asked again."""
ANSWER_SECONDS: Final = 1.0


@contextlib.contextmanager
def publishing(
    redis_url: str, order: MatchOrder, game: Game[Any]
) -> Iterator[Callable[[EpisodeRecord], None] | None]:
    """Publishes the records that are given to the yielded function, until the block ends.

    A match with remote agents is published one step late and without times, so that no owner learns
    anything before the own agent does. If the game hides something it is not published at all: then
    the function is None. So it is for a machine that joined, whose login may not write streams.
    """
    is_remote = REMOTE in order.profiles
    is_allowed = redis_url and machine_login(redis_url) is None
    if not is_allowed or (is_remote and hides_something(game)):
        yield None
        return
    key = live_stream.stream_key(order.match_id, order.attempt)
    client = client_without_retries(redis_url, ANSWER_SECONDS)
    publisher = LivePublisher(client, key, is_remote=is_remote)
    publisher.start()
    try:
        yield publisher.publish
    except BaseException:
        publisher.stop(is_over=False)
        raise
    publisher.stop(is_over=True)


class LivePublisher(threading.Thread):
    """Sends the records of one attempt until it is stopped, and then once more."""

    def __init__(self, client: Redis, key: str, *, is_remote: bool) -> None:
        super().__init__(name="live", daemon=True)
        self._client, self._key, self._is_remote = client, key, is_remote
        self._records: list[EpisodeRecord] = []
        self._sent: list[int] = []
        """Steps that Redis has, by episode; the start of an episode without entry is not sent."""
        self._bytes = 0
        self._stopping = threading.Event()
        self._is_over = False

    def publish(self, record: EpisodeRecord) -> None:
        """Adds the record of the next episode."""
        self._records.append(record)

    def stop(self, *, is_over: bool) -> None:
        """Lets the thread send what is left and end. Does not wait for it."""
        self._is_over = is_over
        self._stopping.set()

    def run(self) -> None:
        asks_again_at, has_told = 0.0, False
        while True:
            is_last = self._stopping.wait(TICK_SECONDS)
            if is_last or time.monotonic() >= asks_again_at:
                try:
                    self._send_news()
                except (RedisError, OSError) as error:
                    asks_again_at = time.monotonic() + AWAY_SECONDS
                    if not has_told:
                        log_event("live_failed", level="warning", error=f"{type(error).__name__}")
                    has_told = True
            if is_last:
                return

    def _send_news(self) -> None:
        """Sends each entry until nothing is new. Begins anew if Redis lost the stream."""
        while True:
            news = self._next_news()
            if news is None or self._bytes > live_stream.MOST_BYTES:
                break
            position, count, content = news
            if not self._send(content, is_first=not self._sent):
                self._sent.clear()
                self._bytes = 0
            elif position == len(self._sent):
                self._sent.append(count)
            else:
                self._sent[position] += count
        if self._is_over and self._stopping.is_set() and self._sent:
            self._send({"over": True}, is_first=False)
            self._client.expire(self._key, live_stream.KEPT_AFTER_SECONDS)

    def _next_news(self) -> tuple[int, int, dict[str, Json]] | None:
        """Position of the episode, number of its new steps, and the entry that holds them."""
        for position, record in enumerate(list(self._records)):
            is_begun = position < len(self._sent)
            first = self._sent[position] if is_begun else 0
            steps = record.steps_from(first, MOST_STEPS + 1)
            if self._holds_back(position):
                steps = steps[:-1]
            steps = steps[:MOST_STEPS]
            if is_begun and not steps:
                continue
            told: dict[str, Json] = {"position": position, "first": first}
            if not is_begun:
                told["start"] = start_document(record.so_far())
            told["steps"] = [step_document(one, with_times=not self._is_remote) for one in steps]
            return position, len(steps), told
        return None

    def _holds_back(self, position: int) -> bool:
        """Whether the newest step of this episode waits for the step after it."""
        is_newest = position == len(self._records) - 1
        return self._is_remote and is_newest and not (self._is_over and self._stopping.is_set())

    def _send(self, content: dict[str, Json], *, is_first: bool) -> bool:
        """Whether Redis had the stream, or this entry begins it."""
        text = msgspec.json.encode(content)
        pipeline = self._client.pipeline(transaction=False)
        pipeline.xadd(self._key, {live_stream.FIELD: text}, nomkstream=not is_first)
        pipeline.expire(self._key, live_stream.KEPT_SECONDS)
        answer, _ = pipeline.execute()
        self._bytes += len(text)
        return answer is not None
