"""Watching a replay: the board in view, play without a click, no result before the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.conftest import Site, Tab

pytestmark = pytest.mark.browser
DESKTOP, PHONE = (1280, 800), (390, 844)


def matches(site: Site) -> dict[str, str]:
    return {"hungry_geese": site.contest.rated[3], **site.contest.other_games}


@contextmanager
def opened(
    browser: Browser, address: str, size: tuple[int, int] = DESKTOP, motion: str = "reduce"
) -> Iterator[Page]:
    """A page with a replay, as a visitor sees it who has never been here."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        reduced_motion="reduce" if motion == "reduce" else "no-preference",
        has_touch=size == PHONE,
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("[data-ready]")
    yield page
    context.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_board_and_play_button_are_in_view_on_load(
    site: Site, browser: Browser, size: tuple[int, int]
) -> None:
    for game, match in matches(site).items():
        with opened(browser, f"{site.address}/matches/{match}", size) as page:
            for part in (".arena", "[data-do=play]"):
                box = page.locator(part).bounding_box()
                assert box is not None
                assert box["height"] > 30, (game, part)
                assert box["y"] >= 0, (game, part)
                assert box["y"] + box["height"] <= size[1], (game, part)


def test_a_replay_plays_by_itself_unless_motion_is_unwanted(site: Site, browser: Browser) -> None:
    address = f"{site.address}/matches/{site.contest.other_games['golad']}"
    with opened(browser, address, motion="no-preference") as page:
        expect(page.locator("[data-player]")).not_to_have_attribute("data-step", "0")
    with opened(browser, address) as page:
        page.wait_for_timeout(500)
        expect(page.locator("[data-player]")).to_have_attribute("data-step", "0")
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_the_result_is_hidden_until_the_end_or_until_asked_for(
    site: Site, browser: Browser
) -> None:
    address = f"{site.address}/matches/{site.contest.rated[3]}"
    headline, result = "h1 .spoiler", ".result"
    with opened(browser, address) as page:
        expect(page.locator(headline)).to_be_hidden()
        expect(page.locator(result)).to_be_hidden()
        assert " beats " not in page.title()
        drawn = "document.querySelector('#lengths-seen rect')?.width.baseVal.value"
        assert page.evaluate(drawn) < 10
        page.keyboard.press("End")
        expect(page.locator(headline)).to_contain_text(" in ")
        expect(page.locator(result)).to_be_visible()
        assert page.evaluate(drawn) > 990
        page.goto("about:blank")
        page.goto(address)
        expect(page.locator(headline)).to_be_hidden()
        page.get_by_role("button", name="Show results").click()
        expect(page.locator(headline)).to_be_visible()
        page.wait_for_function(f"{drawn} > 990")
        page.reload()
        expect(page.locator(headline)).to_be_visible()
        page.get_by_role("button", name="Hide results").click()
        expect(page.locator(headline)).to_be_hidden()


def test_one_can_jump_to_each_goose_that_goes_out(site: Site, browser: Browser) -> None:
    match = site.contest.rated[3]
    frames = site.get(f"/matches/{match}/episode.json").json()["frames"]
    ends = sorted(
        next(step for step, frame in enumerate(frames) if not frame["geese"][seat])
        for seat in range(4)
        if not frames[-1]["geese"][seat]
    )
    with opened(browser, f"{site.address}/matches/{match}?step=0") as page:
        page.locator("[data-choose=moments]").select_option("out")
        for step in sorted(set(ends)):
            page.get_by_role("button", name="Next moment").click()
            expect(page.locator("[data-player]")).to_have_attribute("data-step", str(step))


def test_a_swipe_on_the_board_goes_through_the_steps(tab: Callable[..., Tab], site: Site) -> None:
    page = tab().open(f"/matches/{site.contest.rated[3]}?step=20")
    page.wait_for_selector("[data-ready]")
    player = page.locator("[data-player]")
    expect(player).to_have_attribute("data-step", "20")
    box = page.locator(".arena").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 400, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 400 - 3 * 28 - 5, middle, steps=5)
    page.mouse.up()
    expect(player).to_have_attribute("data-step", "23")
    expect(player).to_have_attribute("data-playing", "false")


def test_only_the_owner_reads_the_log_of_the_step_in_view(
    tab: Callable[..., Tab], site: Site
) -> None:
    address = f"/matches/{site.contest.failed_match}#step=6"
    page = tab().open(address)
    page.wait_for_selector("[data-ready]")
    expect(page.locator("[data-log]")).to_have_count(0)
    mine = tab()
    mine.sign_in(site.contest.owner_token)
    page = mine.open(address)
    page.wait_for_selector("[data-ready]")
    log = page.locator("[data-seat='0'] [data-log]")
    log.locator("summary").click()
    expect(log.locator("pre")).to_contain_text("step 6: <script>alert('log')</script>")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(log.locator("pre")).to_have_text("It printed nothing in this step.")
