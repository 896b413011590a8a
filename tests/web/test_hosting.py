"""A host runs a league on its pages, in a browser without script."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ladder.database.db import connect
from tests.web.conftest import Site, Tab, press
from tests.web.empty_contest import empty_contest

pytestmark = pytest.mark.browser
ROSTER = b"name,team,role,external_id\nAda Lovelace,Engines,,s-1\nGrace Hopper,,viewer,s-2\n"


def test_a_host_edits_and_continues_a_league_by_keyboard_on_a_phone(
    site: Site, tab: Callable[..., Tab]
) -> None:
    with connect(site.database_url) as conn:
        empty_contest(conn, site, "pond")
    mine = tab(width=360, script=False)
    mine.sign_in(site.contest.host_token)
    page = mine.open("/leagues/pond")
    assert "No tournaments yet" in page.get_by_role("main").inner_text()
    press_link(mine, "Edit the league")
    page.get_by_label("Title").fill("Big pond")
    press(page, "Save the changes")
    assert page.get_by_role("status").first.inner_text() == "Your changes are saved."
    assert page.get_by_role("heading", level=1).inner_text() == "Big pond"
    press_link(mine, "New season")
    page.locator("details.fold > summary").press("Enter")
    page.get_by_label("Submissions a day").fill("2")
    page.get_by_label("Uploads lock").fill("2001-01-01T00:00")
    press(page, "Create season 2")
    lock = page.get_by_label("Uploads lock")
    assert lock.get_attribute("aria-invalid") == "true"
    mine.complaints.clear()  # the browser's own line on the status 422
    lock.fill("")
    press(page, "Create season 2")
    assert "Season 2 is open" in page.get_by_role("status").first.inner_text()


def test_a_host_imports_a_roster_from_a_file(site: Site, tab: Callable[..., Tab]) -> None:
    with connect(site.database_url) as conn:
        empty_contest(conn, site, "course")
    mine = tab(width=360, script=False)
    mine.sign_in(site.contest.host_token)
    page = mine.open("/leagues/course/people")
    press_link(mine, "Import a roster")
    for content in (ROSTER.replace(b"viewer", b"chief"), ROSTER):
        file = {"name": "roster.csv", "mimeType": "text/csv", "buffer": content}
        page.get_by_label("Or a CSV file").set_input_files(file)  # type: ignore[arg-type]
        press(page, "Import")
        if content != ROSTER:
            assert "Line 3, role: 'chief'" in page.get_by_role("alert").inner_text()
            assert "Nobody is on the roster yet" in page.get_by_role("main").inner_text()
            mine.complaints.clear()
    assert "2 lines changed" in page.get_by_role("status").inner_text()
    assert page.locator("#result li code").count() == 2
    assert page.locator("#lines li").count() == 2


def test_a_roster_file_above_the_size_limit_is_refused_by_its_field(
    site: Site, tab: Callable[..., Tab]
) -> None:
    with connect(site.database_url) as conn:
        empty_contest(conn, site, "lecture")
    mine = tab()
    mine.sign_in(site.contest.host_token)
    page = mine.open("/leagues/lecture/roster")
    file = {"name": "roster.csv", "mimeType": "text/csv", "buffer": ROSTER * 200_000}
    page.get_by_label("Or a CSV file").set_input_files(file)  # type: ignore[arg-type]
    press(page, "Import")
    assert "Send at most 256 kB" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Roster", exact=True).get_attribute("aria-invalid") == "true"
    mine.complaints.clear()


def test_a_second_click_on_import_loses_no_codes(site: Site, tab: Callable[..., Tab]) -> None:
    with connect(site.database_url) as conn:
        empty_contest(conn, site, "seminar")
    mine = tab()
    mine.sign_in(site.contest.host_token)
    page = mine.open("/leagues/seminar/roster")
    page.get_by_label("Roster", exact=True).fill(ROSTER.decode())
    button = page.get_by_role("button", name="Import", exact=True)
    clicks = "button => [100, 500].forEach((wait) => setTimeout(() => button.click(), wait))"
    with connect(site.database_url) as conn:
        conn.execute("begin")
        conn.execute("select 1 from leagues where slug = 'seminar' for update")
        button.evaluate(clicks)
        time.sleep(1)  # the import waits for the lock
        conn.execute("commit")
    page.locator("#result").wait_for(timeout=10_000)
    assert page.locator("#result li code").count() == 2


def press_link(mine: Tab, name: str) -> None:
    """Follow a link of the page from the keyboard."""
    with mine.page.expect_navigation():
        mine.page.get_by_role("main").get_by_role("link", name=name, exact=True).press("Enter")
