"""The home page: a match to watch, what just happened, and the leagues."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from ladder.ids import AgentId, MatchId, SeasonId
from ladder.reports.front_page import PlayedMatch, best_match, upsets
from tests.web.conftest import Site, Tab
from tests.web.test_accessibility import CONTRAST, NAMES, settle

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def played(name: str, **changes: Any) -> PlayedMatch:
    given: dict[str, Any] = {
        "at": NOW - timedelta(hours=1),
        "strength": 1.0,
        "faults": 0,
        "upset": -1.0,
        "loser_id": AgentId("b"),
        "loser": "B",
    }
    return PlayedMatch(
        match_id=MatchId(name),
        season_id=SeasonId("s"),
        league="L",
        winner_id=AgentId("a"),
        winner="A",
        **(given | changes),
    )


def test_the_best_match_is_of_today_and_between_strong_agents() -> None:
    old = played("old", at=NOW - timedelta(days=2), strength=9.0)
    weak, strong = played("weak"), played("strong", strength=2.0)
    faulty = played("faulty", strength=5.0, faults=1)
    alone = played("alone", strength=7.0, loser=None, loser_id=None)
    assert best_match([old, weak, strong, faulty, alone], NOW) is strong
    assert best_match([old], NOW) is old
    assert best_match([], NOW) is None


def test_an_upset_has_a_winner_far_below_a_loser() -> None:
    far, near = played("far", upset=1.5), played("near", upset=0.5)
    assert upsets([near, far, played("broken", upset=3.0, faults=1)], 5) == [far]
    again, other = played("again", upset=2.0), played("other", upset=2.0, loser_id=AgentId("c"))
    assert upsets([far, again, other], 5) == [far, other]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_home_plays_a_match_and_leads_on(site: Site, tab: Callable[..., Tab], scheme: str) -> None:
    mine = tab(width=360, scheme=scheme)
    page = mine.open("/")
    settle(page)
    assert page.evaluate(NAMES) + page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(page.get_by_role("heading", name="What just happened")).to_be_visible()
    assert page.locator(".top-three li").count() >= 3
    page.get_by_role("link", name="Send your agent").click()
    page.wait_for_url("**/sign-up?next=/upload")


@pytest.mark.browser
def test_home_goes_on_to_another_match_and_its_address_names_no_step(
    site: Site, browser: Browser
) -> None:
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    page.clock.install()
    page.goto(site.address)
    page.wait_for_selector("#shown [data-ready]")
    before = str(page.locator("#shown").get_attribute("data-past"))
    page.clock.run_for(80_000)  # the longest game, and the rest after it
    expect(page.locator("#shown")).not_to_have_attribute("data-past", before)
    expect(page).to_have_url(f"{site.address}/")
    context.close()


def test_home_shows_private_leagues_to_their_members_alone(site: Site) -> None:
    assert "Ornithologists" not in site.get("/").text
    assert "Ornithologists" in site.get("/", site.contest.host_token).text
