"""Embedded Postgres and Redis servers, started as child processes without installation or accounts.

Both listen only on Unix sockets, in folders for their own uid and root. Postgres asks for a
password from a private file. Postgres refuses root: if we are root, the servers run as an unused
uid. Then that uid must be able to reach the state folder, and programs under a private home are
copied. The wheels' Python wrappers are unused: they add accounts, widen permissions and leave
servers running.
"""

from services.embedded_servers.folders import (
    EmbeddedError,
    EmbeddedServer,
    locate_state_folder,
    refuse_earlier_format,
    service_uid,
    state_folder,
    write_format_mark,
)
from services.embedded_servers.postgres import postgres_url, role_password, start_postgres
from services.embedded_servers.redis import start_redis

__all__ = [
    "EmbeddedError",
    "EmbeddedServer",
    "locate_state_folder",
    "postgres_url",
    "refuse_earlier_format",
    "role_password",
    "service_uid",
    "start_postgres",
    "start_redis",
    "state_folder",
    "write_format_mark",
]
