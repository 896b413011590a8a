"""A match that a test plays step by step, published to Redis as a worker does it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import redis

from games.episode import Episode
from games.frames import frames_json
from ladder.matches import live_stream
from ladder.matches.records import MatchOrder
from sandbox.match.clock import Clock
from sandbox.match.match_record import EpisodeRecord
from tests.integration.api.world import simulate
from workers.live_publishing import LivePublisher

NO_RESULT = dict.fromkeys(("placements", "rewards", "verdicts"))


@dataclass
class Playing:
    """A claimed match, the episode it will have, and the record of the steps so far."""

    order: MatchOrder
    episode: Episode
    record: EpisodeRecord
    publisher: LivePublisher
    key: str

    def play(self, steps: int) -> None:
        """Plays this many steps."""
        first = len(self.record.steps_from(0, 10_000))
        for step in self.episode.steps[first : first + steps]:
            moves = {seat: move for seat, move in enumerate(step.moves) if move is not None}
            self.record.add(moves, {}, step.chance)

    def end(self) -> Episode:
        """Plays the rest, lets the publisher end, and returns the episode with its result."""
        self.play(len(self.episode.steps))
        self.publisher.stop(is_over=True)
        return replace(self.episode, steps=self.record.so_far().steps)


def begin(order: MatchOrder, redis_url: str, *, is_remote: bool = False) -> Playing:
    """The claimed match before its first step."""
    episode = simulate(order.game, order.configuration, order.clock, len(order.digests))
    record = EpisodeRecord(
        game=episode.game,
        version=episode.version,
        configuration=episode.configuration,
        clock=Clock.from_json(order.clock),
        seats=episode.seats,
        chance=episode.chance,
    )
    key = live_stream.stream_key(order.match_id, order.attempt)
    publisher = LivePublisher(redis.Redis.from_url(redis_url), key, is_remote=is_remote)
    publisher.publish(record)
    publisher.start()
    return Playing(order, episode, record, publisher, key)


def without_result(episode: Episode) -> Any:
    """The frames of an episode as they are streamed."""
    return {**json.loads(json.dumps(frames_json(episode))), **NO_RESULT}
