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
    assert world.client("insider").league("private")["role"] == "viewer"
    unknown = host.send(path, f"{path}/role", user="nobody", role="viewer")
    assert unknown.status_code == 422
    assert "exact name" in unknown.text
    last = host.send(path, f"{path}/role", user=world.users["host"], role="none")
    assert "name another host first" in last.text.lower()
    with browse(world, "member") as member:
        assert member.get(path).status_code == 403


def test_members_of_older_terms_agree_to_the_roles_on_the_page(world: World) -> None:
    host, insider = world.client("host"), world.client("insider")
    late = world.client("admin").create_user("Late Grader")["id"]
    host.put_member("private", late, "grader")
    assert insider.terms("private")["agreed"], "the terms name no person"
    with world.connect() as conn:
        conn.execute(
            "update league_members set agreed_staff = false, terms_digest = 'older'"
            " where user_id = %s",
            (world.users["insider"],),
        )
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
    assert insider.terms("private")["agreed"]


def test_peck_gives_and_takes_roles(peck: Peck, world: World) -> None:
    as_host = {"PECK_TOKEN": world.tokens["host"]}
    done = peck("league", "role", "private", "insider", "viewer", **as_host)
    assert done.stdout == "insider is now viewer\n"
    listed = read(peck("league", "members", "private", "--json", **as_host))
    rows = {row["name"]: row["role"] for row in listed}
    assert rows["insider"] == "viewer"
    assert rows["cohost"] == "co-host"
    assert peck("league", "role", "private", "insider", "none", **as_host).returncode == 0
    with pytest.raises(ApiError):
        world.client("insider").league("private")
    wrong = peck("league", "role", "private", "member", "king", **as_host)
    assert wrong.returncode == 1
    assert "role" in wrong.stderr


def test_peck_gives_a_role_to_a_person_outside_the_league(peck: Peck, world: World) -> None:
    as_host = {"PECK_TOKEN": world.tokens["host"]}
    new = world.client("admin").create_user("Ada & Söhne")["id"]
    done = peck("league", "role", "private", "ada & söhne", "viewer", **as_host)
    assert done.returncode == 0, done.stderr
    roles = {row["user_id"]: row["role"] for row in world.client("host").members("private")}
    assert roles[new] == "viewer"
    blocked = peck("league", "block", "private", "Ada & Söhne", "--reason", "x", **as_host)
    assert blocked.returncode == 0, blocked.stderr
    unknown = peck("league", "role", "private", "no such person", "viewer", **as_host)
    assert "give the exact name or the id of a person" in unknown.stderr
    assert "give an id" in peck("league", "role", "private", "..", "none", **as_host).stderr


def test_an_id_is_never_taken_for_a_name(world: World) -> None:
    client, admin = world.client("host"), world.client("admin")
    wanted = admin.create_user("Wanted")["id"]
    impostor = admin.create_user(wanted)["id"]
    client.put_member("private", wanted, "viewer")
    roles = {row["user_id"]: row["role"] for row in client.members("private")}
    assert roles[wanted] == "viewer"
    assert impostor not in roles


@pytest.fixture
def club(world: World) -> str:
    """A league by invitation that takes requests, hosted by the host."""
    client = world.client("host")
    client.create_league("club", "The club", "hungry_geese", visibility="invitation")
    client.patch("/v1/leagues/club", {"takes_requests": True})
    return "club"


def ask(world: World, person: str, words: str = "") -> str:
    client = world.client(person)
    digest = client.league_to_join("club")["terms"]["digest"]
    return str(client.request_to_join("club", digest, words)["id"])


def test_a_host_approves_and_declines_requests_to_join(world: World, club: str) -> None:
    host, rival = world.client("host"), world.client("rival")
    with pytest.raises(ApiError) as hidden:
        rival.league(club)
    assert hidden.value.status == 404
    asked = ask(world, "rival", "I sit in row 3")
    declined = ask(world, "insider")
    with pytest.raises(ApiError, match="asked already"):
        ask(world, "rival")
    assert [row["words"] for row in host.join_requests(club)] == ["I sit in row 3", ""]
    (one,) = host.answer_requests(club, "decline", requests=[declined], words="row 3 only")
    assert (one["state"], one["answer"]) == ("declined", "row 3 only")
    (other,) = host.answer_requests(club, "approve", all=True)
    assert (other["id"], other["state"]) == (asked, "approved")
    assert rival.league(club)["role"] == "competitor"
    assert rival.terms(club)["agreed"]
    assert world.client("insider").own_requests()[0]["answer"] == "row 3 only"
    assert notice_of(world, "insider", "join_declined")[0] == "Your request to join The club ended"
    assert host.answer_requests(club, "approve", requests=[declined, asked]) == []
    assert {row["act"] for row in host.audits(club)} == {"edit", "request"}
    told = {row["kind"] for row in rival.list_items("/v1/me/notices")}
    assert "join_approved" in told
    digest = [row for row in host.list_items("/v1/me/notices") if row["league"] == "The club"]
    assert len(digest) == 1


