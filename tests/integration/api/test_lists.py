"""Lists hold only visible items and reveal nothing about the rest."""

from __future__ import annotations

from typing import Any

import pytest

from ladder.entries import agents
from ladder.matches import history
from ladder.people import users
from services.api_client import Json
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import SCOPES, World, fork_rated

PEOPLE = (
    *("stranger", "rival", "member", "insider", "host", "admin"),
    *("cohost", "grader", "commentator"),
)


def walked(world: World, person: str, path: str, **params: str) -> list[Json]:
    """All items of a list, requested one a page; every page but the last must be full."""
    client = world.client(person)
    found: list[Json] = []
    page = client.get(path, limit=1, **params)
    while page["next"] is not None:
        assert len(page["items"]) == 1, f"{path} as {person}: a page with nothing on it"
        found += page["items"]
        page = client.get(page["next"])
    found += page["items"]
    return found


def ids(rows: list[Any]) -> set[str]:
    return {row["id"] if isinstance(row, dict) else row.id for row in rows}


@pytest.mark.parametrize("person", PEOPLE)
def test_lists_hold_exactly_the_items_that_their_reader_may_open(world: World, person: str) -> None:
    client = world.client(person)

    def opened(table: str, path: str) -> set[str]:
        with world.connect() as conn:
            keys = [row[0] for row in conn.execute(f"select id from {table}")]
        addresses = {key: f"/v1/{path}/{key}" for key in keys}
        return {
            key
            for key, address in addresses.items()
            if world.http.get(address, headers=client.headers).status_code == 200
        }

    seen_agents = opened("agents", "agents")
    assert ids(walked(world, person, "/v1/agents")) == seen_agents
    listed_matches, listed_entries = set(), set()
    for key in seen_agents:
        listed_matches |= ids(walked(world, person, "/v1/matches", agent=key))
        listed_entries |= ids(walked(world, person, "/v1/entries", agent=key))
    assert listed_entries == opened("entries", "entries")
    assert listed_matches == opened("matches", "matches")
    assert ids(list(client.list_items("/v1/leagues"))) == ids(walked(world, person, "/v1/leagues"))


def test_member_list_has_pages(world: World) -> None:
    host, path = world.client("host"), "/v1/leagues/private/members"
    assert len(host.get(path, limit=2)["items"]) == 2
    listed = list(host.list_items("/v1/leagues/private/members", limit=200))
    assert len(listed) > 2
    assert walked(world, "host", path) == listed


def test_hidden_agents_leave_no_gaps_in_pages(fresh_world: World) -> None:
    with fresh_world.connect() as conn:
        for number in range(300):
            agents.create_agent(conn, fresh_world.teams["insider"], f"H {number}", f"h-{number}")  # type: ignore[arg-type]
    page = fresh_world.client("rival").get("/v1/agents", limit=10)
    assert (len(page["items"]), page["next"]) == (3, None)


def test_an_entry_retired_before_validation_keeps_its_agent_hidden(
    fresh_world: World,
) -> None:
    member = fresh_world.client("member")
    agent = member.post("/v1/agents", {"name": "Shy"})["id"]
    entry = member.upload(f"/v1/agents/{agent}/submissions", b"shy", season="public")["entry"]["id"]
    member.post(f"/v1/entries/{entry}/retire")
    for path in (f"/v1/agents/{agent}", f"/v1/entries/{entry}"):
        answer = fresh_world.http.get(path, headers=fresh_world.client("rival").headers)
        assert answer.status_code == 404
    assert agent not in ids(list(fresh_world.client("rival").list_items("/v1/agents", limit=200)))


def test_a_fork_is_hidden_from_a_team_mate_who_may_not_see_the_record(fresh_world: World) -> None:
    admin = fresh_world.client("admin")
    mate = admin.post("/v1/users", {"name": "mate"})["id"]
    fresh_world.tokens["mate"] = admin.post(
        f"/v1/users/{mate}/tokens", {"label": "test", "scopes": SCOPES}
    )["token"]
    admin.send("POST", f"/v1/teams/{fresh_world.teams['member']}/members", json={"user": mate})
    # The mate is in the team that played both matches, but not in the private league.
    forks = {
        name: fork_rated(fresh_world, fresh_world.matches[f"{name}.rated"])
        for name in fresh_world.seasons
    }
    (open_fork, open_game), (hidden, hidden_game) = forks["public"], forks["private"]
    member = ids(list(fresh_world.client("member").list_items("/v1/scrims")))
    assert {open_fork, hidden} <= member
    seen = ids(list(fresh_world.client("mate").list_items("/v1/scrims")))
    assert seen == member - {hidden}
    with fresh_world.connect() as conn:
        who = users.viewer_of_token(conn, fresh_world.tokens["mate"])
        assert who is not None
        listed = ids(history.list_matches(conn, viewer=who, limit=1000))
    assert open_game in listed
    assert hidden_game not in listed
    paths = (f"/v1/scrims/{hidden}", f"/v1/matches/{hidden_game}", f"/v1/matches?scrim={hidden}")
    for path in (*paths, f"/v1/matches/{hidden_game}/replay", f"/scrims/{hidden}"):
        headers = {**fresh_world.client("mate").headers, "accept": "application/json"}
        assert fresh_world.http.get(path, headers=headers).status_code == 404, path
    with fresh_world.connect() as conn:
        conn.execute("update leagues set replay_visibility = 'members' where slug = 'public'")
    assert open_fork not in ids(list(fresh_world.client("mate").list_items("/v1/scrims")))


def test_other_teams_do_not_learn_which_person_asked_for_a_scrim(world: World) -> None:
    scrim = world.scrims["public.league"]
    assert (
        world.client("member").get(f"/v1/scrims/{scrim}")["requested_by"] == world.users["member"]
    )
    assert world.client("rival").get(f"/v1/scrims/{scrim}")["requested_by"] is None
