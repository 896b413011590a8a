"""How far a running validation match is, by the steps that its worker sent to Redis.

`workers.live_publishing` writes them. Redis may lose them: then nobody knows how far the match is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from games import GAMES
from ladder.database.db import Connection
from ladder.entries.records import Entry
from ladder.enums import MatchState
from ladder.ids import MatchId
from ladder.leagues import seasons
from ladder.matches import history, live_stream

ANSWER_SECONDS: Final = 0.3
NEWEST: Final = 2
"""Entries that are read: the last one may say that the match is over."""


@dataclass(frozen=True, slots=True)
class ValidationSteps:
    """How far the episode is that is played now."""

    played: int
    most: int
    """Most steps that an episode of this season can have."""


def read_validation_steps(redis_url: str, conn: Connection, entry: Entry) -> ValidationSteps | None:
    """The steps of the entry's running validation match; None if there is none or nobody knows.

    The caller checks that the viewer may read the entry's logs.
    """
    if not redis_url or entry.validation_match_id is None:
        return None
    match = history.get_match(conn, MatchId(entry.validation_match_id))
    if match.state is not MatchState.RUNNING or match.game not in GAMES:
        return None
    try:
        rows: Any = _client(redis_url).xrevrange(
            live_stream.stream_key(match.id, match.attempt), count=NEWEST
        )
        played = steps_of_entries([json.loads(fields[live_stream.FIELD]) for _, fields in rows])
    except (RedisError, OSError, KeyError, ValueError):
        return None
    if played is None:
        return None
    season = seasons.get_season(conn, entry.season_id)
    return ValidationSteps(played, GAMES[match.game].longest(season.configuration))


def steps_of_entries(newest: list[dict[str, Any]]) -> int | None:
    """Steps of the episode that the newest entry with steps is about. Pure."""
    return next((one["first"] + len(one["steps"]) for one in newest if "steps" in one), None)


@cache
def _client(url: str) -> Redis:
    return Redis.from_url(
        url,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
