"""The pages of comparisons in a browser: by keyboard alone, on desktop and phone."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from estimates.comparison import Verdict
from ladder.database import db
from ladder.database.db import Connection
from ladder.ids import ComparisonId, MatchId
from ladder.people import tokens
from ladder.scrims import comparison_progress, comparisons
from tests.web.conftest import Site, Tab
from tests.web.games_played import play_queued
from tests.web.test_accessibility import problems


def play(site: Site, conn: Connection, match_id: MatchId) -> None:
    """Plays a queued match."""
    seats = conn.execute(
        "select entry_id from seats where match_id = %s order by seat", (match_id,)
    )
    players = [site.contest.players[row[0]]() for row in seats]
    play_queued(conn, site.blobs, match_id, players)


def play_comparison(site: Site, comparison_id: ComparisonId) -> Verdict:
    """Plays pairs until the verdict."""
    with db.connect(site.database_url) as conn:
        while (verdict := comparison_progress.advance(conn, comparison_id)) is None:
            conn.commit()
            for pair in comparisons.issued_pairs(conn, comparison_id):
                for match_id, state in (
                    (pair.old_match_id, pair.old_state),
                    (pair.new_match_id, pair.new_state),
                ):
                    if state == "queued":
                        play(site, conn, match_id)
        return verdict


def test_comparison_is_started_by_keyboard_and_shows_its_picture(
    site: Site, tab: Callable[..., Tab]
) -> None:
    contest = site.contest
    with db.connect(site.database_url) as conn:
        _, token = tokens.mint_token(
            conn, contest.owner.id, "comparing", ["read", "agents:write", "scrims:write"]
        )
    mine = tab(width=360)
    mine.sign_in(token)
    page = mine.open("/leagues/hungry-geese/better")
    assert problems(page) == []
    new, old = page.get_by_label("New version"), page.get_by_label("Old version")
    assert contest.rejected is not None
    assert contest.rejected.submission_id not in new.inner_html()
    new.select_option(contest.own[1].submission_id)
    old.select_option(contest.own[0].submission_id)
    page.get_by_label("Anchor: greedy").press("Space")
    expect(page.get_by_label("Long Neck")).to_have_count(1)  # it accepts every scrim
    page.get_by_text("How sure, and how many games").click()
    page.get_by_label("Most pairs").fill("3")
    page.get_by_role("button", name="Compare").press("Enter")
    expect(page.get_by_text("No pair has ended yet")).to_be_visible()
    assert problems(page) == []
    expect(page.get_by_text("Usually 100 to 200")).to_be_visible()
    cancel = page.get_by_role("button", name="Cancel it now")
    expect(cancel).to_be_hidden()  # until asked for
    page.get_by_text("Cancel this comparison").press("Enter")
    expect(cancel).to_be_visible()
    key = ComparisonId(page.url.rpartition("/")[2])
    with db.connect(site.database_url) as conn:
        comparison_progress.advance(conn, key)
        conn.commit()
        waiting = site.get(f"/comparisons/{key}", token).text
        assert "It waits for a machine: none of its games has begun." in waiting
        assert "No answer yet: its games wait for a machine." in waiting
        assert re.search(r"You can play about \S+ more pairs today. The limit is", waiting)
        play(site, conn, comparisons.issued_pairs(conn, key)[0].new_match_id)
    begun = site.get(f"/comparisons/{key}", token).text
    assert "It waits" not in begun
    assert "No answer yet: the games are being played." in begun
    play_comparison(site, key)
    expect(page.get_by_text("First different moves")).to_be_visible()
    expect(page.locator(".answer")).to_contain_text("version 2")
    assert not any(f" -{digit}" in page.inner_text("main") for digit in "01")
    assert problems(page) == []
    page.get_by_role("link", name="old", exact=True).first.press("Enter")
    page.wait_for_url("**/matches/**")
    page.wait_for_selector("[data-ready]")
    assert "#step=" in page.url
