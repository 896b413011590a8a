"""Joining a league by its code, through the API, the command line and the pages."""

from __future__ import annotations

import httpx
import pytest

from services.api_client import ApiError
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import peck as peck
from tests.integration.api.world import World


@pytest.fixture
def club(world: World) -> str:
    """A league by invitation code, hosted by the host."""
    world.client("host").post(
        "/v1/leagues",
        {
            "slug": "club",
            "title": "The club",
            "game": "hungry_geese",
            "visibility": "invitation",
            "replay_visibility": "own",
        },
    )
    return "club"


def test_a_person_joins_a_league_with_a_code(world: World, club: str) -> None:
    host, rival = world.client("host"), world.client("rival")
    with pytest.raises(ApiError) as hidden:
        rival.get(f"/v1/leagues/{club}")
    assert hidden.value.status == 404
    made = host.post(f"/v1/leagues/{club}/invitations", {"max_uses": 1, "label": "the course"})
    invited = rival.post("/v1/join/terms", {"code": made["code"]})
    assert (invited["slug"], invited["role"]) == (club, "competitor")
    assert "the teams that play in a rated match" in invited["terms"]["text"]
    assert not invited["terms"]["agreed"]
    with pytest.raises(ApiError) as stale:
        rival.post("/v1/join", {"code": made["code"], "terms": "0" * 64})
    assert stale.value.status == 409
    assert (
        rival.post("/v1/join", {"code": made["code"], "terms": invited["terms"]["digest"]})["role"]
        == "competitor"
    )
    assert rival.get(f"/v1/leagues/{club}")["role"] == "competitor"
    assert rival.get(f"/v1/leagues/{club}/terms")["agreed"]
    with pytest.raises(ApiError, match="used up"):
        world.client("insider").post("/v1/join/terms", {"code": made["code"]})
    (listed,) = host.list_items(f"/v1/leagues/{club}/invitations", limit=200)
    assert (listed["uses"], listed["label"]) == (1, "the course")
    assert "code" not in listed


def test_a_repeated_request_does_not_show_the_code_again(world: World, club: str) -> None:
    headers = {**world.client("host").headers, "Idempotency-Key": "i1"}
    path = f"/v1/leagues/{club}/invitations"
    first, again = (world.http.post(path, json={}, headers=headers) for _ in range(2))
    assert first.json()["code"].startswith("join_")
    assert again.json() == {**first.json(), "code": None}


def test_replays_are_opened_only_with_consent_of_members(world: World, club: str) -> None:
    host, rival = world.client("host"), world.client("rival")
    code = host.post(f"/v1/leagues/{club}/invitations", {})["code"]
    rival.post(
        "/v1/join",
        {"code": code, "terms": rival.post("/v1/join/terms", {"code": code})["terms"]["digest"]},
    )
    with pytest.raises(ApiError, match=r"This member must first run: peck league") as refused:
        host.patch(f"/v1/leagues/{club}", {"replay_visibility": "members"})
    assert refused.value.status == 409
    wider = rival.get(f"/v1/leagues/{club}/terms", replay_visibility="members")
    assert rival.put(f"/v1/leagues/{club}/consent", {"terms": wider["digest"]})["agreed"]
    changed = host.patch(f"/v1/leagues/{club}", {"replay_visibility": "members"})
    assert changed["replay_visibility"] == "members"


def test_peck_joins_a_league_with_a_code(peck: Peck, world: World, club: str) -> None:
    as_host = {"PECK_TOKEN": world.tokens["host"]}
    code = peck("league", "invite", club, "--role", "viewer", "--uses", "2", **as_host)
    assert f"/join?code={code.stdout.strip()}" in code.stderr
    asked = peck("join", code.stdout.strip())
    assert asked.returncode == 1
    assert "Only your team sees the code of its agents." in asked.stdout
    assert "add --yes" in asked.stderr
    assert "--json" not in asked.stderr
    assert "run without --json" in peck("join", code.stdout.strip(), "--json").stderr
    assert read(peck("join", code.stdout.strip(), "--yes", "--json"))["role"] == "viewer"
    assert peck("league", "consent", club, "--replays", "public", "--yes").returncode == 0
    naive = peck("league", "invite", club, "--expires", "2026-12-01T12:00", **as_host)
    assert naive.returncode == 1
    assert "time zone" in naive.stderr


def test_a_form_on_the_site_joins_a_league(world: World, club: str) -> None:
    code = world.client("host").post(f"/v1/leagues/{club}/invitations", {})["code"]
    with httpx.Client(base_url=world.http.base_url, follow_redirects=True) as browser:

        def proof(page: str) -> str:
            return page.split('name="form_token" value="')[-1].split('"', 1)[0]

        page = browser.get("/join").text
        assert "Sign in" in page
        form = {"token": world.tokens["rival"], "next": "/join", "form_token": proof(page)}
        page = browser.post("/sign-in", data=form).text
        assert "Invitation code" in page
        wrong = browser.post("/join", data={"code": "join_x", "form_token": proof(page)})
        assert wrong.status_code == 422
        assert "used up" in wrong.text
        page = browser.post("/join", data={"code": code, "form_token": proof(page)}).text
        assert "The club" in page
        assert "No host shows more of this to more people" in page
        digest = page.split('name="terms" value="')[1].split('"', 1)[0]
        form = {"code": code, "terms": digest, "form_token": proof(page)}
        joined = browser.post("/join/agree", data=form)
        assert joined.url.path == f"/leagues/{club}"
        assert "by invitation" in joined.text
        forged = browser.post("/join/agree", data={"code": code, "terms": digest})
        assert forged.status_code == 403
