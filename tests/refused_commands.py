"""Reads which commands Redis has refused."""

from __future__ import annotations

from redis import Redis


def refused_commands(redis: Redis) -> list[str]:
    """Lists the refused commands and keys, but for the client's name.

    redis-py sends its name with each connection (``CLIENT SETINFO``) and goes on if that is
    refused. Redis 6.2 logs it as ``client``, and 7.2 as ``client|setinfo``. Redis 7.0 does not know
    the command.
    """
    found = [str(each["object"]) for each in redis.acl_log()]
    return [each for each in found if each not in {"client", "client|setinfo"}]
