"""Pages of tournaments: the form in a browser, and a bracket on a desktop and on a phone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from ladder.database.db import connect
from ladder.people import tokens
from ladder.tournaments import shows
from ladder.tournaments.records import NewShow
from tests.integration.ladder.contest import make_contest
from tests.integration.ladder.cup import Cup, make_cup
from tests.web.conftest import Site, Tab, press
from tests.web.test_accessibility import CONTRAST, NAMES

CROWDED = """() => [...document.querySelectorAll('svg.bracket .points')]
  .filter((points) => points.textContent)
  .map((points) => [points.previousElementSibling, points])
  .filter(([name, points]) => name.getBBox().x + name.getBBox().width > points.getBBox().x - 3)
  .map(([name]) => name.textContent)"""
"""Names in a bracket that run into their scores."""
CROWDED_COLUMNS = """() => {
  const lines = [...document.querySelectorAll('.show-names li')].map((line) => {
    const text = document.createRange();
    text.selectNodeContents(line);
    const box = line.getBoundingClientRect();
    return { left: box.left, right: text.getBoundingClientRect().right, name: line.textContent };
  });
  const clash = (one) => lines.some((two) => two.left > one.left && two.left - 30 < one.right);
  return lines.filter(clash).map((line) => line.name);
}"""
"""Names in a show that run into the number of a name in the next column."""
SHOTS = os.environ.get("PECK_SHOTS")
HIDDEN_AFTER_MS = 5000
"""More than the time after which a show hides its buttons."""


@contextmanager
def half_played(site: Site) -> Iterator[tuple[Cup, str]]:
    """A private double elimination of seven after two rounds, and a token of its host."""
    with connect(site.database_url, autocommit=True) as conn:
        contest = make_contest(conn, seats=2, visibility="private")
        plan = {"stages": [{"format": "double_elimination", "reset": False}]}
        cup = make_cup(contest, plan, embargo="participants")
        cup.enter(7)
        cup.start()
        cup.play_round()
        cup.play_round()
        _, token = tokens.mint_token(conn, contest.host, "laptop", ["read", "leagues:write"])
        yield cup, token


@pytest.mark.browser
def test_a_host_makes_a_tournament_from_the_form(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab(width=360)
    mine.sign_in(site.contest.host_token)
    page = mine.open("/leagues/hungry-geese/tournaments")
    page.get_by_role("link", name="New tournament").click()
    page.get_by_label("Title").fill("Spring heats")
    page.get_by_label("Format", exact=True).select_option("heats-final")
    page.get_by_label("Agents that you invite").check()
    press(page, "Create the tournament")
    assert page.locator("h1").inner_text() == "Spring heats"
    press(page, "End registration and lock")
    assert "there are 0" in page.get_by_role("alert").inner_text()
    mine.complaints.clear()  # the browser logs the answer 422
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.browser
def test_a_bracket_and_a_show_are_readable_on_a_desktop_and_on_a_phone(
    site: Site, tab: Callable[..., Tab]
) -> None:
    with half_played(site) as (cup, token):
        _, secret = shows.create_show(cup.contest.conn, cup.id, cup.contest.host, NewShow())
        for width, scheme in ((1280, "light"), (390, "dark")):
            mine = tab(width=width, scheme=scheme)
            mine.sign_in(token)
            page = mine.open(f"/tournaments/{cup.id}")
            assert page.evaluate(NAMES) == []
            assert page.evaluate(CONTRAST) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("svg.bracket a").count() == len(cup.course().pairings)
            if SHOTS:
                page.screenshot(path=Path(SHOTS) / f"bracket-{width}.png", full_page=True)
            page = mine.open(f"/shows/{secret}")
            page.keyboard.press("r")
            expect(page.locator("h1")).to_contain_text("wins")
            assert page.evaluate(NAMES) == []
            assert page.evaluate(CONTRAST) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            if SHOTS:
                page.screenshot(path=Path(SHOTS) / f"show-{width}.png", full_page=True)
        page = mine.open(f"/tournaments/{cup.id}")
        press(page, "Show all results so far to everybody")
        assert {one.embargo for one in cup.games() if one.outcome} == {"public"}


@pytest.mark.browser
@pytest.mark.parametrize(
    ("stage", "seats", "after_one_round", "mean"),
    [
        ({"format": "heats", "seats": 4, "rounds": 3}, 4, "Played", "Per heat"),
        ({"format": "gauntlet"}, 2, "Per pairing", "Per pairing"),
    ],
)
def test_a_table_of_different_numbers_of_pairings_shows_means(
    site: Site,
    tab: Callable[..., Tab],
    stage: dict[str, Any],
    seats: int,
    after_one_round: str,
    mean: str,
) -> None:
    with connect(site.database_url, autocommit=True) as conn:
        contest = make_contest(conn, seats=seats)
        cup = make_cup(contest, {"stages": [stage]})
        cup.enter(5)
        cup.start()
        cup.play_round()
        cup.play_round()
        means = [line.mean for line in cup.view().standings(1)]
        _, secret = shows.create_show(conn, cup.id, contest.host, NewShow())
        for width in (1280, 390):
            mine = tab(width=width)
            page = mine.open(f"/tournaments/{cup.id}")
            assert page.evaluate(NAMES) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            heads = page.locator("#places-1 th[scope=col]").all_inner_texts()
            assert heads[2:5] == ["Score", "Played", mean]
            cells = page.locator("#places-1 tbody td:nth-child(5)").all_inner_texts()
            assert cells == means
            page = mine.open(f"/shows/{secret}")
            if width == 1280:  # all screens of a show move together
                page.keyboard.press("e")
                expect(page.locator(".show-table th[scope=col]").last).to_have_text(after_one_round)
                page.keyboard.press("e")
            expect(page.locator(".show-table th[scope=col]").last).to_have_text(mean)
            assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_a_wide_bracket_says_that_it_scrolls_and_shortens_long_names(
    site: Site, tab: Callable[..., Tab]
) -> None:
    with half_played(site) as (cup, token):
        name = "bob-greedy_kills with WWWWW"
        cup.contest.conn.execute("update agents set name = %s where id = %s", (name, cup.agents[0]))
        cup.contest.conn.execute(
            "update agents set name = 'WWWWWWWWWWWWWWWWWW' where id = %s", (cup.agents[1],)
        )
        mine = tab(width=390)
        mine.sign_in(token)
        page = mine.open(f"/tournaments/{cup.id}")
        assert page.evaluate(CROWDED) == []
        assert page.locator("svg.bracket title").first.text_content() in (
            name,
            "WWWWWWWWWWWWWWWWWW",
        )
        hint = page.get_by_text("Scroll sideways to see all rounds")
        expect(hint).to_be_visible()
        drawing = page.locator(".drawing")
        expect(drawing).to_have_class("drawing scroll continues")
        drawing.evaluate("(one) => one.scrollTo(one.scrollWidth, 0)")
        expect(drawing).to_have_class("drawing scroll")
        page.set_viewport_size({"width": 2400, "height": 900})
        if drawing.evaluate("(one) => one.scrollWidth <= one.clientWidth"):
            expect(hint).to_be_hidden()


@pytest.mark.browser
def test_long_names_on_the_first_page_of_a_show_stay_in_their_columns(
    site: Site, tab: Callable[..., Tab]
) -> None:
    with half_played(site) as (cup, _):
        conn = cup.contest.conn
        for number, agent in enumerate(cup.agents):
            name = "W" * 30 if number % 2 else "Convolutional"
            conn.execute("update agents set name = %s where id = %s", (name, agent))
        _, secret = shows.create_show(conn, cup.id, cup.contest.host, NewShow())
        page = tab(width=1280).open(f"/shows/{secret}")
        assert page.locator(".show-names li").count() == 7
        assert page.evaluate(CROWDED_COLUMNS) == []


def test_pages_and_the_api_name_all_with_the_best_reward(site: Site) -> None:
    with connect(site.database_url, autocommit=True) as conn:
        contest = make_contest(conn, seats=1)
        cup = make_cup(contest, {"stages": [{"format": "solo", "games": 1}]})
        cup.enter(8)
        cup.start()
        _, secret = shows.create_show(conn, cup.id, contest.host, NewShow())
        cup.play_solo_round(worst=8)
        while not (screen := shows.read_screen(conn, secret)).is_last:
            shows.move_show(conn, secret, screen.number, shows.Direction.NEXT)
        names = [cup.view().name(number) for number in range(1, 9)]
    equal = f"Other agents with the best reward: {', '.join(names[1:6])} and 1 more. The draw put"
    for page in (f"/tournaments/{cup.id}", f"/shows/{secret}"):
        assert equal in site.get(page).text
    listed = site.get(f"/leagues/{contest.league.slug}/tournaments").text
    assert f"Champion: {names[0]}. 8 entrants." in listed
    answer = site.get(f"/v1/tournaments/{cup.id}").json()
    others = [(one["agent_name"], one["place"]) for one in answer["drawn_behind"]]
    assert answer["champion_name"] == names[0]
    assert others == list(zip(names[1:7], range(2, 8), strict=True))
    (item,) = site.get(f"/v1/tournaments?league={contest.league.slug}").json()["items"]
    assert item == {name: value for name, value in answer.items() if name != "drawn_behind"}


@pytest.mark.browser
def test_a_show_hides_its_buttons_and_fills_the_screen(site: Site, tab: Callable[..., Tab]) -> None:
    with connect(site.database_url, autocommit=True) as conn:
        contest = make_contest(conn, seats=2)
        cup = make_cup(contest, {"stages": [{"format": "swiss", "rounds": 2}]})
        cup.enter(4)
        cup.start()
        cup.play_round()
        _, secret = shows.create_show(conn, cup.id, contest.host, NewShow())
        show = tab(width=1280)
        show.page.clock.install()
        page = show.open(f"/shows/{secret}")
        page.keyboard.press("r")
        table = page.locator(".show-table")
        expect(table).to_be_visible()
        height = page.evaluate("innerHeight")
        box = table.bounding_box()
        assert box is not None
        assert 0.7 * height < box["y"] + box["height"] < height
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        if SHOTS:
            page.screenshot(path=Path(SHOTS) / "show-result.png")
        keys = page.locator(".show-keys")
        page.clock.run_for(HIDDEN_AFTER_MS)
        expect(keys).to_have_css("opacity", "0")
        page.mouse.move(200, 200)
        page.mouse.move(220, 210)
        expect(keys).to_have_css("opacity", "1")
        page.clock.run_for(HIDDEN_AFTER_MS)
        expect(keys).to_have_css("opacity", "0")
        page.keyboard.press("Tab")
        page.clock.run_for(HIDDEN_AFTER_MS)
        expect(keys).to_have_css("opacity", "1")
