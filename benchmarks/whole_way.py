"""Measures rated matches through the whole system: what a second gives and what a match costs.

    python -m benchmarks.whole_way [--seconds 60] [--slots 2] [--steps 5]

It starts the same parts as `peck up` with one league of agents that answer at once, and lets it
play as fast as it can. Processor time is that of each part with its children, so it holds on a busy
machine; matches a second need a quiet one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

from redis import Redis

from benchmarks.instance_usage import Work, processor_seconds, work_done
from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from ladder.database import db
from services.api_client import Client, Json
from tests.stack import Stack, running

AGENTS = 8
QUICK = b"def agent(observation, configuration):\n    return 'EAST'\n"
SCOPES = ["read", "agents:write", "leagues:write"]
AIM = 30
LEAGUE = "speed"
VALIDATED_SECONDS = 600.0


@contextmanager
def playing_league(slots: int, steps: int) -> Iterator[tuple[Stack, str]]:
    """Runs an instance whose league plays at full speed; yields it and the season's id."""
    with running(slots=slots) as stack:
        _, season = enter_agents(stack, AGENTS, QUICK, {"episodeSteps": steps})
        yield stack, season


def enter_agents(
    stack: Stack, count: int, source: bytes, configuration: Json
) -> tuple[list[Client], str]:
    """Makes a league with a validated agent of each of so many people; returns them and the id of
    the season."""
    admin = stack.client(stack.admin_token)
    people = [_enrol(admin, stack, number) for number in range(count)]
    people[0].post("/v1/leagues", {"slug": LEAGUE, "title": "Bench", "game": "hungry_geese"})
    season = people[0].post(
        f"/v1/leagues/{LEAGUE}/seasons", {"seats": 4, "configuration": configuration}
    )
    entries = [_submit(person, source, number) for number, person in enumerate(people)]
    deadline = time.monotonic() + VALIDATED_SECONDS
    while any(
        people[0].get(f"/v1/entries/{entry['id']}")["state"] != "active" for entry in entries
    ):
        assert time.monotonic() < deadline, "the agents were not validated"
        time.sleep(0.2)
    return people, season["id"]


def _enrol(admin: Client, stack: Stack, number: int) -> Client:
    user = admin.post("/v1/users", {"name": f"user{number}"})
    admin.post(
        "/v1/teams", {"name": f"Team {number}", "slug": f"team{number}", "owner": user["id"]}
    )
    return stack.client(
        admin.post(f"/v1/users/{user['id']}/tokens", {"label": "bench", "scopes": SCOPES})["token"]
    )


def _submit(person: Client, source: bytes, number: int) -> Json:
    agent = person.post("/v1/agents", {"name": f"agent {number}"})
    content = source + f"# {number}".encode()
    entry: Json = person.upload(f"/v1/agents/{agent['id']}/submissions", content, season=LEAGUE)[
        "entry"
    ]
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole_way", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm-up", type=float, default=10.0, help="seconds before that")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    with playing_league(options.slots, options.steps) as (stack, _):
        settings = stack.instance.settings
        with (
            db.connect(settings.database_url, autocommit=True) as conn,
            Redis.from_url(settings.redis_url) as redis,
        ):
            time.sleep(options.warm_up)
            used, done = processor_seconds(stack.instance), work_done(conn, redis)
            began = time.monotonic()
            time.sleep(options.seconds)
            elapsed = time.monotonic() - began
            done = work_done(conn, redis) - done
            now = processor_seconds(stack.instance)
    spent = {part: now[part] - used.get(part, 0.0) for part in now}
    title = f"Hungry Geese of {options.steps} steps, {options.slots} slots"
    print(f"{title}, {elapsed:.0f} s: {describe_machine()}")
    print(aligned([HEAD, *(row.cells() for row in _rows(done, spent, elapsed))]))


def _rows(done: Work, spent: dict[str, float], elapsed: float) -> Iterator[Target]:
    matches = max(1, done.matches)
    rate = done.matches / elapsed
    yield Target("rated matches/s", [rate], "/s", AIM, better="more")
    yield Target("processor time of a match", [1e3 * sum(spent.values()) / matches], "ms")
    for part, seconds in sorted(spent.items(), key=lambda one: -one[1]):
        yield Target(f"  {part}", [1e3 * seconds / matches], "ms")
    yield Target("transactions of a match", [done.commits / matches], "")
    yield Target("connections of a match", [done.sessions / matches], "")
    yield Target("bytes of Postgres's log of a match", [done.wal_bytes / matches], "")
    yield Target("commands to Redis of a match", [done.redis_commands / matches], "")


if __name__ == "__main__":
    main()
