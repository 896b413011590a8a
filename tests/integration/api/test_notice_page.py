"""The page of notices: requests that wait for an answer come first."""

from __future__ import annotations

import re

from ladder.ids import TeamId
from ladder.notices.events import EventSubject, record_events
from ladder.notices.kinds import NoticeKind
from services.web.notices import SHOWN
from tests.integration.api.browsing import browse
from tests.integration.api.route_walk.words import ask_host
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.world import World

WAITS = "Scrim requests to answer"


def test_newer_notices_do_not_hide_a_request_that_waits(fresh_world: World) -> None:
    world = fresh_world
    mine = world.agents["public.member"]
    request = ask_host(world, "public", world.users["member"], world.teams["member"], mine)
    played = {"finished": 1, "games": 1}
    about = EventSubject(team_id=TeamId(world.teams["host"]), details=played)
    with world.connect() as conn:
        record_events(conn, [(NoticeKind.SCRIM_FINISHED, about)] * SHOWN)
    with browse(world, "host") as browser:
        page = browser.get("/me/notices").text
        older = re.search(r'href="(\?after=\w+)"', page)
        assert older is not None
        assert WAITS not in browser.get(f"/me/notices{older[1]}").text
    waiting, _, notices = page.partition('aria-label="Notices">')
    assert WAITS in waiting
    assert f'href="/scrim-requests/{request}"' in waiting
    assert f"/scrim-requests/{request}" not in notices
    with browse(world, "member") as browser:  # the team that asks
        assert WAITS not in browser.get("/me/notices").text
    world.client("host").answer_scrim_request(request, "decline")
    with browse(world, "host") as browser:
        assert WAITS not in browser.get("/me/notices").text
