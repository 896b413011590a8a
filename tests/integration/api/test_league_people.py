"""Roles of a league and consent to them, through the pages and the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ladder.leagues import join_requests
from services.api_client import ApiError
from tests.integration.api.browsing import Browser, browse
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import peck as peck
from tests.integration.api.world import World


@pytest.fixture
def host(world: World) -> Iterator[Browser]:
    with browse(world, "host") as browser:
        yield browser


def test_a_host_gives_roles_on_the_page(world: World, host: Browser) -> None:
    path = "/leagues/private/people"
    page = host.get(path)
    assert "insider" in page.text
    done = host.send(path, f"{path}/role", user="Insider", role="viewer")
    assert done.status_code == 200
    assert world.client("insider").get("/v1/leagues/private")["role"] == "viewer"
    unknown = host.send(path, f"{path}/role", user="nobody", role="viewer")
    assert unknown.status_code == 422
    assert "exact name" in unknown.text
    last = host.send(path, f"{path}/remove-role", user=world.users["host"])
    assert "name another host first" in last.text.lower()
    with browse(world, "member") as member:
        assert member.get(path).status_code == 403


def test_members_of_older_terms_agree_to_the_roles_on_the_page(world: World) -> None:
    host, insider = world.client("host"), world.client("insider")
    late = world.client("admin").post("/v1/users", {"name": "Late Grader"})["id"]
    host.put(f"/v1/leagues/private/members/{late}", {"role": "grader"})
    assert insider.get("/v1/leagues/private/terms")["agreed"], "the terms name no person"
    with world.connect() as conn:
        conn.execute(
            "update league_members set terms_digest = 'older' where user_id = %s",
            (world.users["insider"],),
        )
        conn.execute("delete from role_agreements where user_id = %s", (world.users["insider"],))
    notice = "name the roles grader and commentator"
    with browse(world, "insider") as browser:
        assert notice in browser.get("/leagues/private").text
        page = browser.get("/leagues/private/terms")
        assert "Late Grader (grader)" in page.text
        stale = browser.send("/leagues/private/terms", "/leagues/private/terms", digest="0" * 64)
        assert stale.status_code == 422
        agreed = browser.submit("/leagues/private/terms")
        assert "You agreed to this" in agreed.text
        assert notice not in browser.get("/leagues/private").text
    assert insider.get("/v1/leagues/private/terms")["agreed"]


def test_peck_gives_and_takes_roles(peck: Peck, world: World) -> None:
    as_host = {"PECK_TOKEN": world.tokens["host"]}
    done = peck("league", "role", "private", "insider", "viewer", **as_host)
    assert done.stdout == "insider is now viewer\n"
    listed = read(peck("api", "list-members", "private", "--json", **as_host))["items"]
    rows = {row["name"]: row["role"] for row in listed}
    assert rows["insider"] == "viewer"
    assert rows["cohost"] == "co-host"
    assert peck("league", "role", "private", "insider", "none", **as_host).returncode == 0
    with pytest.raises(ApiError):
        world.client("insider").get("/v1/leagues/private")
    wrong = peck("league", "role", "private", "member", "king", **as_host)
    assert wrong.returncode == 1
    assert "role" in wrong.stderr


def test_peck_gives_a_role_to_a_person_outside_the_league(peck: Peck, world: World) -> None:
    as_host = {"PECK_TOKEN": world.tokens["host"]}
    new = world.client("admin").post("/v1/users", {"name": "Ada & Söhne"})["id"]
    done = peck("league", "role", "private", "ada & söhne", "viewer", **as_host)
    assert done.returncode == 0, done.stderr
    roles = {
        row["user_id"]: row["role"]
        for row in world.client("host").list_items("/v1/leagues/private/members", limit=200)
    }
    assert roles[new] == "viewer"
    blocked = peck("api", "block-from-league", "private", "Ada & Söhne", "reason=x", **as_host)
    assert blocked.returncode == 0, blocked.stderr
    unknown = peck("league", "role", "private", "no such person", "viewer", **as_host)
    assert "give the exact name or the id of a person" in unknown.stderr
    assert "give an id" in peck("league", "role", "private", "..", "none", **as_host).stderr


def test_an_id_is_never_taken_for_a_name(world: World) -> None:
    client, admin = world.client("host"), world.client("admin")
    wanted = admin.post("/v1/users", {"name": "Wanted"})["id"]
    impostor = admin.post("/v1/users", {"name": wanted})["id"]
    client.put(f"/v1/leagues/private/members/{wanted}", {"role": "viewer"})
    roles = {
        row["user_id"]: row["role"]
        for row in client.list_items("/v1/leagues/private/members", limit=200)
    }
    assert roles[wanted] == "viewer"
    assert impostor not in roles


@pytest.fixture
def club(world: World) -> str:
    """A league by invitation that takes requests, hosted by the host."""
    client = world.client("host")
    client.post(
        "/v1/leagues",
        {"slug": "club", "title": "The club", "game": "hungry_geese", "visibility": "invitation"},
    )
    client.patch("/v1/leagues/club", {"takes_requests": True})
    return "club"


def ask(world: World, person: str, words: str = "") -> str:
    client = world.client(person)
    digest = client.get("/v1/leagues/club/requests/terms")["terms"]["digest"]
    return str(client.post("/v1/leagues/club/requests", {"terms": digest, "words": words})["id"])


def test_a_host_approves_and_declines_requests_to_join(world: World, club: str) -> None:
    host, rival = world.client("host"), world.client("rival")
    with pytest.raises(ApiError) as hidden:
        rival.get(f"/v1/leagues/{club}")
    assert hidden.value.status == 404
    asked = ask(world, "rival", "I sit in row 3")
    declined = ask(world, "insider")
    with pytest.raises(ApiError, match="asked already"):
        ask(world, "rival")
    assert [row["words"] for row in host.list_items(f"/v1/leagues/{club}/requests", limit=200)] == [
        "I sit in row 3",
        "",
    ]
    (one,) = host.post(
        f"/v1/leagues/{club}/requests/answers",
        {"act": "decline", "requests": [declined], "words": "row 3 only"},
    )["items"]
    assert (one["state"], one["answer"]) == ("declined", "row 3 only")
    (other,) = host.post(f"/v1/leagues/{club}/requests/answers", {"act": "approve", "all": True})[
        "items"
    ]
    assert (other["id"], other["state"]) == (asked, "approved")
    assert rival.get(f"/v1/leagues/{club}")["role"] == "competitor"
    assert rival.get(f"/v1/leagues/{club}/terms")["agreed"]
    assert world.client("insider").get("/v1/me/requests")["items"][0]["answer"] == "row 3 only"
    assert notice_of(world, "insider", "join_declined")[0] == "Your request to join The club ended"
    assert (
        host.post(
            f"/v1/leagues/{club}/requests/answers",
            {"act": "approve", "requests": [declined, asked]},
        )["items"]
        == []
    )
    assert {row["act"] for row in host.list_items(f"/v1/leagues/{club}/audits")} == {
        "edit",
        "request",
    }
    told = {row["kind"] for row in rival.list_items("/v1/me/notices")}
    assert "join_approved" in told
    digest = [row for row in host.list_items("/v1/me/notices") if row["league"] == "The club"]
    assert len(digest) == 1


def test_a_request_expires_if_the_terms_become_wider(world: World, club: str) -> None:
    host = world.client("host")
    ask(world, "rival")
    host.patch(f"/v1/leagues/{club}", {"visibility": "public"})
    (row,) = host.post(f"/v1/leagues/{club}/requests/answers", {"act": "approve", "all": True})[
        "items"
    ]
    assert row["state"] == "expired"
    assert "terms have changed" in row["answer"]
    assert notice_of(world, "rival", "join_expired") == (
        "Your request to join The club expired",
        "The league's terms have changed since you asked. Read the terms and ask again.",
    )


def notice_of(world: World, person: str, kind: str) -> tuple[str, str]:
    """Title and text of the person's only notice about a request to join."""
    items = world.client(person).list_items("/v1/me/notices")
    (found,) = [one for one in items if one["kind"].startswith("join_")]
    assert found["kind"] == kind
    assert found["path"] == "/leagues/club/request"
    return found["title"], found["text"]


