"""Clients of Redis that several processes make in the same way."""

from __future__ import annotations

from functools import cache
from typing import Final

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

PROBE_KEY: Final = "peck:probe"
PROBE_SECONDS: Final = 1.0


@cache
def client_without_retries(url: str, timeout_seconds: float) -> Redis:
    """The client of this process that never repeats a call."""
    return Redis.from_url(
        url,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
    )


def why_redis_takes_no_messages(url: str) -> str | None:
    """Why Redis is away or refuses writes, for example with a full memory; None if it takes them.

    A Redis that refuses writes may still answer ``PING``. So this writes a small key.
    """
    try:
        client_without_retries(url, PROBE_SECONDS).set(PROBE_KEY, 1, ex=60)
    except (RedisError, OSError) as error:
        return f"{type(error).__name__}: {error}"[:300]
    return None
