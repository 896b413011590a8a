"""A running match in a browser: live, with the way back, at the end the replay; and TV."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from games.episode import Episode
from ladder.database import db
from ladder.enums import MatchKind, VoidCause
from ladder.matches import lease, matches, workers
from ladder.matches.records import LineupSeat, MatchOrder
from tests import live_playing
from tests.integration.api.world import report
from tests.live_playing import Playing
from tests.web.conftest import Site, served
from tests.web.games_played import WORKER
from tests.web.seeding import Contest
from tests.web.test_accessibility import CONTRAST, NAMES

pytestmark = pytest.mark.browser
SILENT_MS, POLL_MS = 6000, 2000
"""After how long a page without a stream begins to ask, and how often (``live_match.js``)."""


@pytest.fixture(scope="module")
def live_site(
    seeded_database: tuple[str, str, Contest],
    redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """A server over the seeded contest that has a Redis. It stops although a stream is open."""
    log = tmp_path_factory.mktemp("live") / "log"
    with ExitStack() as streams:
        with served(seeded_database, log, PECK_REDIS_URL=redis_url) as made:
            yield made
            playing = begin(made, redis_url)
            client = streams.enter_context(httpx.Client(base_url=made.address))
            path = f"/v1/matches/{playing.order.match_id}/live"
            accepts = {"Accept": "text/event-stream"}
            answer = streams.enter_context(client.stream("GET", path, headers=accepts))
            assert answer.status_code == 200
            playing.publisher.stop(is_over=False)
        assert "timeout graceful shutdown exceeded" not in log.read_text()


def begin(site: Site, redis_url: str) -> Playing:
    """A rated match of four agents that has begun."""
    return live_playing.begin(claim(site), redis_url)


def claim(site: Site) -> MatchOrder:
    """A rated match of four agents that a worker has claimed."""
    lineup = [
        LineupSeat(entry.id, entry.submission_id, entry.agent_id, entry.team_id)
        for entry in site.contest.active[:4]
    ]
    with db.connect(site.database_url) as conn:
        workers.register_worker(conn, WORKER)
        match_id = matches.create_match(
            conn, season=site.contest.season, kind=MatchKind.RATED, lineup=lineup
        )
        conn.execute("update matches set lease_seconds = 3600 where id = %s", (match_id,))
        conn.execute("update workers set live_until = now() + interval '1 hour'")
    with db.connect(site.database_url) as conn:
        order = lease.claim_match(conn, match_id, WORKER.id)
    assert order is not None
    return order


def finish(site: Site, playing: Playing) -> Episode:
    episode = playing.end()
    with db.connect(site.database_url) as conn:
        report(conn, site.blobs, playing.order, episode, worker=WORKER.id)
    return episode


def opened(browser: Browser, address: str, *, motion: bool, width: int = 1280) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": 844},
        reduced_motion="no-preference" if motion else "reduce",
    )
    page = context.new_page()
    page.goto(address)
    return page


def test_a_running_match_is_followed_and_becomes_its_replay(
    live_site: Site, redis_url: str, browser: Browser
) -> None:
    playing = begin(live_site, redis_url)
    address = f"{live_site.address}/matches/{playing.order.match_id}"
    page = opened(browser, address, motion=True)
    player, last = page.locator("[data-player]"), page.locator(".step-last")
    playing.play(3)
    expect(player).to_have_attribute("data-step", "3")
    expect(page.locator("[data-do=live]")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowLeft")
    expect(player).to_have_attribute("data-step", "2")
    playing.play(2)
    expect(last).to_have_text("5")
    expect(player).to_have_attribute("data-step", "2")
    page.keyboard.press("l")
    expect(player).to_have_attribute("data-step", "5")
    page.evaluate("globalThis.isSamePage = true")
    expect(page.locator(".match-head .chip")).to_have_text("live")
    expect(page).to_have_title(re.compile("^Live: "))
    episode = finish(live_site, playing)
    expect(player).to_have_attribute("data-over", "true")
    expect(player).to_have_attribute("data-step", str(len(episode.steps)))
    expect(page.locator("h1 .spoiler")).to_contain_text(" in ")
    expect(page.locator(".result .place").first).to_have_text("1")
    expect(page.locator("[data-do=live]")).to_have_count(0)
    assert page.evaluate("globalThis.isSamePage")
    assert page.url == address
    page.context.close()


def test_a_page_says_what_a_match_waits_for_before_its_first_step(
    live_site: Site, redis_url: str, browser: Browser
) -> None:
    order = claim(live_site)
    page = opened(browser, f"{live_site.address}/matches/{order.match_id}", motion=True)
    expect(page.locator(".loading")).to_have_text(
        re.compile(r"^Starting the agents' sandboxes… \d+ s$")
    )
    playing = live_playing.begin(order, redis_url)
    expect(page.locator(".loading")).to_be_hidden()
    state = page.locator(".live-state")
    expect(state).to_have_text("The agents load and choose their first moves")
    playing.play(1)
    expect(page.locator("[data-player]")).to_have_attribute("data-step", "1")
    expect(state).to_be_hidden()
    finish(live_site, playing)
    page.context.close()


def test_a_page_without_streams_asks_for_the_same_frames(
    live_site: Site, redis_url: str, browser: Browser
) -> None:
    playing = begin(live_site, redis_url)
    playing.play(2)
    context = browser.new_context(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page = context.new_page()
    page.clock.install()

    def cut(route: Route) -> None:
        if "event-stream" in route.request.headers.get("accept", ""):
            route.abort()
        else:
            route.continue_()

    page.route("**/live?*", cut)
    with page.expect_event("requestfailed"):
        page.goto(f"{live_site.address}/matches/{playing.order.match_id}")
    page.clock.run_for(SILENT_MS)
    expect(page.locator("[data-player]")).to_have_attribute("data-step", "2")
    expect(page.locator(".live-state")).to_be_hidden()
    assert page.evaluate(NAMES) == []
    assert page.evaluate(CONTRAST) == []
    playing.play(1)
    page.clock.run_for(POLL_MS)
    expect(page.locator(".step-last")).to_have_text("3")
    expect(page.locator("[data-player]")).to_have_attribute("data-step", "2")
    finish(live_site, playing)
    page.clock.run_for(POLL_MS)
    expect(page.locator("[data-player]")).to_have_attribute("data-over", "true")
    expect(page.locator("h1 .spoiler")).to_be_hidden()
    context.close()


def test_tv_goes_on_to_the_next_match(live_site: Site, redis_url: str, browser: Browser) -> None:
    playing, other = begin(live_site, redis_url), begin(live_site, redis_url)
    running = {each.order.match_id: each for each in (playing, other)}
    for each in running.values():
        each.play(2)
    page = opened(browser, "about:blank", motion=False, width=390)
    page.clock.install()
    page.goto(f"{live_site.address}/tv")
    expect(page.locator("[data-player]")).to_have_attribute("data-step", "2")
    shown = str(page.locator("#tv").get_attribute("data-page")).removeprefix("/matches/")
    finish(live_site, running.pop(shown))  # type: ignore[call-overload]
    expect(page.locator("[data-player]")).to_have_attribute("data-over", "true")
    page.keyboard.press("End")
    expect(page.locator("h1 .spoiler")).to_contain_text(" in ")
    expect(page.locator("#shows-says")).to_contain_text("The next match")
    page.clock.run_for(8000)
    (left,) = running
    expect(page.locator("#tv")).to_have_attribute("data-page", f"/matches/{left}")
    expect(page.locator("[data-player]")).to_have_attribute("data-step", "2")
    expect(page.locator("h1 .spoiler")).to_be_hidden()
    expect(page).to_have_url(f"{live_site.address}/tv")  # a step would stop the next match there
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0
    page.context.close()
    running[left].publisher.stop(is_over=False)


@pytest.fixture(autouse=True, scope="module")
def nothing_runs_afterwards(seeded_database: tuple[str, str, Contest]) -> Iterator[None]:
    """Other tests of the session share the database."""
    yield
    with db.connect(seeded_database[0]) as conn:
        rows = conn.execute("select id from matches where state = 'running'").fetchall()
        matches.void_matches(
            conn, [row[0] for row in rows], VoidCause.NOT_NEEDED, "the tests are over"
        )
