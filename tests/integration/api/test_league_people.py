"""Roles of a league and consent to them, through the pages and the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.api_client import ApiError
from tests.integration.api.browsing import Browser, browse
from tests.integration.api.test_cli import Peck, read
from tests.integration.api.test_cli import peck as peck
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


def test_members_agree_to_a_later_grader_on_the_page(world: World) -> None:
    host, insider = world.client("host"), world.client("insider")
    late = world.client("admin").create_user("Late Grader")["id"]
    host.put_member("private", late, "grader")
    assert not insider.terms("private")["agreed"]
    with browse(world, "insider") as browser:
        assert "Late Grader is grader" in browser.get("/leagues/private").text
        page = browser.get("/leagues/private/terms")
        assert "Late Grader is a grader" in page.text
        stale = browser.send("/leagues/private/terms", "/leagues/private/terms", digest="0" * 64)
        assert stale.status_code == 422
        agreed = browser.submit("/leagues/private/terms")
        assert "You agreed to this" in agreed.text
        assert "Late Grader is grader" not in browser.get("/leagues/private").text
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
