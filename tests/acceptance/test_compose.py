"""Runs `docker compose up` as an operator: matches fill the board, also after a killed worker."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests import compose_project
from tests.compose_project import Deployment
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.network_interfaces, pytest.mark.timeout(1800)]

LEAGUE = "game-of-life-and-death"  # its matches are short
AGENTS = 6
SEATS = 2
LEASE_SECONDS = 5
LONGEST_SECONDS = 600


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    with compose_project.deployment(settings={"PECK_DEMO_LEAGUES": LEAGUE}) as made:
        made.compose("up", "--build", "--detach")
        yield made


def games(deployment: Deployment) -> list[int]:
    """Games of each agent on the demo league's board, read over the published port."""
    try:
        with httpx.Client(base_url=deployment.address) as http:
            board = http.get(f"/v1/seasons/{LEAGUE}/leaderboard")
            return [row["games"] for row in board.raise_for_status().json()["items"]]
    except httpx.HTTPError:
        return []


def killed(deployment: Deployment) -> list[str]:
    """Kill the worker and restart it; returns the ids of the matches that it was playing."""
    under_way = "select id from matches where state = 'running' and kind = 'rated'"
    wait_until(lambda: bool(deployment.query(under_way)), "a match is under way", pause_seconds=0.5)
    deployment.compose("kill", "worker")
    struck = [row[0] for row in deployment.query(under_way)]
    deployment.compose("up", "--detach", "--no-deps", "worker")
    return struck


def test_a_killed_worker_loses_no_match(deployment: Deployment) -> None:
    deployment.query(f"update seasons set lease_seconds = {LEASE_SECONDS}")

    def filled() -> bool:
        found = games(deployment)
        return len(found) == AGENTS and max(found) > 0

    board = "every demo agent is valid and a rated match is on the board"
    wait_until(filled, board, LONGEST_SECONDS, pause_seconds=0.5)

    struck: list[str] = []
    while not struck:  # repeats if the kill fell between two matches
        struck = killed(deployment)

    names = ", ".join(f"'{match}'" for match in struck)
    results = (
        "select m.state, m.attempt > 1, (select count(*) from ratings r where r.match_id = m.id)"
        f" from matches m where id in ({names})"
    )
    wait_until(
        lambda: deployment.query(results) == [["finished", "t", str(SEATS)]] * len(struck),
        "the interrupted matches are finished by a later attempt and rated once",
        LONGEST_SECONDS,
        pause_seconds=0.5,
    )
    assert deployment.query("select count(*) from matches where state = 'void'") == [["0"]]
    blamed = "select count(*) from seats where verdict is not null and verdict <> 'DONE'"
    assert deployment.query(blamed) == [["0"]]
