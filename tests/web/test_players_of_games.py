"""The replay players of the games beside Hungry Geese, held against their episodes' frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Site, Tab
from tests.web.test_accessibility import CONTRAST, NAMES

pytestmark = pytest.mark.browser


def episode_of(site: Site, game: str) -> dict[str, Any]:
    answer = site.get(f"/matches/{site.contest.other_games[game]}/episode.json")
    assert answer.status_code == 200
    episode: dict[str, Any] = answer.json()
    assert (episode["format"], episode["game"]) == ("peck-frames/1", game)
    assert len(episode["frames"]) == len(episode["steps"]) + 1
    return episode


def opened(tab: Callable[..., Tab], site: Site, game: str, width: int = 1200) -> Page:
    page = tab(width=width).open(f"/matches/{site.contest.other_games[game]}")
    page.wait_for_selector("[data-ready]")
    return page


def card(page: Page, seat: int, part: str) -> Any:
    return page.locator(f"[data-seat='{seat}'] {part}")


def go(page: Page, step: int) -> None:
    """To a step by the address, as a link to it does."""
    page.evaluate(f"location.hash = '#step={step}'")
    expect(page.locator("[data-player]")).to_have_attribute("data-step", str(step))


def fits_a_phone(tab: Callable[..., Tab], site: Site, game: str) -> None:
    page = opened(tab, site, game, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(NAMES) + page.evaluate(CONTRAST) == []


def test_the_battlesnake_player_shows_the_whole_position(
    site: Site, tab: Callable[..., Tab]
) -> None:
    episode, page = episode_of(site, "battlesnake"), opened(tab, site, "battlesnake")
    last = len(episode["frames"]) - 1
    expect(page.locator(".step-last")).to_have_text(str(last))
    ends = [one["eliminated_on"] for one in episode["frames"][-1]["snakes"]]
    for step in sorted({0, 1, last // 2, last, *(end for end in ends if end)}):
        frame = episode["frames"][step]
        go(page, step)
        expect(page.locator(".hazard")).to_have_count(len(frame["hazards"]))
        expect(page.locator(".food")).to_have_count(len(frame["food"]))
        for seat, snake in enumerate(frame["snakes"]):
            alive = snake["cause"] is None
            expect(page.locator(f".snake.seat-{seat}:not(.ghost)")).to_have_count(int(alive))
            has_gone = snake["eliminated_on"] == step
            expect(page.locator(f".snake.seat-{seat}.ghost")).to_have_count(int(has_gone))
            expect(card(page, seat, ".value")).to_have_text(str(len(snake["body"])))
            if alive:
                expect(card(page, seat, ".health")).to_have_text(str(snake["health"]))
            else:
                status = f"out at step {snake['eliminated_on']}"
                expect(card(page, seat, ".status")).to_have_text(status)
                expect(card(page, seat, ".how")).not_to_have_text("")
    assert episode["steps"][0]["faults"][1] == "ERROR"
    assert episode["steps"][0]["moves"][1] is None
    go(page, 1)
    expect(card(page, 1, ".how")).to_have_text("its program failed: on as before")
    fits_a_phone(tab, site, "battlesnake")


def test_the_golad_player_shows_the_cells_of_each_move(site: Site, tab: Callable[..., Tab]) -> None:
    episode, page = episode_of(site, "golad"), opened(tab, site, "golad")
    last = len(episode["frames"]) - 1
    for step in (0, 1, 2, last):
        go(page, step)
        letters = [letter for row in episode["frames"][step]["field"] for letter in row]
        for seat in (0, 1):
            living = letters.count(str(seat))
            expect(page.locator(f".cell.seat-{seat}")).to_have_count(living)
            expect(card(page, seat, ".value")).to_have_text(str(living))
    go(page, 1)
    assert episode["steps"][0]["moves"][0].startswith("birth ")
    expect(page.locator(".born.seat-0")).to_have_count(1)
    expect(page.locator(".cross")).to_have_count(2)
    expect(card(page, 0, ".how")).to_have_text(f"last move {episode['steps'][0]['moves'][0]}")
    expect(card(page, 0, ".bank")).to_have_text("10.0 s")
    fits_a_phone(tab, site, "golad")


def test_the_snake_player_shows_body_apple_and_end(site: Site, tab: Callable[..., Tab]) -> None:
    episode, page = episode_of(site, "snake"), opened(tab, site, "snake")
    last = len(episode["frames"]) - 1
    for step in (0, 1, last):
        go(page, step)
        frame = episode["frames"][step]
        expect(card(page, 0, ".value")).to_have_text(str(len(frame["snake"])))
        expect(page.locator(".snake")).to_have_count(1)
        expect(page.locator(".food")).to_have_count(int(frame["apple"] is not None))
    ending = "stopped" if last == 60 else "trapped"
    expect(card(page, 0, ".status")).to_have_text(ending)
    for step in (1, 2, 3):
        go(page, step)
        move = episode["steps"][step - 1]["moves"][0]
        expect(card(page, 0, ".how")).to_have_text(f"heading {move}")
    fits_a_phone(tab, site, "snake")


@pytest.mark.parametrize("game", ["battlesnake", "golad", "snake"])
def test_only_formats_of_the_game_are_offered(site: Site, game: str) -> None:
    match = site.contest.other_games[game]
    page = site.get(f"/matches/{match}").text
    assert "frames JSON" in page
    assert "Kaggle" not in page
    sent = site.get(f"/matches/{match}/episode.json?download=1")
    assert sent.headers["content-disposition"].endswith('-frames.json"')
    assert json.loads(sent.text)["game"] == game
    replay = f"{site.address}/v1/matches/{match}/replay"
    assert httpx.get(replay).json()["format"] == "peck-replay/1"
    refused = httpx.get(replay, params={"format": "kaggle"})
    assert refused.status_code == 422
    assert "Kaggle has no format for" in refused.json()["detail"]
    geese = site.get(f"/matches/{site.contest.rated[0]}").text
    assert "Kaggle JSON" in geese
    assert "frames JSON" not in geese
