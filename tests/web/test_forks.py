"""The form that forks a match, from the player's button to the table of outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from ladder.database import db
from ladder.matches import history
from ladder.people import tokens
from tests.web.conftest import Site, Tab, press
from tests.web.games_played import play_queued


@pytest.fixture
def scrimmer(site: Site) -> str:
    """A token of the owner that may request scrims."""
    with db.connect(site.database_url) as conn:
        return tokens.mint_token(
            conn, site.contest.owner.id, "forks", ["read", "agents:write", "scrims:write"]
        )[1]


@pytest.fixture
def agents_stay_open(site: Site) -> Iterator[None]:
    """Opens all agents for scrims, and closes them again."""
    with db.connect(site.database_url) as conn:
        opened = conn.execute(
            """
            insert into scrim_policies (agent_id, whom, accepts_automatically)
            select id, 'anyone', true from agents on conflict do nothing returning agent_id
            """
        ).fetchall()
    yield
    with db.connect(site.database_url) as conn:
        conn.execute(
            "delete from scrim_policies where agent_id = any (%s)", ([row[0] for row in opened],)
        )


def test_only_people_with_a_team_are_offered_a_fork(site: Site, scrimmer: str) -> None:
    match = site.contest.failed_match
    page = f"/matches/{match}"
    assert "Fork here" not in site.get(page).text
    assert "Fork here" in site.get(page, scrimmer).text
    assert site.get(f"{page}/fork").status_code == 303
    assert "Fork this match" in site.get(f"{page}/fork?step=9", scrimmer).text
    hidden = history_of_scrim(site)
    assert site.get(f"/matches/{hidden}/fork", site.contest.stranger_token).status_code == 404


def history_of_scrim(site: Site) -> str:
    with db.connect(site.database_url) as conn:
        found = history.list_matches(conn, scrim_id=site.contest.scrim, state="finished", limit=1)
    return found[0].id


@pytest.mark.browser
@pytest.mark.usefixtures("agents_stay_open")
def test_a_fork_is_made_from_the_step_in_view(
    site: Site, scrimmer: str, tab: Callable[..., Tab]
) -> None:
    one = tab()
    one.sign_in(scrimmer)
    page = one.open(f"/matches/{site.contest.failed_match}#step=7")
    page.wait_for_selector("[data-ready]")
    link = page.get_by_role("link", name="Fork here")
    form = f"/matches/{site.contest.failed_match}/fork"
    expect(link).to_have_attribute("href", f"{form}?episode=0&step=7")
    link.click()
    expect(page.get_by_label("Recorded steps before the fork")).to_have_value("7")
    by_hand = page.get_by_label("Moves by hand").nth(1)
    by_hand.fill("SIDEWAYS")
    press(page, "Play on from here")
    expect(page.get_by_role("alert")).to_contain_text("moves")
    expect(page.get_by_text("Number 2: expected one of NORTH")).to_be_visible()
    one.complaints.clear()  # the browser counts a 422 as an error
    page.get_by_label("Moves by hand").nth(1).fill("EAST; NORTH")
    page.get_by_label("Games").fill("2")
    press(page, "Play on from here")
    expect(page.get_by_role("heading", name="Fork at step 7")).to_be_visible()
    expect(page.get_by_text("first by hand: EAST; NORTH")).to_be_visible()
    scrim = page.url.rpartition("/")[2]
    with db.connect(site.database_url) as conn:
        games = history.list_matches(conn, scrim_id=scrim)  # type: ignore[arg-type]
        assert len(games) == 2
        seats = games[0].seats
        players = [
            site.contest.players[seat.entry_id]() for seat in seats if seat.entry_id is not None
        ]
        play_queued(conn, site.blobs, games[0].id, players)
        play_queued(conn, site.blobs, games[1].id, players)
    page.reload()
    expect(page.get_by_role("table")).to_contain_text("of 2")
    link = page.locator(f"a[href='/matches/{games[0].id}#step=7']")
    expect(link).to_be_visible()
    assert site.get(f"/scrims/{scrim}", site.contest.stranger_token).status_code == 404
