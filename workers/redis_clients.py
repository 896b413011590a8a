"""Clients of Redis that several processes make in the same way."""

from __future__ import annotations

from functools import cache

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry


@cache
def client_without_retries(url: str, timeout_seconds: float) -> Redis:
    """The client of this process that never repeats a call."""
    return Redis.from_url(
        url,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
    )
