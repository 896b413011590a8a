"""People, teams and tokens."""

from __future__ import annotations

import pytest

from services.client import ApiError
from tests.integration.api.world import World


def test_whoami_tells_user_teams_and_scopes(world: World) -> None:
    me = world.client("member").me()
    assert me["user"]["name"] == "member"
    assert [team["slug"] for team in me["teams"]] == ["member"]
    assert me["scopes"] == ["agents:write", "leagues:write", "read", "scrims:write"]


def test_a_token_passes_on_no_more_than_its_own_scopes(world: World) -> None:
    reader = world.client("member").mint_token("reader", ["read"])
    world.tokens["reader"] = reader["token"]
    with pytest.raises(ApiError, match="agents:write") as refused:
        world.client("reader").mint_token("wider", ["read", "agents:write"])
    assert refused.value.status == 403


def test_a_token_without_the_scope_may_look_and_not_touch(world: World) -> None:
    world.tokens["reader"] = world.client("member").mint_token("reader", ["read"])["token"]
    reader = world.client("reader")
    assert reader.submission(world.submissions["public.member"])["filename"] == "main.py"
    with pytest.raises(ApiError, match="agents:write") as refused:
        reader.create_agent("Another")
    assert refused.value.status == 403


def test_an_ordinary_user_gets_no_admin_token(world: World) -> None:
    with pytest.raises(ApiError) as refused:
        world.client("admin").mint_token("x", ["admin"], user=world.users["member"])
    assert refused.value.status == 403


def test_a_revoked_token_opens_nothing_more(world: World) -> None:
    minted = world.client("member").mint_token("short", ["read"])
    world.tokens["short"] = minted["token"]
    assert world.client("short").me()["user"]["name"] == "member"
    world.client("member").send("DELETE", f"/v1/users/me/tokens/{minted['id']}")
    with pytest.raises(ApiError) as refused:
        world.client("short").me()
    assert refused.value.status == 401


def test_tokens_are_listed_without_their_text(world: World) -> None:
    world.client("member").mint_token("listed", ["read"])
    rows = list(world.client("member").pages("/v1/users/me/tokens"))
    assert {"listed", "test"} <= {row["label"] for row in rows}
    assert not any("token" in row for row in rows)


def test_a_taken_name_is_a_conflict(world: World) -> None:
    with pytest.raises(ApiError, match="MEMBER") as refused:
        world.client("admin").create_user("MEMBER")
    assert refused.value.status == 409


def test_a_new_member_of_a_team_plays_for_it(world: World) -> None:
    admin = world.client("admin")
    path = f"/v1/teams/{world.teams['member']}/members"
    admin.send("POST", path, json={"user": world.users["rival"]})
    teams = {team["slug"] for team in world.client("rival").me()["teams"]}
    assert teams == {"rival", "member"}
    with pytest.raises(ApiError, match="yours are") as refused:
        world.client("rival").create_agent("For whom")
    assert refused.value.status == 422
    made = world.client("rival").create_agent("For them", team="member")
    assert made["team_id"] == world.teams["member"]
