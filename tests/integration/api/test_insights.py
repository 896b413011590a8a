"""The access to insights about an entry's games."""

from __future__ import annotations

import pytest

from ladder.matches import workers
from services.api_client import ApiError
from tests.integration.api.shared import world as world
from tests.integration.api.world import WORKER, World


def test_only_the_owner_sees_move_times(world: World) -> None:
    entry = world.entries["public.member"]
    for person, owns in (("stranger", False), ("rival", False), ("admin", False), ("member", True)):
        found = world.client(person).get(f"/v1/entries/{entry}/insights")
        (met,) = found["opponents"]
        assert met["agent_id"] == world.agents["public.host"]
        assert met["team_name"] == "Team host"
        assert found["games"] == 1
        assert found["games_left"] > 0
        assert (found["times"] is not None) == owns
    assert found["times"]["act_seconds"] == 1.0


def test_only_the_owner_sees_the_wait_of_a_pending_entry(world: World) -> None:
    client = world.client("member")
    made = client.upload(
        f"/v1/agents/{world.agents['public.member']}/submissions",
        b"waits = 1",
        season=world.seasons["public"],
    )
    entry = made["entry"]["id"]
    with world.connect() as conn:
        workers.record_heartbeat(conn, WORKER)
    assert client.get(f"/v1/entries/{entry}/insights")["first_match_seconds"] > 0
    assert world.client("host").get(f"/v1/entries/{entry}/insights")["first_match_seconds"] is None
    with pytest.raises(ApiError, match="no such entry"):
        world.client("rival").get(f"/v1/entries/{entry}/insights")


def test_a_wider_score_interval_needs_fewer_games(world: World) -> None:
    client, entry = world.client("stranger"), world.entries["public.member"]
    left = [
        client.get(f"/v1/entries/{entry}/insights", within=within)["games_left"]
        for within in (10, 25, 100, 1000)
    ]
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0
