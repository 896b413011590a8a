"""What administrators do: search, blocks, sessions, settings, audit log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI

from ladder.database.db import Connection
from ladder.entries import blocked_accounts
from ladder.people.tokens import SCOPES
from services.api_client import ApiError
from tests.integration.api.browsing import Browser, browse
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import peck as peck
from tests.integration.api.world import World, insert_machine


@pytest.fixture
def admin(world: World) -> Iterator[Browser]:
    with browse(world, "admin") as browser:
        yield browser


def state_of(conn: Connection, entry: str) -> str:
    row = conn.execute("select state from entries where id = %s", (entry,)).fetchone()
    assert row is not None
    return str(row[0])


def block(world: World, person: str, reason: str = "spam") -> None:
    path = f"/v1/users/{world.users[person]}/block"
    world.client("admin").send("PUT", path, json={"reason": reason})


def test_no_machine_is_invited_without_addresses_for_machines(world: World) -> None:
    with pytest.raises(ApiError, match="PECK_MACHINE_DATABASE_URL and PECK_MACHINE_REDIS_URL"):
        world.client("admin").post("/v1/machines/invitations")


def test_a_block_ends_tokens_and_sessions_and_pauses_agents(world: World) -> None:
    entry = world.entries["public.rival"]
    with world.connect() as conn, browse(world, "rival") as rival:
        assert "Sign out" in rival.get("/me").text
        block(world, "rival", "two accounts")
        assert "Sign out" not in rival.get("/me").text
        with pytest.raises(ApiError, match="The reason: two accounts") as refused:
            world.client("rival").get("/v1/me")
        assert refused.value.status == 403
        with pytest.raises(ApiError, match="Unblock the account first"):
            world.client("admin").post(
                f"/v1/users/{world.users['rival']}/tokens", {"label": "new", "scopes": ["read"]}
            )
        assert state_of(conn, entry) == "paused"
        assert state_of(conn, world.entries["public.member"]) == "active"
        conn.rollback()
        world.client("admin").send("DELETE", f"/v1/users/{world.users['rival']}/block")
        assert state_of(conn, entry) == "active"
    with pytest.raises(ApiError, match="expired or revoked"):
        world.client("rival").get("/v1/me")
    minted = world.client("admin").post(
        f"/v1/users/{world.users['rival']}/tokens", {"label": "new", "scopes": ["read"]}
    )
    world.tokens["rival"] = minted["token"]
    assert world.client("rival").get("/v1/me")["user"]["name"] == "rival"


def test_agents_play_while_one_person_of_their_team_is_not_blocked(world: World) -> None:
    admin, team = world.client("admin"), world.teams["rival"]
    admin.send("POST", f"/v1/teams/{team}/members", json={"user": world.users["insider"]})
    block(world, "rival")
    with world.connect() as conn:
        assert state_of(conn, world.entries["public.rival"]) == "active"
        block(world, "insider")
        assert blocked_accounts.pause_and_resume_entries(conn) == []
        conn.rollback()
        assert state_of(conn, world.entries["public.rival"]) == "paused"
    with pytest.raises(ApiError, match="cannot block yourself"):
        block(world, "admin")


def test_an_administrator_chooses_who_may_sign_up_while_the_site_runs(world: World) -> None:
    admin = world.client("admin")
    changed = admin.patch("/v1/admin/settings", {"sign_up": "closed"})
    assert (changed["sign_up"], changed["chosen"]) == ("closed", ["sign_up"])
    with pytest.raises(ApiError, match="nobody can sign up"):
        world.client("stranger").post("/v1/sign-up", {"name": "Ada", "password": "a long password"})
    assert admin.patch("/v1/admin/settings", {"sign_up": None})["sign_up"] == "open"
    assert (
        world.client("stranger").post(
            "/v1/sign-up", {"name": "Ada", "password": "a long password"}
        )["user"]["name"]
        == "Ada"
    )
    with pytest.raises(ApiError):
        admin.patch("/v1/admin/settings", {"sign_up": "everybody"})


def test_a_changed_quota_counts_at_once(world: World) -> None:
    admin = world.client("admin")
    admin.patch("/v1/admin/settings", {"quotas": {"tokens": 1}})
    with pytest.raises(ApiError, match="tokens a day"):
        world.client("member").post(
            "/v1/users/me/tokens", {"label": "one more", "scopes": ["read"]}
        )
    admin.patch("/v1/admin/settings", {"quotas": {"tokens": None}})
    world.client("member").post("/v1/users/me/tokens", {"label": "one more", "scopes": ["read"]})
    with pytest.raises(ApiError, match="choose from tokens") as refused:
        admin.patch("/v1/admin/settings", {"quotas": {"geese": 1}})
    assert refused.value.status == 422


def test_every_act_of_an_administrator_is_in_the_audit_log(world: World) -> None:
    admin, rival = world.client("admin"), world.users["rival"]
    path = f"/v1/users/{rival}"
    admin.send("DELETE", f"{path}/sessions")
    (token, *_) = admin.get(f"{path}/tokens")["items"]
    admin.send("DELETE", f"{path}/tokens/{token['id']}")
    admin.send("DELETE", f"{path}/password")
    admin.post(f"/v1/users/{rival}/tokens", {"label": "help", "scopes": ["read"]})
    block(world, "rival")
    admin.send("DELETE", f"{path}/block")
    admin.patch("/v1/admin/settings", {"sign_up": "open"})
    made = admin.post("/v1/users", {"name": "New Person"})
    admin.send("DELETE", f"/v1/users/{made['id']}")
    acts = [row["act"] for row in admin.list_items("/v1/admin/audits", most=9)]
    assert acts == [
        *("delete-account", "create-account", "setting", "unblock-account", "block-account"),
        *("create-token", "remove-password", "revoke-token", "end-sessions"),
    ]


def test_a_limited_token_of_an_administrator_takes_no_account_over(world: World) -> None:
    admin, rival = world.client("admin"), f"/v1/users/{world.users['rival']}"
    second = admin.post("/v1/users", {"name": "Second", "is_admin": True})["id"]
    own = world.users["admin"]
    few = admin.post(f"/v1/users/{own}/tokens", {"label": "few", "scopes": ["admin"]})["token"]
    end = "2100-01-01T00:00:00Z"
    brief = admin.post(
        f"/v1/users/{own}/tokens", {"label": "brief", "scopes": SCOPES, "expires_at": end}
    )["token"]

    def status(token: str, method: str, path: str, body: object = None) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        return world.http.request(method, path, json=body, headers=headers).status_code

    for limited in (few, brief):
        assert status(limited, "POST", f"{rival}/recovery-link", {"reason": "x"}) == 403
        assert status(limited, "DELETE", f"{rival}/password") == 403
        assert status(limited, "DELETE", rival) == 403
        assert status(limited, "POST", "/v1/users", {"name": "Third", "is_admin": True}) == 403
        assert status(limited, "GET", rival) == 200
    wider = {"label": "wider", "scopes": SCOPES}
    assert status(few, "POST", "/v1/users/me/tokens", wider) == 403
    path, full = f"/v1/users/{second}", world.tokens["admin"]
    assert status(full, "POST", f"{path}/recovery-link", {"reason": "x"}) == 403
    assert status(full, "DELETE", f"{path}/password") == 403
    assert status(full, "POST", f"{rival}/recovery-link", {"reason": "x"}) == 201


def test_people_are_found_by_a_part_of_the_name(world: World) -> None:
    admin = world.client("admin")
    names = {row["name"] for row in admin.list_items("/v1/users", q="MEM", limit=1)}
    assert names == {"member"}
    assert list(admin.list_items("/v1/users", q="%")) == []
    assert {"member", "rival"} <= {row["name"] for row in admin.list_items("/v1/users", limit=2)}


def test_the_pages_of_administrators_act(world: World, admin: Browser) -> None:
    page = admin.get("/admin?q=riv")
    assert "rival" in page.text
    assert "insider" not in page.text
    person = f"/admin/users/{world.users['rival']}"
    assert "Team rival" in admin.get(person).text
    empty = admin.send(person, f"{person}/block", reason="")
    assert empty.status_code == 422
    done = admin.submit(person, f"{person}/block", reason="noise <i>")
    assert "noise &lt;i&gt;" in done.text
    assert "blocked" in admin.get("/admin?q=riv").text
    admin.submit(person, f"{person}/unblock")
    made = admin.send(person, f"{person}/recovery-link", reason="lost the phone")
    assert "/recover/" in made.text
    fields = {"sign_up": "invitation", "uploads": "7"}
    saved = admin.send("/admin/settings", "/admin/settings", **fields)
    assert saved.status_code == 200
    settings = world.client("admin").get("/v1/admin/settings")
    assert (settings["sign_up"], settings["quotas"]["uploads"]) == ("invitation", 7)
    wrong = admin.send("/admin/settings", "/admin/settings", uploads="many")
    assert wrong.status_code == 422
    assert "block-account" in admin.get("/admin/audits").text
    with browse(world, "host") as host:
        assert host.get("/admin").status_code == 403


def test_the_page_of_machines_acts(world: World, admin: Browser) -> None:
    with world.connect() as conn:
        machine = insert_machine(conn, world.users["admin"], "pond")
    path = "/admin/machines"
    wrong = admin.send(path, f"{path}/pond/trust", tier="checked", owner="nobody <i>")
    assert (wrong.status_code, "nobody &lt;i&gt;" in wrong.text) == (422, True)
    trusted = admin.submit(path, f"{path}/{machine}/trust", tier="checked", owner="rival")
    assert "of rival" in trusted.text
    assert ">drained<" in admin.submit(path, f"{path}/{machine}/drain").text
    assert ">drained<" not in admin.submit(path, f"{path}/{machine}/resume").text
    assert "pond" not in admin.submit(path, f"{path}/{machine}/revoke").text
    assert admin.send(path, f"{path}/{machine}/revoke").status_code == 422
    with browse(world, "host") as host:
        assert host.get(path).status_code == 403


def test_a_team_chooses_the_machines_of_its_agent(world: World) -> None:
    agent = world.agents["public.host"]
    path = f"/agents/{agent}/machines"
    with browse(world, "host") as host:
        assert host.send(path, path, machines="all").status_code == 422
        host.submit(path, path, machines="any")
    assert world.client("member").get(f"/v1/agents/{agent}")["machines"] == "any"
    with browse(world, "member") as member:
        assert member.get(path).status_code == 403


def test_peck_admin_shows_and_acts(peck: Peck, world: World) -> None:
    as_admin = {"PECK_TOKEN": world.tokens["admin"]}
    (found,) = read(peck("api", "list-users", "q=riv", "--json", **as_admin))["items"]
    assert found["id"] == world.users["rival"]
    assert "rival" in peck("api", "read-user", "rival", **as_admin).stdout
    assert peck("api", "block-account", "rival", "reason=x", **as_admin).returncode == 0
    assert peck("whoami", PECK_TOKEN=world.tokens["rival"]).returncode == 1
    assert peck("api", "unblock-account", "rival", **as_admin).returncode == 0
    change = ("api", "change-instance-settings", "sign_up=closed", "quotas.uploads=9", "--json")
    changed = read(peck(*change, **as_admin))
    assert (changed["sign_up"], changed["quotas"]["uploads"]) == ("closed", 9)
    assert peck("api", "list-users").returncode == 1


def test_forwarded_sign_ups_are_refused_until_an_administrator_chose(
    world: World, app: FastAPI
) -> None:
    app.state.peck.settings.sign_up = "local"

    def sign_up(name: str) -> int:
        body = {"name": name, "password": "a long password"}
        headers = {"X-Forwarded-For": "203.0.113.7"}
        return world.http.post("/v1/sign-up", json=body, headers=headers).status_code

    assert sign_up("Ada") == 403
    world.client("admin").patch("/v1/admin/settings", {"sign_up": "open"})
    assert sign_up("Ada") == 201


def test_an_administrator_adds_other_people_to_a_team_and_the_log_says_so(world: World) -> None:
    admin, path = world.client("admin"), f"/v1/teams/{world.teams['rival']}/members"
    with pytest.raises(ApiError, match="only other people") as refused:
        admin.send("POST", path, json={"user": world.users["admin"]})
    assert refused.value.status == 403
    admin.send("POST", path, json={"user": world.users["insider"]})
    with world.connect() as conn:
        row = conn.execute(
            "select act, by_user, subject, reason from audits order by id desc limit 1"
        ).fetchone()
    assert row == (
        *("add-to-team", world.users["admin"], world.users["insider"]),
        f"member of {world.teams['rival']}",
    )
