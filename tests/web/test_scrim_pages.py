"""Pages of scrims, used by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ladder.database import db
from ladder.entries import agents
from ladder.enums import VoidCause
from ladder.matches import matches
from ladder.people import tokens
from tests.web.conftest import Site, Tab, press


@pytest.fixture
def mine(site: Site, tab: Callable[..., Tab]) -> Tab:
    """A tab of the owner, whose session may scrim."""
    with db.connect(site.database_url) as conn:
        token = tokens.mint_token(conn, site.contest.owner.id, "scrims", tokens.SCOPES[:3])[1]
    made = tab()
    made.sign_in(token)
    return made


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the link, button or field with this name or type has the focus."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate(
            "(name) => { const e = document.activeElement;"
            " return e.textContent.trim() === name || e.type === name"
            " || [...(e.labels ?? [])].some((label) => label.textContent.trim() === name); }",
            name,
        ):
            return
    raise AssertionError(f"Tab does not reach {name}")


def follow(page: Page, name: str) -> None:
    """Tab to a link or button, press Enter and wait for the next page."""
    tab_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def keep_focus_while_the_matrix_changes(site: Site, page: Page) -> None:
    """Both halves of the matrix link to one scrim: the focus stays in its half."""
    last = page.get_by_role("link", name="–").last
    last.focus()
    scrim_id = str(last.get_attribute("href")).rpartition("/")[2]
    with db.connect(site.database_url) as conn:
        row = conn.execute("select min(id) from matches where scrim_id = %s", (scrim_id,))
        matches.void_matches(conn, [row.fetchall()[0][0]], VoidCause.NOT_NEEDED, "for the test")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator(".facts div", has_text="Void").locator("dd")).to_have_text("1")
    expect(last).to_be_focused()


def test_the_pages_of_scrims_need_only_the_keyboard(site: Site, mine: Tab) -> None:
    with db.connect(site.database_url) as conn:
        versions = {
            one.id: one.version
            for one in agents.list_submissions(conn, site.contest.own[0].agent_id, limit=9)
        }
    page = mine.open("/scrims")
    follow(page, "Play many at once")
    follow(page, "own versions against each other")
    follow(page, "Show what it uses before the start")
    expect(page.get_by_text("Choose at least 2.")).to_be_visible()
    mine.complaints.clear()  # the browser reports the status 422
    for entry in site.contest.own[1::-1]:  # the newest first
        tab_to(page, f"Gosling, version {versions[entry.submission_id]}")
        page.keyboard.press("Space")
    tab_to(page, "Games of each pairing")
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    follow(page, "Show what it uses before the start")
    follow(page, "Start 2 games")
    expect(page.get_by_role("heading", name="Versions against each other")).to_be_visible()
    keep_focus_while_the_matrix_changes(site, page)
    follow(page, "–")
    expect(page.get_by_text("Gosling").first).to_be_visible()
    page.go_back()
    follow(page, "Cancel unplayed games")
    expect(page.get_by_text("ended", exact=False)).to_be_visible()

    mine.open(f"/agents/{site.contest.own[-1].agent_id}/scrim-policy")
    tab_to(page, "radio")
    everybody = page.get_by_label("Everybody")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
        if everybody.is_checked():
            break
    follow(page, "Save the policy")

    mine.open("/leagues/hungry-geese/better")
    follow(page, "Compare")
    expect(page.get_by_text("No pair has ended yet")).to_be_visible()
    tab_to(page, "Cancel this comparison")
    page.keyboard.press("Enter")
    follow(page, "Cancel it now")
    expect(page.get_by_text("It was cancelled without an answer.")).to_be_visible()


def test_a_scrim_is_asked_for_by_keyboard(site: Site, mine: Tab) -> None:
    open_agent = site.contest.active[0]
    page = mine.open(f"/new-scrim?opponent={open_agent.agent_id}")
    tab_to(page, "Games")
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    tab_to(page, "Ask for the scrim")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Request for a scrim")).to_be_visible()
    expect(page.locator(".chip", has_text="accepted")).to_be_visible()
    expect(page.get_by_text("Seeds: random.")).to_be_visible()
    with page.expect_navigation():
        page.get_by_role("link", name="See the games").press("Enter")
    expect(page.get_by_text("Results: all teams that play")).to_be_visible()
    press(page, "Cancel unplayed games")
    expect(page.locator(".chip", has_text="cancelled").first).to_be_visible()


def test_named_opponents_take_the_other_seats_in_turn(site: Site, mine: Tab) -> None:
    page = mine.open(f"/new-scrim?opponent={site.contest.active[0].agent_id}")
    expect(page.get_by_text("Its agent plays in the other 3 seats")).to_be_visible()
    page.get_by_text("More opponents").press("Enter")
    page.get_by_label("Opponent 2").select_option("Anchor: greedy: starts at once (Pecking Order)")
    press(page, "Ask for the scrim")
    seats = page.locator("section", has_text="Agents").locator("li .name")
    assert seats.all_inner_texts()[1:] == ["Long Neck", "Anchor: greedy", "Long Neck"]
    page.get_by_role("link", name="See the games").click()
    press(page, "Cancel unplayed games")


def test_a_refused_lineup_is_told_beside_the_opponent(site: Site, mine: Tab) -> None:
    page = mine.open("/new-scrim")
    page.get_by_text("More opponents").press("Enter")
    for label, agent in (("Opponent", 1), ("Opponent 2", 2)):
        asked = site.contest.active[agent].agent_id
        page.get_by_label(label, exact=True).select_option(asked)
    press(page, "Ask for the scrim")
    expect(page.locator("#lineup-wrong")).to_contain_text("Ask one team at a time")
    expect(page.get_by_label("Opponent 2")).to_be_visible()
    mine.complaints.clear()  # the browser reports the status 422


@pytest.mark.parametrize("width", [375, 1280])
def test_a_scrim_shows_intervals_as_numbers(
    site: Site, tab: Callable[..., Tab], width: int
) -> None:
    shown = tab(width=width)
    shown.sign_in(site.contest.owner_token)
    page = shown.open(f"/scrims/{site.contest.scrim}")
    intervals = page.locator("tbody td .sub", has_text=re.compile(r"^\d+% to \d+%$"))
    expect(intervals.first).to_be_visible()
    assert intervals.count() == page.locator("tbody tr").count()


def test_a_request_is_declined_with_a_word(site: Site, mine: Tab) -> None:
    page = mine.open("/scrims")
    with page.expect_navigation():
        page.get_by_role("link", name="asks you").press("Enter")
    expect(page.get_by_text("Shall we play before the weekend?")).to_be_visible()
    page.get_by_label("Message to the other team").fill("after it")
    press(page, "Decline")
    expect(page.get_by_text("after it")).to_be_visible()
    expect(page.locator(".chip", has_text="declined")).to_be_visible()


def test_a_batch_says_what_it_takes_before_it_starts(site: Site, mine: Tab) -> None:
    page = mine.open("/new-scrim-batch")
    page.get_by_role("checkbox").first.press("Space")
    page.get_by_label("Games with each").fill("3")
    press(page, "Show what it uses before the start")
    expect(page.get_by_text("3 games of the", exact=False)).to_be_visible()
    press(page, "Start 3 games")
    expect(page.get_by_role("heading", name="Gauntlet")).to_be_visible()
    press(page, "Cancel unplayed games")
    expect(page.get_by_text("ended", exact=False)).to_be_visible()


def test_a_policy_names_the_wrong_field_and_saves_the_right_one(site: Site, mine: Tab) -> None:
    agent = site.contest.own[-1].agent_id
    page = mine.open(f"/agents/{agent}/scrim-policy")
    page.get_by_label("The teams named below").press("Space")
    press(page, "Save the policy")
    expect(page.get_by_text("Name at least one team")).to_be_visible()
    mine.complaints.clear()  # the browser reports the status 422
    page.get_by_label("Everybody").press("Space")
    page.get_by_label("Games a day").fill("90")
    press(page, "Save the policy")
    page.goto(f"{site.address}/agents/{agent}/scrim-policy")
    expect(page.get_by_label("Everybody")).to_be_checked()
    expect(page.get_by_label("Games a day")).to_have_value("90")
