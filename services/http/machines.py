"""Machines that joined, as callers of the API: finds the machine of a secret."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Annotated, Any, Final

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from redis import Redis
from redis.exceptions import RedisError
from starlette.concurrency import run_in_threadpool

from ladder.database.db import Connection
from ladder.errors import Conflict
from ladder.machines import addresses, machines
from ladder.machines.addresses import MachineAddresses
from ladder.machines.machines import Machine
from ladder.settings import Settings
from services.http.app_state import app_state_of, transaction
from services.http.problems import ProblemError
from workers import redis_users

REDIS_SECONDS: Final = 2.0
OPEN_REDIS: Final = (
    "no machine can join: Redis would be open to strangers; its operator must set requirepass, and"
    " add the password to PECK_REDIS_URL"
)
bearer = HTTPBearer(
    auto_error=False,
    scheme_name="machine",
    description="The secret of a machine, from POST /v1/machines/join.",
)
MachineCredentials = Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]


def require_addresses(settings: Settings) -> MachineAddresses:
    """The addresses for machines. Raises Conflict or Invalid if no machine can join this site."""
    found = addresses.machine_addresses(settings)
    if not addresses.is_local_redis(found.redis_url):
        require_redis_password(settings.redis_url)
    return found


def require_machine(conn: Connection, credentials: HTTPAuthorizationCredentials | None) -> Machine:
    """The machine of the secret. Raises ProblemError for a wrong or revoked one."""
    found = None
    if credentials is not None:
        found = machines.machine_of_secret(conn, credentials.credentials)
    if found is None:
        raise ProblemError(
            "unauthorized", "Send the secret of a machine that joined and was not revoked."
        )
    return found


async def machine_of_request(request: Request, credentials: MachineCredentials) -> Machine:
    """The machine behind the request. Uses a transaction of its own, so that a slow body holds no
    connection."""

    def look() -> Machine:
        with transaction(app_state_of(request)) as conn:
            return require_machine(conn, credentials)

    return await run_in_threadpool(look)


KnownMachine = Annotated[Machine, Security(machine_of_request)]


def require_redis_password(redis_url: str) -> None:
    """Raises Conflict if strangers could use Redis: its first user has no password. Raises
    ProblemError while Redis does not answer."""
    try:
        with closing(_client(redis_url)) as client:
            first: Any = client.acl_getuser("default")
    except (RedisError, OSError):
        raise ProblemError("unavailable", "Try again shortly: Redis does not answer.") from None
    if {"on", "nopass"} <= set(first["flags"]):
        raise Conflict(OPEN_REDIS)


def set_redis_user(redis_url: str, login: str, secret_hash: str, *, trusted: bool) -> None:
    """Creates or changes the machine's user. While Redis does not answer the scheduler does it
    later."""
    if not redis_url:
        return
    with suppress(RedisError, OSError), closing(_client(redis_url)) as client:
        redis_users.set_user(client, login, secret_hash, trusted=trusted)


def change_redis_user(conn: Connection, redis_url: str, login: str) -> None:
    """Gives the machine's user the queues of its tier."""
    secret_hash, trusted = machines.redis_logins(conn)[login]
    set_redis_user(redis_url, login, secret_hash, trusted=trusted)


def delete_redis_user(redis_url: str, login: str) -> None:
    """Deletes the machine's user. While Redis does not answer the scheduler does it later."""
    if not redis_url:
        return
    with suppress(RedisError, OSError), closing(_client(redis_url)) as client:
        redis_users.delete_user(client, login)


def _client(redis_url: str) -> Redis:
    return Redis.from_url(
        redis_url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    )
