"""Matches go on while Redis answers and refuses writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import psycopg
import pytest
from redis import Redis
from redis.exceptions import RedisError, ResponseError

from ladder.database import db
from ladder.database.blobs import open_blobs
from ladder.leagues import leagues
from ladder.people import users
from tests.chaos.fleet import Fleet
from tests.chaos.quick_leagues import QUICK, make_quick_league
from tests.waiting import wait_until

pytestmark = [pytest.mark.bubblewrap]


def count(fleet: Fleet, query: str) -> int:
    with psycopg.connect(fleet.database_url) as conn:
        row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def refuses(client: Redis) -> bool:
    with suppress(RedisError):
        client.set("some key", "some value")
        return False
    return True


@contextmanager
def full_memory(client: Redis, fleet: Fleet) -> Iterator[None]:
    client.config_set("maxmemory", "1mb")
    with suppress(ResponseError):
        for number in range(100):
            client.set(f"filling {number}", b"x" * 20_000)
    with suppress(ResponseError):
        for number in range(20_000):
            client.set(f"filling the rest {number}", 1)
    yield
    client.config_set("maxmemory", "0")


@contextmanager
def failed_snapshot(client: Redis, fleet: Fleet) -> Iterator[None]:
    folder = fleet.state / "redis"
    folder.chmod(0o500)
    client.config_set("save", "1 1")
    client.set("one change", 1)
    yield
    folder.chmod(0o700)
    client.config_set("save", "")
    client.config_set("stop-writes-on-bgsave-error", "no")


@pytest.mark.parametrize("trouble", [full_memory, failed_snapshot], ids=["memory", "snapshot"])
def test_matches_go_on_while_redis_refuses_writes(
    fleet: Fleet, trouble: Callable[[Redis, Fleet], AbstractContextManager[None]]
) -> None:
    with fleet.printing_logs():
        with db.connect(fleet.database_url) as conn:
            owner = users.create_user(conn, f"owner-{trouble.__name__}").id
            blobs, game = open_blobs(fleet.blobs_url), QUICK["hungry_geese"]
            league = make_quick_league(
                conn, blobs, owner, game, slug=trouble.__name__.replace("_", "-")
            )
        failed = "select count(*) from attempts where ended <> 'finished'"
        rated = f"select sum(rated_no)::integer from seasons where league_id = '{league}'"
        failed_before = count(fleet, failed)
        wait_until(lambda: count(fleet, rated) > 3, "matches are played and rated")
        client = Redis.from_url(fleet.redis.url)
        ids = {name: child.process.pid for name, child in fleet.children.items()}
        with trouble(client, fleet):
            wait_until(lambda: refuses(client), "Redis refuses writes")
            wait_until(lambda: is_asking(fleet, "rater"), "the rater asks Postgres")
            wait_until(lambda: is_asking(fleet, "worker-1"), "the worker asks Postgres")
            before = count(fleet, rated)
            wait_until(lambda: count(fleet, rated) > before + 5, "matches go on")
            assert refuses(client)
        wait_until(lambda: not is_asking(fleet, "worker-1"), "messages come again")
        before = count(fleet, rated)
        wait_until(lambda: count(fleet, rated) > before + 3, "matches go on")
        assert ids == {name: child.process.pid for name, child in fleet.children.items()}
        assert all(child.alive() for child in fleet.children.values())
        with db.connect(fleet.database_url) as conn:
            leagues.set_league_state(conn, league, "paused")
        open_rows = "select count(*) from matches where state in ('queued', 'running')"
        wait_until(lambda: count(fleet, open_rows) == 0, "no match is open")
        assert count(fleet, failed) == failed_before


def is_asking(fleet: Fleet, name: str) -> bool:
    """Whether the process asks Postgres now, by its log."""
    log = fleet.log(name).read_text()
    return log.rfind("redis_takes_no_messages") > log.rfind("redis_takes_messages_again")
