"""Limits on attempts, such as signing in, counted in Redis over all processes of the API.

While Redis is away each process counts alone. The keys of attempts without a session have the
caller's network, so a stranger's attempts from elsewhere never lock the owner of an account out.
"""

from __future__ import annotations

import hashlib
import ipaddress
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NoReturn, TypeVar

from fastapi import Request
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter

from ladder.people.users import look_alike_key
from services.http.problems import ProblemError

T = TypeVar("T")
NOBODY: Final = "unknown"
AWAY_SECONDS: Final = 30.0
"""How long a Redis that did not answer is not asked again."""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many attempts in a time, for one address and one further key."""

    name: str
    rate: RateLimitItem


class Limits(Enum):
    """Each limit of the site. A class behind one address needs hundreds of sign-ins an hour."""

    PASSWORD = Limit("failed attempts to sign in as one person", parse("10/minute"))
    SIGN_IN = Limit("failed attempts to sign in from one address", parse("1200/hour"))
    SIGN_UP = Limit("new accounts from one address", parse("400/hour"))
    PASSKEY = Limit("attempts with a passkey", parse("1200/hour"))
    PROVIDER = Limit("visits to identity providers", parse("600/hour"))
    MAIL = Limit("mails to one address", parse("5/hour"))
    RECOVERY = Limit("attempts to recover an account", parse("60/hour"))
    CHANNEL = Limit("new channels and tests of channels of one person", parse("30/hour"))
    DEVICE = Limit("logins of devices from one address", parse("600/hour"))
    MACHINE = Limit("attempts to join as a machine", parse("60/hour"))
    DEVICE_CODE = Limit("codes of devices", parse("10/minute"))


class AttemptLimits:
    """Counts attempts in Redis, or in this process without Redis."""

    def __init__(self, redis_url: str) -> None:
        self._own = FixedWindowRateLimiter(MemoryStorage())
        self._shared = FixedWindowRateLimiter(_redis_storage(redis_url)) if redis_url else self._own
        self._away_until = 0.0

    def count(self, request: Request, limit: Limits, key: str = "") -> None:
        """Counts an attempt from this address. Raises ProblemError above the limit."""
        rate, keys = limit.value.rate, self._keys(request, limit, key)
        if not self._ask(lambda counter: counter.hit(rate, *keys)):
            self._refuse(limit, keys)

    def count_of_person(self, user_id: str, limit: Limits) -> None:
        """Counts an attempt of a person from anywhere. Raises ProblemError above the limit."""
        digest = hashlib.sha256(user_id.encode()).hexdigest()[:32]  # names nobody
        rate, keys = limit.value.rate, (limit.name, "person", digest)
        if not self._ask(lambda counter: counter.hit(rate, *keys)):
            self._refuse(limit, keys)

    def give_back(self, request: Request, limit: Limits, key: str = "") -> None:
        """Takes back one attempt that `count` counted."""
        rate, keys = limit.value.rate, self._keys(request, limit, key)
        self._ask(lambda counter: counter.hit(rate, *keys, cost=-1))

    def check(self, request: Request, limit: Limits, key: str = "") -> None:
        """Raises ProblemError if the limit is used up; counts nothing."""
        rate, keys = limit.value.rate, self._keys(request, limit, key)
        if not self._ask(lambda counter: counter.test(rate, *keys)):
            self._refuse(limit, keys)

    def _ask(self, ask: Callable[[FixedWindowRateLimiter], T]) -> T:
        """Asks Redis; for a while this process alone after Redis did not answer."""
        if time.monotonic() >= self._away_until:
            try:
                return ask(self._shared)
            except StorageError:
                self._away_until = time.monotonic() + AWAY_SECONDS
        return ask(self._own)

    def _refuse(self, limit: Limits, keys: Sequence[str]) -> NoReturn:
        rate = limit.value.rate
        resets_at = self._ask(lambda counter: counter.get_window_stats(rate, *keys).reset_time)
        seconds = max(1, round(resets_at - time.time()))
        raise ProblemError(
            "limit-reached",
            f"Wait {seconds} seconds: there were too many {limit.value.name}.",
            headers={"Retry-After": str(seconds)},
            limit=limit.value.name,
            used=rate.amount,
            allowed=rate.amount,
            left=0,
        )

    @staticmethod
    def _keys(request: Request, limit: Limits, key: str) -> tuple[str, str, str]:
        """The counter's name: the limit, the caller's network and the key."""
        host = request.client.host if request.client else NOBODY
        digest = hashlib.sha256(look_alike_key(key).encode()).hexdigest()[:32]  # names nobody
        return limit.name, network_of(host), digest


def network_of(host: str) -> str:
    """The address, or the /64 of an IPv6 address: one customer has that many."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network(f"{address}/64", strict=False))


def _redis_storage(url: str) -> RedisStorage:
    """A storage that raises StorageError while Redis is away."""
    kind = f"redis+{url}" if url.startswith("unix://") else url
    return RedisStorage(kind, wrap_exceptions=True, socket_timeout=0.5, socket_connect_timeout=0.5)
