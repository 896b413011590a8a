"""Postgres and Redis of our own, started as children: no container, no server, no account needed.

Both listen only on Unix sockets, in folders that only their own uid and root can enter. Postgres
asks for a password, which is in a file that only we can read. As root the servers run as a uid of
their own that no user has, because Postgres refuses root; then the state folder must lie where that
uid can get to it, and binaries under a private home are copied out. The wheels' Python wrappers
are not used: they add accounts, widen permissions and leave servers behind.
"""

from services.embedded.folders import (
    EmbeddedError,
    EmbeddedServer,
    refuse_earlier_format,
    service_uid,
    state_folder,
    write_format_mark,
)
from services.embedded.postgres import postgres_url, start_postgres, worker_password
from services.embedded.redis import start_redis

__all__ = [
    "EmbeddedError",
    "EmbeddedServer",
    "postgres_url",
    "refuse_earlier_format",
    "service_uid",
    "start_postgres",
    "start_redis",
    "state_folder",
    "worker_password",
    "write_format_mark",
]
