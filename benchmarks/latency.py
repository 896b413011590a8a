"""Measures the time from upload to validation, and to the first rated match, on an idle instance.

    python -m benchmarks.latency [--uploads 5]

It starts the same parts as `peck up` (embedded servers, real boxes) with a small league of quick
agents. Between uploads the league is paused, so that each upload finds an idle system. Times are
those of a client that polls every 50 ms.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from services.api_client import Client, Json
from tests.stack import running

POLL_SECONDS = 0.05
QUICK = b"def agent(observation, configuration):\n    return 'EAST'\n"
SCOPES = ["read", "agents:write", "leagues:write"]
RESIDENTS = 3


def wait_until(ready: Callable[[], bool]) -> None:
    """Wait, at most two minutes."""
    deadline = time.monotonic() + 120
    while not ready():
        assert time.monotonic() < deadline, "the condition was not met within two minutes"
        time.sleep(POLL_SECONDS)


def submit(ladder: Client, name: str) -> Json:
    """Upload and enter a quick new agent."""
    agent = ladder.post("/v1/agents", {"name": name})
    entry: Json = ladder.upload(
        f"/v1/agents/{agent['id']}/submissions", QUICK + b"# " + name.encode(), season="idle"
    )["entry"]
    return entry


def set_league_paused(ladder: Client, *, resting: bool) -> None:
    """Pause or resume the league; a pause waits until all matches have ended."""
    ladder.patch("/v1/leagues/idle", {"state": "paused" if resting else "open"})
    if resting:
        wait_until(lambda: not any(unfinished_matches(ladder)))


def unfinished_matches(ladder: Client) -> list[Json]:
    rows = ladder.list_items("/v1/matches", most=50, season="idle", kind="rated")
    return [row for row in rows if row["state"] in ("queued", "running")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=5)
    options = parser.parse_args()
    with running() as stack:
        admin = stack.client(stack.admin_token)
        people = []
        for number in range(RESIDENTS + options.uploads):
            user = admin.post("/v1/users", {"name": f"user{number}"})
            admin.post(
                "/v1/teams",
                {"name": f"Team {number}", "slug": f"team{number}", "owner": user["id"]},
            )
            token = admin.post(
                f"/v1/users/{user['id']}/tokens", {"label": "bench", "scopes": SCOPES}
            )["token"]
            people.append(stack.client(token))
        host = people[0]
        host.post("/v1/leagues", {"slug": "idle", "title": "Idle", "game": "hungry_geese"})
        host.post("/v1/leagues/idle/seasons", {"seats": 4})
        for number in range(RESIDENTS):
            entry = submit(people[number], f"resident {number}")
            wait_until(lambda: host.get(f"/v1/entries/{entry['id']}")["state"] == "active")  # noqa: B023
        validated, rated = [], []
        for number in range(options.uploads):
            ladder = people[RESIDENTS + number]
            set_league_paused(host, resting=True)
            time.sleep(3)
            set_league_paused(host, resting=False)
            began = time.perf_counter()
            entry = submit(ladder, f"newcomer {number}")
            wait_until(lambda: ladder.get(f"/v1/entries/{entry['id']}")["state"] == "active")  # noqa: B023
            validated.append(time.perf_counter() - began)
            wait_until(lambda: ladder.get(f"/v1/entries/{entry['id']}")["games"] > 0)  # noqa: B023
            rated.append(time.perf_counter() - began)
    print(f"{'seconds from upload to':28}{'median':>8}{'worst':>8}{'aim':>6}")
    for name, times, aim in (("validated", validated, 3), ("first rated match", rated, 10)):
        print(f"{name:28}{statistics.median(times):8.2f}{max(times):8.2f}{aim:6d}")


if __name__ == "__main__":
    main()
