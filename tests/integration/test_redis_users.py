"""A machine's user of Redis: what Celery needs works, everything else is refused."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from kombu.transport.redis import Channel
from redis import Redis
from redis.exceptions import NoPermissionError, RedisError

from tests.refused_commands import refused_commands
from tests.waiting import wait_until
from workers import broker, redis_clients

LOGIN = "peck_machine_pond"
SECRET = "only the machine knows it"
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()


@pytest.fixture
def server(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        client.flushdb()
        client.acl_log_reset()
        redis_clients.set_user(client, LOGIN, DIGEST, trusted=True)
        yield client
        redis_clients.delete_user(client, LOGIN)


@pytest.fixture
def machine(server: Redis, redis_url: str) -> Iterator[Redis]:
    with own(redis_url) as client:
        yield client


def own(redis_url: str) -> Redis:
    return Redis.from_url(redis_url, username=LOGIN, password=SECRET)


def with_login(redis_url: str) -> str:
    """The address with the machine's login, as ``peck join`` gets it."""
    parts = urlsplit(redis_url)
    assert parts.scheme == "unix"
    return f"unix://{LOGIN}:{SECRET.replace(' ', '%20')}@{parts.path}?{parts.query}"


@pytest.mark.filterwarnings("ignore::celery.exceptions.SecurityWarning")
def test_a_worker_takes_messages(server: Redis, redis_url: str) -> None:
    site = broker.make_celery_app(redis_url)
    app = broker.make_celery_app(with_login(redis_url))
    app.conf.include = []
    taken: list[str] = []

    @app.task(name="peck.test_play")  # type: ignore[untyped-decorator]
    def play(match_id: str) -> None:
        taken.append(match_id)

    worker = app.Worker(
        pool="solo", concurrency=1, queues=["play.cpu", "scrim"], quiet=True, loglevel="ERROR",
        without_mingle=True, without_gossip=True, without_heartbeat=True,
    )  # fmt: skip
    thread = threading.Thread(target=worker.start, daemon=True)
    thread.start()
    try:
        for number in range(3):
            site.send_task("peck.test_play", args=(f"mat_{number}",), queue="play.cpu", retry=False)
        wait_until(lambda: len(taken) == 3, "all messages are taken")
    finally:
        worker.stop()
    assert sorted(taken) == ["mat_0", "mat_1", "mat_2"]
    assert refused_commands(server) == []
    assert server.keys("unacked*") == []
    steps = Channel.priority_steps
    assert (Channel.sep, [*map(str, steps[1:])]) == (
        redis_clients.SEPARATOR,
        [*redis_clients.PRIORITIES],
    )


@pytest.mark.parametrize(
    "words",
    [
        ("BRPOP", "rate", "1"), ("BRPOP", "notices", "1"), ("GET", "peck:limits"),
        ("XREAD", "STREAMS", "peck:live:mat_1:1", "0"), ("LPUSH", "draw", "x"), ("KEYS", "*"),
        ("XADD", "peck:live:mat_1:1", "*", "d", "x"), ("HGET", "unacked.peck_machine_lake", "x"),
        ("FLUSHDB",), ("FLUSHALL",), ("CONFIG", "GET", "*"), ("ACL", "LIST"), ("MONITOR",),
        ("CLIENT", "LIST"), ("SUBSCRIBE", "x"), ("SHUTDOWN",),
        ("EVAL", "return 1", "0"), ("SCRIPT", "LOAD", "while true do end"), ("SCAN", "0"),
        ("EVALSHA", "0" * 40, "0"), ("LPUSH", "rate", "x"), ("LPUSH", "play.cpu", "x"),
        ("SADD", "_kombu.binding.play.cpu", "x"), ("SADD", "_kombu.binding.rate", "x"),
        ("SET", f"unacked_mutex.{LOGIN}", "x"), ("HSET", f"unacked.{LOGIN}", "x", "x"),
        ("BRPOP", f"play.cpu{redis_clients.SEPARATOR}x", "1"), ("RANDOMKEY",), ("SAVE",),
        ("SLAVEOF", "a", "1"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_everything_else_is_refused(machine: Redis, words: tuple[str, ...]) -> None:
    with pytest.raises(NoPermissionError):
        machine.execute_command(*words)  # type: ignore[no-untyped-call]


def test_lost_users_are_made_again_and_revoked_ones_deleted(server: Redis, redis_url: str) -> None:
    with own(redis_url) as machine:
        assert machine.ping()
        changed = redis_clients.renew_users(server, lambda: {"peck_machine_lake": (DIGEST, True)})
        assert changed == {"redis_users_made": 1, "redis_users_deleted": 1}
        with pytest.raises(RedisError):
            machine.ping()
        with pytest.raises(RedisError):
            machine.ping()
    for deleted in (1, 0):
        changed = redis_clients.renew_users(server, dict)
        assert changed == {"redis_users_made": 0, "redis_users_deleted": deleted}
