"""The replay player, by mouse and by keyboard, held against the episode."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Site, Tab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def episode(site: Site) -> dict[str, Any]:
    """A long episode, as the API gives it, under ``match`` the id of its match."""
    found = []
    for match in site.contest.rated[:12]:
        answer = httpx.get(f"{site.address}/v1/matches/{match}/replay", params={"format": "kaggle"})
        found.append({**answer.json(), "match": match})
    return max(found, key=lambda one: len(one["steps"]))


def opened(tab: Tab, episode: dict[str, Any], fragment: str = "") -> Page:
    page = tab.open(f"/matches/{episode['match']}{fragment}")
    page.wait_for_selector("[data-ready]")
    return page


def at_step(page: Page, step: int) -> None:
    expect(page.locator("[data-player]")).to_have_attribute("data-step", str(step))
    expect(page.locator(".step-now")).to_have_text(str(step))


def holds(page: Page, episode: dict[str, Any], step: int) -> None:
    """What is drawn and told at a step is what the episode says."""
    at_step(page, step)
    geese = episode["steps"][step][0]["observation"]["geese"]
    for seat, body in enumerate(geese):
        card = page.locator(f"[data-seat='{seat}']")
        expect(card.locator(".value")).to_have_text(str(len(body)))
        end = "out" if episode["steps"][-1][seat]["status"] == "DONE" else "failed"
        alive = page.locator(f".goose.seat-{seat}:not(.ghost)")
        expect(alive).to_have_count(1 if body else 0)
        expect(card.locator(".status")).to_have_text(
            ("alive" if step < len(episode["steps"]) - 1 else "survived")
            if body
            else f"{end} at step {ended(episode, seat)}"
        )
    food = episode["steps"][step][0]["observation"]["food"]
    expect(page.locator(".food")).to_have_count(len(food))


def ended(episode: dict[str, Any], seat: int) -> int:
    return next(
        number
        for number, records in enumerate(episode["steps"])
        if not records[0]["observation"]["geese"][seat]
    )


def test_the_step_buttons_move_through_the_episode(
    tab: Callable[..., Tab], episode: dict[str, Any]
) -> None:
    page = opened(tab(), episode)
    holds(page, episode, 0)
    for step in range(1, 6):
        page.get_by_role("button", name="Step forward").click()
        holds(page, episode, step)
    page.get_by_role("button", name="Step back").click()
    holds(page, episode, 4)
    page.get_by_role("button", name="Last step").click()
    holds(page, episode, len(episode["steps"]) - 1)
    page.get_by_role("button", name="First step").click()
    holds(page, episode, 0)


def test_the_keyboard_controls_playback(tab: Callable[..., Tab], episode: dict[str, Any]) -> None:
    page = opened(tab(), episode)
    last = len(episode["steps"]) - 1
    keys = page.keyboard
    keys.press("ArrowRight")
    at_step(page, 1)
    keys.press("Shift+ArrowRight")
    holds(page, episode, 11)
    keys.press("ArrowLeft")
    at_step(page, 10)
    keys.press("End")
    holds(page, episode, last)
    keys.press("Home")
    at_step(page, 0)
    keys.press("+")
    expect(page.get_by_label("Speed")).to_have_value("2")
    keys.press("-")
    expect(page.get_by_label("Speed")).to_have_value("1")
    keys.press("Space")
    player = page.locator("[data-player]")
    expect(player).to_have_attribute("data-step", re.compile(r"^([3-9]|\d\d+)$"))
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    keys.press("Space")
    expect(page.locator("[data-player]")).to_have_attribute("data-playing", "false")
    held = page.locator("[data-player]").get_attribute("data-step")
    assert held is not None
    holds(page, episode, int(held))


def test_playback_restarts_after_the_end(tab: Callable[..., Tab], episode: dict[str, Any]) -> None:
    last = len(episode["steps"]) - 1
    page = opened(tab(), episode, f"#step={last - 4}")
    page.get_by_label("Speed").select_option("8")
    page.get_by_role("button", name="Play").click()
    holds(page, episode, last)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.get_by_role("button", name="Play").click()
    expect(page.locator("[data-player]")).not_to_have_attribute("data-step", str(last))


def test_the_mouse_scrubs_on_slider_and_chart(
    tab: Callable[..., Tab], episode: dict[str, Any]
) -> None:
    page = opened(tab(), episode)
    last = len(episode["steps"]) - 1
    slider = page.get_by_role("slider", name="Step")
    box = slider.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    step = int(slider.input_value())
    assert abs(step - last / 2) <= 2
    holds(page, episode, step)
    chart = page.locator(".lengths").bounding_box()
    assert chart is not None
    page.mouse.click(chart["x"] + chart["width"] - 1, chart["y"] + 10)
    at_step(page, last)


def test_a_deep_link_opens_at_the_linked_step(
    tab: Callable[..., Tab], episode: dict[str, Any]
) -> None:
    page = opened(tab(), episode, "#step=12")
    holds(page, episode, 12)
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("#step=13$"))
    page.evaluate("location.hash = '#step=3'")
    holds(page, episode, 3)


def test_a_goose_crossing_an_edge_is_drawn_on_both_sides(
    tab: Callable[..., Tab], episode: dict[str, Any]
) -> None:
    columns, rows = (episode["configuration"][name] for name in ("columns", "rows"))

    def crosses(body: list[int]) -> bool:
        return any(
            abs(a % columns - b % columns) > 1 or abs(a // columns - b // columns) > 1
            for a, b in pairwise(body)
        )

    step, seat = next(
        (number, seat)
        for number, records in enumerate(episode["steps"])
        for seat, body in enumerate(records[0]["observation"]["geese"])
        if crosses(body)
    )
    assert rows > 2
    page = opened(tab(), episode, f"#step={step}")
    path = page.locator(f".goose.seat-{seat} .body").first.get_attribute("d")
    assert path is not None
    assert path.count("M") > 1


def test_charged_time_and_bank_match_the_episode(
    tab: Callable[..., Tab], episode: dict[str, Any]
) -> None:
    page = opened(tab(), episode, "#step=5")
    times = episode["info"]["Peck"]
    for seat in range(4):
        charged = times["charged_seconds"][4][seat]
        bank = times["bank_seconds"][4][seat]
        card = page.locator(f"[data-seat='{seat}']")
        if charged is not None:
            expect(card.locator(".charged")).not_to_have_text("–")
            expect(card.locator(".bank")).to_have_text(f"{bank:.1f} s")


def test_the_player_shows_the_reason_for_elimination(tab: Callable[..., Tab], site: Site) -> None:
    page = tab().open(f"/matches/{site.contest.failed_match}#step=30")
    page.wait_for_selector("[data-ready]")
    card = page.locator("[data-seat='0']")
    expect(card.locator(".status")).to_have_text("failed at step 30")
    expect(card.locator(".how")).to_have_text("its program failed")
    expect(page.locator(".goose.seat-0.ghost .cross")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".goose.seat-0")).to_have_count(0)
