"""Keeps the users of Redis for machines that joined."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import RedisError

from ladder.database import db
from ladder.machines import machines
from ladder.telemetry import log_event
from workers import redis_users

REDIS_SECONDS = 2.0
"""Timeout of each call to Redis."""


class RedisUsers:
    """Keeps the users of Redis equal to the machines that joined: Redis may lose its users."""

    def __init__(self, redis_url: str) -> None:
        self._client = Redis.from_url(
            redis_url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
        )
        self._trouble = ""

    def renew(self, conn: db.Connection) -> dict[str, int]:
        """Makes lost users again and deletes those of revoked machines. Logs each new failure."""

        def read_expected() -> dict[str, tuple[str, bool]]:
            with conn.transaction():
                return machines.redis_logins(conn)

        try:
            changed = redis_users.renew_users(self._client, read_expected)
        except (RedisError, OSError) as error:
            trouble = f"{type(error).__name__}: {error}"
            if trouble != self._trouble:
                log_event("redis_users_failed", level="warning", error=trouble)
            self._trouble = trouble
            return {}
        self._trouble = ""
        return changed