def test_a_request_expires_if_the_terms_become_wider(world: World, club: str) -> None:
    host = world.client("host")
    ask(world, "rival")
    host.patch(f"/v1/leagues/{club}", {"visibility": "public"})
    (row,) = host.answer_requests(club, "approve", all=True)
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
    asked, older = ask(world, "rival"), ask(world, "insider")
    with world.connect() as conn:
        conn.execute("update join_requests set agreed_staff = '{}' where id = %s", (older,))
    host.answer_requests(club, "approve", requests=[asked, older])
    with world.connect() as conn:
        rows = conn.execute(
            "select user_id, agreed_staff from league_members where user_id = any (%s)"
            " and league_id = (select id from leagues where slug = %s)",
            ([world.users["rival"], world.users["insider"]], club),
        ).fetchall()
    assert dict(rows) == {world.users["rival"]: True, world.users["insider"]: False}


def test_a_request_is_withdrawn_and_an_old_one_expires(world: World, club: str) -> None:
    rival = world.client("rival")
    first = ask(world, "rival")
    with pytest.raises(ApiError) as refused:
        world.client("insider").withdraw_request(first)
    assert refused.value.status == 404
    assert rival.withdraw_request(first)["state"] == "withdrawn"
    ask(world, "rival")
    with world.connect() as conn:
        conn.execute("update join_requests set expires_at = now() where state = 'waiting'")
        conn.commit()
        assert join_requests.expire_requests(conn) == 1
        conn.commit()
    assert rival.own_requests()[0]["state"] == "expired"
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
    code = host.invite(club)["code"]
    host.block_from_league(club, world.users["rival"], "two accounts")
    host.block_from_league("public", world.users["rival"], "two accounts")
    for act in (
        lambda: ask(world, "rival"),
        lambda: rival.join(code, rival.invitation_terms(code)["terms"]["digest"]),
        lambda: rival.consent("public", rival.terms("public")["digest"]),
    ):
        with pytest.raises(ApiError, match="blocked you from this league: two accounts") as refused:
            act()
        assert refused.value.status == 403
    with pytest.raises(ApiError, match="blocked rival from this league"):
        rival.upload(world.agents["public.rival"], b"new", season="public")
    with pytest.raises(ApiError, match="take the role first"):
        host.block_from_league("public", world.users["grader"], "x")
    with pytest.raises(ApiError, match="unblock this person first"):
        host.put_member(club, world.users["rival"], "competitor")
    assert [row["reason"] for row in host.league_blocks(club)] == ["two accounts"]
    host.unblock_from_league(club, world.users["rival"])
    ask(world, "rival")


def test_requests_and_blocks_on_the_pages(world: World, club: str, host: Browser) -> None:
    path = f"/leagues/{club}/people"
    with browse(world, "rival") as rival:
        assert rival.get(f"/leagues/{club}").status_code == 404
        asked = rival.submit(f"/leagues/{club}/request", words="let me in <b>")
        assert "You asked to join" in asked.text
        assert "let me in &lt;b&gt;" in host.get(path).text
        none = host.send(path, f"{path}/requests/approve", join_role="competitor")
        assert none.status_code == 422
        host.send(path, f"{path}/requests/approve", all="true", join_role="viewer", words="welcome")
        assert "You are viewer" in rival.get(f"/leagues/{club}/request").text
        host.send(path, f"{path}/block", blocked="rival", reason="noise")
        assert rival.get(f"/leagues/{club}").status_code == 404
        refused = rival.submit(f"/leagues/{club}/request", words="again")
        assert "blocked you from this league: noise" in refused.text
    host.send(path, f"{path}/unblock", blocked="rival", reason="unblocked")
    assert "Nobody is blocked" in host.get(path).text


def test_peck_asks_and_answers(peck: Peck, world: World, club: str) -> None:
    as_host = {"PECK_TOKEN": world.tokens["host"]}
    as_rival = {"PECK_TOKEN": world.tokens["rival"]}
    made = read(peck("league", "ask", club, "--yes", "--words", "hi", "--json", **as_rival))
    assert peck("league", "answer", club, "approve", **as_host).returncode == 1
    assert "rival" in peck("league", "requests", club, **as_host).stdout
    done = peck("league", "answer", club, "decline", made["id"], "--words", "full", **as_host)
    assert done.stdout == "rival: declined\n"
    (own,) = read(peck("league", "asked", "--json", **as_rival))
    assert (own["state"], own["answer"]) == ("declined", "full")
    again = read(peck("league", "ask", club, "--yes", "--json", **as_rival))
    assert peck("league", "withdraw", again["id"], **as_rival).returncode == 0
    assert peck("league", "block", club, world.users["rival"], "--reason", "x", **as_host).stdout
    assert "rival" in peck("league", "blocks", club, **as_host).stdout
    assert peck("league", "unblock", club, world.users["rival"], **as_host).returncode == 0
    closed = peck("league", "take-requests", club, "--no", **as_host)
    assert closed.stdout == "club takes no requests to join\n"