def test_a_request_agrees_to_the_roles_that_its_terms_named(world: World, club: str) -> None:
    host = world.client("host")
    answer = {"act": "approve", "requests": [ask(world, "rival")]}
    host.post(f"/v1/leagues/{club}/requests/answers", answer)
    with world.connect() as conn:
        rows = conn.execute(
            "select user_id from role_agreements a join leagues l on l.id = a.league_id"
            " where l.slug = %s",
            (club,),
        ).fetchall()
    assert rows == [(world.users["rival"],)]


def test_a_request_is_withdrawn_and_an_old_one_expires(world: World, club: str) -> None:
    rival = world.client("rival")
    first = ask(world, "rival")
    with pytest.raises(ApiError) as refused:
        world.client("insider").delete(f"/v1/me/requests/{first}")
    assert refused.value.status == 404
    assert rival.delete(f"/v1/me/requests/{first}")["state"] == "withdrawn"
    ask(world, "rival")
    with world.connect() as conn:
        conn.execute("update join_requests set expires_at = now() where state = 'waiting'")
        conn.commit()
        assert join_requests.expire_requests(conn) == 1
        conn.commit()
    assert rival.get("/v1/me/requests")["items"][0]["state"] == "expired"
    assert notice_of(world, "rival", "join_expired")[1] == (
        "No host answered it in time. Read the terms and ask again."
    )
    host = world.client("host")
    host.patch(f"/v1/leagues/{club}", {"takes_requests": False})
    with pytest.raises(ApiError) as hidden:
        ask(world, "rival")
    assert hidden.value.status == 404


