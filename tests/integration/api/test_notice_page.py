"""Requests that wait for an answer, first on the page of notices."""

from __future__ import annotations

import re

import pytest

from ladder.ids import TeamId
from ladder.notices.kinds import EventSubject, NoticeKind, record_events
from services.notices import pages
from tests.integration.api.browsing import browse
from tests.integration.api.commands import fresh_peck as fresh_peck
from tests.integration.api.route_walk.words import ask_host
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.world import World

WAITS = "Requests to answer"


def test_newer_notices_do_not_hide_a_request_that_waits(fresh_world: World) -> None:
    world = fresh_world
    mine = world.agents["public.member"]
    request = ask_host(world, "public", world.users["member"], world.teams["member"], mine)
    played = {"finished": 1, "games": 1}
    about = EventSubject(team_id=TeamId(world.teams["host"]), details=played)
    with world.connect() as conn:
        record_events(conn, [(NoticeKind.SCRIM_FINISHED, about)] * pages.SHOWN)
    with browse(world, "host") as browser:
        page = browser.get("/me/notices").text
        older = re.search(r'href="(\?after=\w+)"', page)
        assert older is not None
        assert WAITS not in browser.get(f"/me/notices{older[1]}").text
    waiting, _, told = page.partition('aria-label="Notices">')
    assert WAITS in waiting
    assert f'href="/scrim-requests/{request}"' in waiting
    assert f"/scrim-requests/{request}" not in told
    with browse(world, "member") as browser:  # the team that asks
        assert WAITS not in browser.get("/me/notices").text
    world.client("host").post(f"/v1/scrim-requests/{request}/decline", {})
    with browse(world, "host") as browser:
        assert WAITS not in browser.get("/me/notices").text


def test_older_requests_have_pages_of_their_own(
    fresh_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = fresh_world
    monkeypatch.setattr(pages, "SHOWN", 1)
    mine = world.agents["public.member"]
    request = ask_host(world, "public", world.users["member"], world.teams["member"], mine)
    invited = world.client("member").post(
        f"/v1/teams/{world.teams['member']}/invitations", {"person": "host"}
    )
    with browse(world, "host") as browser:
        page = browser.get("/me/notices").text
        assert f"to the team {invited['team_name']}" in page
        assert f"/scrim-requests/{request}" not in page
        older = re.search(r'href="(\?requests_after=\w+)"', page)
        assert older is not None
        assert f"/scrim-requests/{request}" in browser.get(f"/me/notices{older[1]}").text
