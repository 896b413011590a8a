"""Clients of Redis, and its users for machines that joined.

A user may take messages from the queues of matches, and do nothing else: a checked machine only
from the queue ``open``. Whoever may write to a queue can end every worker that reads
it, by a message without form. Whoever may load scripts can stop Redis.

Redis may lose its users at any time. The scheduler makes them again from the rows of machines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


SEPARATOR: Final = "\x06\x16"
"""Celery's, between the name of a queue and a priority."""
PREFIX: Final = "peck_machine_"
QUEUES: Final = ("play.cpu", "play.gpu", "scrim", "validate")
"""Queues that a trusted machine may take messages from."""
OPEN: Final = "open"
"""Queue of matches that other machines may play, of all kinds."""
PRIORITIES: Final = ("3", "6", "9")
"""Celery looks for messages of these priorities too."""
COMMANDS: Final = ("ping", "select", "client|setname", "llen", "brpop")


def queues_of(*, trusted: bool) -> tuple[str, ...]:
    return QUEUES if trusted else (OPEN,)


def set_user(client: Redis, login: str, secret_hash: str, *, trusted: bool) -> None:
    """Creates the user with this SHA-256 of its password, or replaces it."""
    # Not acl_setuser: it knows no selectors.
    rule = _rule(login, secret_hash, queues_of(trusted=trusted))
    client.execute_command("ACL", "SETUSER", *rule)  # type: ignore[no-untyped-call]


def delete_user(client: Redis, login: str) -> None:
    """Deletes the user and ends its connections; a missing one is no error."""
    client.acl_deluser(login)


def renew_users(
    client: Redis, read_expected: Callable[[], Mapping[str, tuple[str, bool]]]
) -> dict[str, int]:
    """Makes the users of machines those that ``read_expected`` returns: SHA-256, and whether it is
    trusted, by login. Returns the numbers of changes. It reads them after Redis, so that a machine
    that joins meanwhile keeps its user."""
    present = dict(map(_login_and_trust, client.acl_list()))
    expected = read_expected()
    missing = {
        login for login, (_, trusted) in expected.items() if present.get(login) is not trusted
    }
    extra = {name for name in present if name.startswith(PREFIX)} - expected.keys()
    for login in sorted(missing):
        secret_hash, trusted = expected[login]
        set_user(client, login, secret_hash, trusted=trusted)
    for login in sorted(extra):
        delete_user(client, login)
    return {"redis_users_made": len(missing), "redis_users_deleted": len(extra)}


def _login_and_trust(line: bytes | str) -> tuple[str, bool]:
    """Name and trust of a user, from a line of ``ACL LIST``."""
    words = (line.decode() if isinstance(line, bytes) else line).split()
    return words[1], f"~{OPEN}" not in words


def _rule(login: str, secret_hash: str, queues: tuple[str, ...]) -> list[str]:
    keys = [
        name
        for queue in queues
        for name in (queue, *(f"{queue}{SEPARATOR}{priority}" for priority in PRIORITIES))
    ]
    return [
        *(login, "reset", "on", f"#{secret_hash}", "resetchannels", "-@all"),
        *(f"~{key}" for key in keys),
        *(f"+{command}" for command in COMMANDS),
    ]