def test_a_blocked_person_reads_why_and_neither_joins_nor_enters(world: World, club: str) -> None:
    host, rival = world.client("host"), world.client("rival")
    code = host.post(f"/v1/leagues/{club}/invitations", {})["code"]
    host.put(f"/v1/leagues/{club}/blocks/{world.users['rival']}", {"reason": "two accounts"})
    host.put(f"/v1/leagues/public/blocks/{world.users['rival']}", {"reason": "two accounts"})
    for act in (
        lambda: ask(world, "rival"),
        lambda: rival.post(
            "/v1/join",
            {
                "code": code,
                "terms": rival.post("/v1/join/terms", {"code": code})["terms"]["digest"],
            },
        ),
        lambda: rival.put(
            "/v1/leagues/public/consent", {"terms": rival.get("/v1/leagues/public/terms")["digest"]}
        ),
    ):
        with pytest.raises(ApiError, match="blocked you from this league: two accounts") as refused:
            act()
        assert refused.value.status == 403
    with pytest.raises(ApiError, match="blocked rival from this league"):
        rival.upload(
            f"/v1/agents/{world.agents['public.rival']}/submissions", b"new", season="public"
        )
    with pytest.raises(ApiError, match="take the role first"):
        host.put(f"/v1/leagues/public/blocks/{world.users['grader']}", {"reason": "x"})
    with pytest.raises(ApiError, match="unblock this person first"):
        host.put(f"/v1/leagues/{club}/members/{world.users['rival']}", {"role": "competitor"})
    assert [row["reason"] for row in host.list_items(f"/v1/leagues/{club}/blocks", limit=200)] == [
        "two accounts"
    ]
    host.delete(f"/v1/leagues/{club}/blocks/{world.users['rival']}")
    ask(world, "rival")


def test_form_of_people_acts_again_from_the_same_page(
    world: World, club: str, host: Browser
) -> None:
    path, rival = f"/leagues/{club}/people", world.users["rival"]
    for act in ("block", "unblock", "block"):
        sent = host.send(path, f"{path}/{act}", user=rival, reason="two accounts", key="one page")
        assert sent.status_code == 200
    blocks = world.client("host").get(f"/v1/leagues/{club}/blocks")["items"]
    assert [row["user_id"] for row in blocks] == [rival]


def test_requests_and_blocks_on_the_pages(world: World, club: str, host: Browser) -> None:
    path = f"/leagues/{club}/people"
    with browse(world, "rival") as rival:
        assert rival.get(f"/leagues/{club}").status_code == 404
        asked = rival.submit(f"/leagues/{club}/request", words="let me in <b>")
        assert "You asked to join" in asked.text
        assert "let me in &lt;b&gt;" in host.get(path).text
        none = host.send(path, f"{path}/requests/approve", role="competitor")
        assert none.status_code == 422
        host.send(path, f"{path}/requests/approve", all="true", role="viewer", words="welcome")
        assert "You are viewer" in rival.get(f"/leagues/{club}/request").text
        host.send(path, f"{path}/block", user="rival", reason="noise")
        assert rival.get(f"/leagues/{club}").status_code == 404
        refused = rival.submit(f"/leagues/{club}/request", words="again")
        assert "blocked you from this league: noise" in refused.text
    host.send(path, f"{path}/unblock", user=world.users["rival"])
    assert "Nobody is blocked" in host.get(path).text
