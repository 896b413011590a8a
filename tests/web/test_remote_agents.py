"""Remote agents on the pages: submission, visibility of the address and resumption."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ladder.database.db import connect
from ladder.entries import agents, entries
from ladder.ids import EntryId
from ladder.leagues import leagues, seasons, terms
from tests.web.conftest import Site, Tab, press
from tests.web.test_moderation import fine

URL = "https://snake.example.org/k3J9"
SHOTS = os.environ.get("PECK_SHOTS")
"""A folder that keeps pictures of the pages for people."""


def keep(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


def make_season(site: Site) -> None:
    with connect(site.database_url) as conn:
        league = leagues.create_league(
            conn,
            slug="far-snakes",
            title="Far snakes",
            game="battlesnake",
            visibility="public",
            replay_visibility="public",
            created_by=None,
        )
        seasons.create_season(
            conn,
            league.id,
            seasons.SeasonColumns(
                configuration={},
                configuration_digest="none",
                clock={"act_seconds": 0.5, "bank_seconds": 0.0},
                seats=4,
                remote_agents=True,
            ),
        )


def pause(site: Site, entry: EntryId) -> None:
    """Write the rows that three strikes would leave."""
    with connect(site.database_url) as conn:
        conn.execute(
            "update entries set state = 'paused', pause_cause = 'unreachable',"
            " activated_at = now(), paused_at = now(),"
            " strikes = 3, next_try_at = now() + interval '10 minutes', deadline_at = null,"
            " reason = 'three strikes; the last: no connection within 3 s' where id = %s",
            (entry,),
        )
        conn.execute("update seasons set revision = revision + 1")


@pytest.mark.browser
def test_a_remote_agent_is_submitted_on_a_phone_without_script(
    site: Site, tab: Callable[..., Tab]
) -> None:
    make_season(site)
    contest = site.contest
    with connect(site.database_url) as conn:
        agent = agents.create_agent(conn, contest.own[0].team_id, "Far viper", "far-viper")
    path = f"/agents/{agent.id}"
    mine = tab(width=360, script=False)
    mine.sign_in(contest.owner_token)
    geese = mine.open(f"/agents/{contest.own[0].agent_id}")  # it plays another game
    assert geese.get_by_role("region", name="Submit an address").count() == 0
    page = mine.open(path)
    form = page.get_by_role("region", name="Submit an address")
    assert form.get_by_label("Season").input_value() != ""  # the only one
    form.get_by_role("textbox", name="Address").fill("https://snake.example.org/?a=b")
    press(page, "Submit")
    refusal = page.get_by_role("region", name="Submit an address").get_by_role("alert")
    expect(refusal).to_be_in_viewport()
    assert refusal.inner_text() == "Please correct these fields: address. Nothing was changed yet."
    field = page.get_by_role("textbox", name="Address")
    assert field.get_attribute("aria-invalid") == "true"
    assert "Leave out the query" in form.inner_text()
    keep(page, "agent-refused-360")
    assert fine(page) == []
    mine.complaints.clear()  # the browser's own line on the status 422
    field.fill(URL)
    press(page, "Submit")
    sent = page.get_by_role("region", name="Submissions").inner_text()
    assert URL in sent
    assert "Far snakes, " in sent
    with connect(site.database_url) as conn:
        (entry,) = entries.list_entries(conn, agent_id=agent.id)
    pause(site, entry.id)
    page = mine.open(f"{path}?entry={entry.id}")
    listed = page.get_by_role("region", name="Submissions")
    assert "no connection within 3 s" in listed.inner_text()
    keep(page, "agent-paused-360")
    assert fine(page) == []
    wide = tab()
    wide.sign_in(contest.owner_token)
    keep(wide.open(f"{path}?entry={entry.id}"), "agent-paused")
    board = tab(width=360).open("/leagues/far-snakes")
    row = board.get_by_role("row", name="Far viper")
    assert row.get_by_text("remote", exact=True).is_visible()
    assert row.get_by_text("paused", exact=True).is_visible()
    assert terms.REMOTE in board.get_by_role("main").inner_text()
    keep(board, "league-360")
    assert fine(board) == []
    keep(tab().open("/leagues/far-snakes"), "league")
    press(page, "Resume now")
    assert "A new try is under way" in listed.inner_text()
    assert page.get_by_role("button", name="Resume now").count() == 0
    for token in (contest.stranger_token, contest.host_token, None):
        seen = site.get(path, token).text
        assert "snake.example" not in seen
        assert "no connection" not in seen
        assert "Its address did not answer" in seen
        assert 'data-sign="paused"' in seen  # only its owner may know the number of strikes
    host = tab(width=360)
    host.sign_in(contest.host_token)
    making = host.open("/new-league?game=battlesnake")
    assert making.get_by_label("Allow remote agents").count() == 1
    keep(making, "new-league-360")
    assert fine(making) == []
    assert "remote_agents" not in site.get("/new-league?game=hungry_geese", contest.host_token).text


BROKEN = """() => [...document.querySelectorAll("tbody th .name")].flatMap((name) => {
    const text = name.firstChild, range = document.createRange();
    const words = [...text.data.matchAll(/[^\\s-]+/g)].filter((word) => {
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        return range.getClientRects().length > 1;
    });
    return words.map((word) => word[0]);
})"""
"""Words of names that are split over two lines."""


@pytest.mark.browser
def test_badges_do_not_break_an_agent_name(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab(width=1280)
    mine.sign_in(site.contest.owner_token)
    for path in ("/leagues/hungry-geese",):
        page = mine.open(path)
        page.evaluate(
            """() => document.querySelectorAll("tbody th .name").forEach((name) => {
                name.textContent = "Searcher";
                const badges = '<abbr class="chip">remote</abbr> <abbr class="chip">paused</abbr>';
                name.insertAdjacentHTML("afterend", " " + badges);
            })"""
        )
        assert page.locator("tbody th .name").count() > 0
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            keep(page, f"names{path.replace('/', '-')}-{width}")
            assert page.evaluate(BROKEN) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
