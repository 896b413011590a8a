"""The leaderboard in a browser: it loads, updates itself, and works without script."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from ladder.database.db import connect
from ladder.standings import leaderboard
from tests.web.conftest import Site, Tab
from tests.web.seeding import SCRIPT_NAME, play_rated

pytestmark = pytest.mark.browser
BOARD = "/leagues/hungry-geese"


def test_the_leaderboard_matches_the_database(site: Site, tab: Callable[..., Tab]) -> None:
    page = tab().open(BOARD)
    with connect(site.database_url) as conn:
        board = leaderboard.read_board(conn, site.contest.season.id)
    rows = page.locator("#board tbody tr")
    expect(rows).to_have_count(len(board.rows))
    for index, standing in enumerate(board.rows):
        cells = rows.nth(index)
        expect(cells.get_by_role("rowheader")).to_contain_text(standing.agent_name)
        expect(cells.locator(".score")).to_have_text(f"{standing.score_and_sigma[0]:,.0f}")


def test_the_leaderboard_updates_after_a_rated_match(site: Site, tab: Callable[..., Tab]) -> None:
    page = tab().open(BOARD)
    entry = site.contest.active[0]
    row = page.locator(f"[data-key={entry.id}]")
    before = row.locator("td.num").nth(2).inner_text()
    with connect(site.database_url) as conn:
        play_rated(conn, site.blobs, site.contest, site.contest.active[:4])
    expect(page.locator("#board")).to_have_attribute("data-renewed", re.compile(r"^\d+$"))
    expect(row.locator("td.num").nth(2)).to_have_text(str(int(before) + 1))
    newest = page.locator(f"#recent a[href='/matches/{site.contest.rated[-1]}']")
    expect(newest).to_have_count(1)


def test_the_leaderboard_works_without_script(tab: Callable[..., Tab]) -> None:
    page = tab(script=False).open(BOARD)
    expect(page.locator("#board tbody tr").first).to_be_visible()
    page.locator("#board a.name").first.click()
    expect(page.get_by_role("heading", name="Live score")).to_be_visible()


def test_a_script_in_a_name_is_shown_as_text(tab: Callable[..., Tab]) -> None:
    page = tab().open(BOARD)
    link = page.locator("#board").get_by_role("link", name=SCRIPT_NAME)
    expect(link).to_have_text(SCRIPT_NAME)
    link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(SCRIPT_NAME)


def test_own_rows_are_marked_after_sign_in(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab()
    mine.type_token(site.contest.owner_token)
    page = mine.open(BOARD)
    expect(page.locator("tr.mine")).to_have_count(1)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{site.address}/")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()


def test_only_the_owner_can_open_the_log_of_a_match(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab()
    mine.sign_in(site.contest.owner_token)
    page = mine.open(f"/matches/{site.contest.failed_match}")
    page.get_by_role("button", name="Show results").click()
    page.get_by_role("link", name="Log", exact=True).click()
    expect(page.locator("pre.trace")).to_contain_text("ValueError: plan <b>not</b> found & lost")
    expect(page.locator("#step-6 pre")).to_contain_text("<script>alert('log')</script>")
    address = page.url.removeprefix(site.address)
    other = tab()
    answer = other.page.goto(site.address + address)
    assert answer is not None
    assert answer.status == 404
    assert all("404" in text for text in other.complaints)
    other.complaints.clear()  # the browser's own note of the 404
