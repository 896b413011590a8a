"""The pages of notices: reading, channels and choices, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from ladder.database.db import connect
from ladder.ids import UserId
from ladder.notices.kinds import EventSubject, NoticeKind, record_event
from tests.web.conftest import Site, Tab, press
from tests.web.test_sign_up import sign_up

pytestmark = pytest.mark.browser


def person_named(site: Site, name: str) -> UserId:
    with connect(site.database_url) as conn:
        row = conn.execute("select id from users where name = %s", (name,)).fetchone()
    assert row is not None
    return UserId(row[0])


def test_a_person_reads_notices_and_chooses_where_they_go(
    site: Site, tab: Callable[..., Tab]
) -> None:
    made = tab(width=390, script=False)
    page = sign_up(made, "Told Person", "?next=/me/notices")
    expect(page.get_by_role("main")).to_contain_text("No notices yet")
    with connect(site.database_url) as conn:
        about = EventSubject(user_id=person_named(site, "Told Person"))
        record_event(conn, NoticeKind.JOIN_APPROVED, about)
    page.reload()
    expect(page.get_by_role("link", name="Notices, 1 unread")).to_be_visible()
    press(page, "Mark all as read")
    expect(page.get_by_role("link", name="Notices", exact=True)).to_be_visible()

    page.get_by_role("link", name="Where notices go").click()
    page.get_by_label("Address").fill("http://10.1.2.3/hook")
    press(page, "Add and test")
    expect(page.locator("#address-wrong")).to_contain_text("private")
    page.get_by_label("Address").fill("http://1.1.1.1/hook<b>")
    press(page, "Add and test")
    expect(page.locator("#address-wrong")).to_contain_text("may contain only letters")
    page.get_by_label("Address").fill("http://1.1.1.1/hook")
    press(page, "Add and test")
    expect(page.get_by_text("whsec_")).to_be_visible()
    expect(page.get_by_text("A test", exact=True)).to_be_visible()
    press(page, "Switch off")
    expect(page.get_by_text("You switched this channel off")).to_be_visible()
    expect(page.get_by_text("whsec_")).to_have_count(0)

    page = made.open("/me/notices/settings")
    page.get_by_label("My leagues: webhook").select_option("none")
    press(page, "Save the choices")
    expect(page.get_by_label("My leagues: webhook")).to_have_value("off")
    expect(page.get_by_label("My leagues: page")).to_have_value("usual")
    made.complaints.clear()  # the browser reports the status 422


def test_feeds_are_atom_for_those_who_see_them(site: Site, tab: Callable[..., Tab]) -> None:
    league = site.get("/leagues/hungry-geese/feed.atom")
    assert league.headers["content-type"].startswith("application/atom+xml")
    assert ElementTree.fromstring(league.content).tag.endswith("feed")
    assert site.get(f"/agents/{site.contest.own[0].agent_id}/feed.atom").status_code == 200
    assert site.get("/leagues/no-such-league/feed.atom").status_code == 404
    assert site.get(f"/feeds/{'x' * 32}.atom").status_code == 404
    made = tab()
    page = sign_up(made, "Reading Person", "?next=/me/notices/settings")
    press(page, "Make a feed")
    address = page.locator("#feeds pre").inner_text()
    path = address[address.index("/feeds/") :]
    first = site.get(path)
    assert first.status_code == 200
    assert first.headers["cache-control"].startswith("private")
    press(page, "Revoke the feed 1")
    assert site.get(path).status_code == 404
