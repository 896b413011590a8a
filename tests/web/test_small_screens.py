"""Pages on small and large screens: their length, fonts, widths and links."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from ladder.database.db import connect
from ladder.leagues import invitations
from ladder.people import tokens, users
from tests.web import seeding
from tests.web.conftest import Site, Tab, press
from tests.web.test_accessibility import CONTRAST, NAMES

pytestmark = pytest.mark.browser
HEIGHT = "document.documentElement.scrollHeight"
LINES_OF_PUNCTUATION = """(() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (!/^[,.:;)]\\s/.test(text.data)) continue;
    range.setStart(text, 0);
    range.setEnd(text, 1);
    let box = text.parentElement;
    while (getComputedStyle(box).display === "inline") box = box.parentElement;
    const start = box.getBoundingClientRect().left + parseFloat(getComputedStyle(box).paddingLeft);
    const mark = range.getBoundingClientRect();
    if (mark.width && mark.left < start + 1) found.push(box.innerText);
  }
  return found;
})()"""
"""The boxes with a line that begins with a comma or the like."""


def test_pages_that_were_endless_have_an_end(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab(width=1280)
    mine.sign_in(site.contest.owner_token)
    logs = [f"/logs/{one.validation_match_id}/{n}" for one in site.contest.own for n in range(4)]
    token = site.contest.owner_token
    log = next(path for path in logs if "Page 1 of" in site.get(path, token).text)
    for path, most in ((log, 6_000), ("/docs/api", 10_000), ("/docs/api/leagues", 40_000)):
        assert mine.open(path).evaluate(HEIGHT) < most, path


def test_a_desktop_shows_no_half_empty_league(site: Site, tab: Callable[..., Tab]) -> None:
    page = tab(width=1280).open("/leagues/hungry-geese")
    left, right = page.evaluate(
        "[...document.querySelectorAll('.columns > .stack')].map((one) =>"
        " [...one.children].reduce((sum, card) => sum + card.offsetHeight, 0))"
    )
    assert left > 0.6 * right


def test_the_result_of_a_validation_wraps_on_a_phone(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab(width=320)
    mine.sign_in(site.contest.owner_token)
    page = mine.open(f"/matches/{site.contest.own[0].validation_match_id}?results=shown")
    expect(page.get_by_text("Time used:")).to_be_visible()
    assert (
        page.evaluate(
            "[...document.querySelectorAll('main p')]"
            ".filter((p) => p.scrollWidth > p.clientWidth).map((p) => p.innerText)"
        )
        == []
    )


def test_a_phone_shows_opponents_below_how_a_match_ended(
    site: Site, tab: Callable[..., Tab]
) -> None:
    for width in (375, 1280):
        page = tab(width=width).open(f"/agents/{site.contest.own[0].agent_id}")
        table = page.get_by_role("table", name="Matches of")
        against = table.locator("th", has_text="Against")
        expect(against).to_be_visible(visible=width > 375)
        below = table.locator(".sub", has_text="against").first
        expect(below).to_be_visible(visible=width == 375)
        assert table.evaluate("(one) => one.scrollWidth <= one.parentElement.clientWidth")


def test_a_host_types_in_the_font_of_the_page(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab()
    mine.sign_in(site.contest.host_token)
    page = mine.open("/new-league")
    fonts = page.evaluate(
        "[...document.querySelectorAll('main input[type=text], main textarea, main select')]"
        ".map((one) => getComputedStyle(one).fontFamily)"
    )
    assert fonts
    assert not any("mono" in font.lower() for font in fonts)


def test_a_phone_shows_no_hints_about_keys(site: Site, browser: Browser) -> None:
    address = f"{site.address}/matches/{site.contest.failed_match}"
    for is_phone in (True, False):
        context = browser.new_context(
            viewport={"width": 390 if is_phone else 1280, "height": 844}, has_touch=is_phone
        )
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("[data-ready]")
        assert page.locator(".hints").is_visible() is not is_phone
        context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_document_begins_below_the_edge_of_its_card(tab: Callable[..., Tab], width: int) -> None:
    page = tab(width=width).open("/docs/quick-start")
    distance = page.evaluate(
        "document.querySelector('.prose > div.body > p').getBoundingClientRect().top"
        " - document.querySelector('.prose').getBoundingClientRect().top"
    )
    assert distance > 12


def test_steps_stand_apart_from_the_line_above(tab: Callable[..., Tab]) -> None:
    page = tab(width=390).open("/leagues/hungry-geese")
    distance = page.evaluate(
        "(() => { const steps = document.querySelector('.steps');"
        " return steps.getBoundingClientRect().top"
        " - steps.previousElementSibling.getBoundingClientRect().bottom; })()"
    )
    assert distance >= 8


def test_a_page_of_rules_has_its_contents_first_on_a_phone(tab: Callable[..., Tab]) -> None:
    page = tab(width=360).open("/games/hungry_geese")
    contents = page.get_by_text("On this page")
    assert contents.is_visible()
    contents.click()
    assert page.get_by_role("link", name="A complete agent").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_header_on_a_phone_cuts_no_name(site: Site, tab: Callable[..., Tab]) -> None:
    for width in (360, 1280):
        mine = tab(width=width)
        mine.sign_in(site.contest.host_token)
        page = mine.open("/leagues")
        link = page.get_by_role("navigation", name="Account").locator('a[href="/me"]')
        assert (link.inner_text() == "My page") is (width == 360)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_links_of_lists_are_large_enough_for_a_finger(tab: Callable[..., Tab]) -> None:
    page = tab(width=360)
    small = (
        "[...document.querySelectorAll('a')].filter((one) => one.checkVisibility()"
        " && !one.closest('p.small, p.about, .body > p')"
        " && one.getBoundingClientRect().height < 24).map((one) => one.outerHTML)"
    )
    for path in ("/leagues", "/leagues/hungry-geese", "/games/hungry_geese", "/matches"):
        assert page.open(path).evaluate(small) == [], path


def test_no_line_begins_with_punctuation(site: Site, tab: Callable[..., Tab]) -> None:
    page = tab(width=360).open("/leagues/hungry-geese")
    for width in range(300, 440, 10):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(LINES_OF_PUNCTUATION) == [], width
    page.goto(f"{site.address}/matches/{site.contest.rated[0]}?results=shown")
    page.locator("[data-ended] a").first.wait_for()
    for width in range(300, 440, 10):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(LINES_OF_PUNCTUATION) == [], width


def test_the_page_of_an_invitation_is_accessible_on_a_small_phone(
    site: Site, tab: Callable[..., Tab]
) -> None:
    with connect(site.database_url) as conn:
        host_id = tokens.owner_of_token(conn, site.contest.host_token)
        assert host_id is not None
        host = users.get_user(conn, host_id)
        league, _ = seeding.make_league(conn, host, "small-pond", "Small Pond", "invitation")
        _, code = invitations.create_invitation(
            conn, league.id, role="competitor", created_by=host.id
        )
        conn.commit()
    for scheme in ("light", "dark"):
        page = tab(width=360, scheme=scheme).open(f"/join?code={code}")
        assert page.evaluate(NAMES) + page.evaluate(CONTRAST) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("link", name="Sign up and join").click()
    page.get_by_label("Name").fill("Small Guest")
    page.get_by_label("Password").fill("three geese on a torus")
    press(page, "Sign up")
    press(page, "Agree and join")
    assert page.url.endswith("/leagues/small-pond?joined=true")


def test_the_next_match_is_offered_below_the_final_position(
    site: Site, tab: Callable[..., Tab]
) -> None:
    page = tab(width=390).open(f"/matches/{site.contest.rated[3]}#step=9999")
    page.wait_for_selector("[data-ready]")
    board, offer = page.locator(".arena").bounding_box(), page.locator(".up-next").bounding_box()
    assert board is not None
    assert offer is not None
    assert offer["y"] >= board["y"] + board["height"]
