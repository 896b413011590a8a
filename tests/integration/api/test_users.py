"""People, teams and tokens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from ladder.people import quotas
from services.api_client import ApiError, Json
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import SCOPES, World


def test_whoami_tells_user_teams_and_scopes(world: World) -> None:
    me = world.client("member").get("/v1/me")
    assert me["user"]["name"] == "member"
    assert [team["slug"] for team in me["teams"]] == ["member"]
    assert me["scopes"] == ["agents:write", "leagues:write", "read", "scrims:write"]


def test_a_token_cannot_grant_wider_scopes(world: World) -> None:
    reader = world.client("member").post(
        "/v1/users/me/tokens", {"label": "reader", "scopes": ["read"]}
    )
    world.tokens["reader"] = reader["token"]
    with pytest.raises(ApiError, match="agents:write") as refused:
        world.client("reader").post(
            "/v1/users/me/tokens", {"label": "wider", "scopes": ["read", "agents:write"]}
        )
    assert refused.value.status == 403


def test_a_token_without_the_write_scope_may_only_read(world: World) -> None:
    world.tokens["reader"] = world.client("member").post(
        "/v1/users/me/tokens", {"label": "reader", "scopes": ["read"]}
    )["token"]
    reader = world.client("reader")
    assert (
        reader.get(f"/v1/submissions/{world.submissions['public.member']}")["filename"] == "main.py"
    )
    with pytest.raises(ApiError, match="agents:write") as refused:
        reader.post("/v1/agents", {"name": "Another"})
    assert refused.value.status == 403


def test_an_ordinary_user_gets_no_admin_token(world: World) -> None:
    with pytest.raises(ApiError) as refused:
        world.client("admin").post(
            f"/v1/users/{world.users['member']}/tokens", {"label": "x", "scopes": ["admin"]}
        )
    assert refused.value.status == 403


def test_a_revoked_token_is_refused(world: World) -> None:
    minted = world.client("member").post(
        "/v1/users/me/tokens", {"label": "short", "scopes": ["read"]}
    )
    world.tokens["short"] = minted["token"]
    assert world.client("short").get("/v1/me")["user"]["name"] == "member"
    world.client("member").send("DELETE", f"/v1/users/me/tokens/{minted['id']}")
    with pytest.raises(ApiError) as refused:
        world.client("short").get("/v1/me")
    assert refused.value.status == 401


def test_tokens_are_listed_without_their_text(world: World) -> None:
    world.client("member").post("/v1/users/me/tokens", {"label": "listed", "scopes": ["read"]})
    rows = list(world.client("member").list_items("/v1/users/me/tokens"))
    assert {"listed", "test"} <= {row["label"] for row in rows}
    assert not any("token" in row for row in rows)


def test_a_taken_name_is_a_conflict(world: World) -> None:
    with pytest.raises(ApiError, match="MEMBER") as refused:
        world.client("admin").post("/v1/users", {"name": "MEMBER"})
    assert refused.value.status == 409


def test_a_new_team_member_may_create_agents_for_the_team(fresh_world: World) -> None:
    admin = fresh_world.client("admin")
    path = f"/v1/teams/{fresh_world.teams['member']}/members"
    with pytest.raises(ApiError, match="rival already competes in season 1") as refused:
        admin.send("POST", path, json={"user": fresh_world.users["rival"]})
    assert refused.value.status == 409
    user = admin.post("/v1/users", {"name": "newcomer"})["id"]
    fresh_world.tokens["newcomer"] = admin.post(
        f"/v1/users/{user}/tokens", {"label": "test", "scopes": ["agents:write"]}
    )["token"]
    newcomer = fresh_world.client("newcomer")
    newcomer.post("/v1/teams", {"name": "Newcomers"})
    admin.send("POST", path, json={"user": user})
    assert {team["slug"] for team in newcomer.get("/v1/me")["teams"]} == {"newcomers", "member"}
    with pytest.raises(ApiError, match="name one of your teams") as refused:
        newcomer.post("/v1/agents", {"name": "For whom"})
    assert refused.value.status == 422
    made = newcomer.post("/v1/agents", {"name": "For them", "team": "member"})
    assert made["team_id"] == fresh_world.teams["member"]


@pytest.mark.parametrize(
    ("limits", "remedy"),
    [
        ({"scopes": ["read"]}, "lacks"),
        ({"scopes": SCOPES, "expires_at": "2031-05-06T07:08:09Z"}, "never expires"),
    ],
)
def test_a_limited_token_mints_no_token_that_would_outlive_it(
    world: World, limits: dict[str, Any], remedy: str
) -> None:
    world.tokens["limited"] = world.client("member").post(
        "/v1/users/me/tokens", {"label": "limited", **limits}
    )["token"]
    with pytest.raises(ApiError, match=remedy) as refused:
        world.client("limited").post("/v1/users/me/tokens", {"label": "child", "scopes": ["read"]})
    assert refused.value.status == 403


def test_a_token_cannot_revoke_a_token_of_wider_scope(world: World) -> None:
    member = world.client("member")
    reader, wide = (
        member.post("/v1/users/me/tokens", {"label": "reader", "scopes": ["read"]}),
        member.post("/v1/users/me/tokens", {"label": "wide", "scopes": SCOPES}),
    )
    world.tokens["reader"] = reader["token"]
    with pytest.raises(ApiError, match="agents:write") as refused:
        world.client("reader").send("DELETE", f"/v1/users/me/tokens/{wide['id']}")
    assert refused.value.status == 403
    world.client("reader").send("DELETE", f"/v1/users/me/tokens/{reader['id']}")


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_times_outside_the_calendar_are_refused(world: World, moment: str) -> None:
    with pytest.raises(ApiError) as refused:
        world.client("member").post(
            "/v1/users/me/tokens", {"label": "odd", "scopes": ["read"], "expires_at": moment}
        )
    assert refused.value.slug == "invalid"
    with pytest.raises(ApiError) as refused:
        world.client("host").post("/v1/leagues/public/seasons", {"seats": 2, "closes_at": moment})
    assert refused.value.slug == "invalid"


@pytest.mark.parametrize("name", ["a\u009b31mred", "\u202enaem", "two\u2028lines", "a\u200bb"])
def test_names_with_control_or_invisible_characters_are_refused(world: World, name: str) -> None:
    with pytest.raises(ApiError) as refused:
        world.client("member").post("/v1/agents", {"name": name, "slug": "odd"})
    assert refused.value.slug == "invalid"
    slug = f"even-{ord(name[-1])}"
    assert world.client("member").post(
        "/v1/agents", {"name": f"Gänse 🪿 👩\u200d🚀 {ord(name[-1])}", "slug": slug}
    )


def test_creations_of_a_person_are_limited_per_day(
    fresh_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TOKENS", "AGENTS", "LEAGUES", "SEASONS"):
        monkeypatch.setattr(quotas, name, 3)
    host = fresh_world.client("host")
    makers: tuple[tuple[str, Callable[[int], Json]], ...] = (
        (
            "tokens",
            lambda n: host.post("/v1/users/me/tokens", {"label": f"t{n}", "scopes": ["read"]}),
        ),
        ("agents", lambda n: host.post("/v1/agents", {"name": f"Agent {n}"})),
        (
            "leagues",
            lambda n: host.post(
                "/v1/leagues", {"slug": f"more-{n}", "title": "More", "game": "hungry_geese"}
            ),
        ),
        ("seasons", lambda n: host.post("/v1/leagues/public/seasons", {"seats": 2})),
    )
    for limit, make in makers:
        for number in range(2):  # the world made at least one
            with suppress(ApiError):
                make(number)
        with pytest.raises(ApiError) as refused:
            make(3)
        assert refused.value.status == 429
        assert refused.value.problem["limit"].startswith(limit)
        assert refused.value.problem["resets_at"]


def test_a_removed_member_cannot_see_a_private_league(fresh_world: World) -> None:
    insider = fresh_world.client("insider")
    assert insider.get("/v1/leagues/private")["role"] == "competitor"
    path = f"/v1/leagues/private/members/{fresh_world.users['insider']}"
    assert fresh_world.client("host").send("DELETE", path).status_code == 204
    with pytest.raises(ApiError) as refused:
        insider.get("/v1/leagues/private")
    assert refused.value.status == 404
