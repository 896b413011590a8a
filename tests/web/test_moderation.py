"""A host's moderation page."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page

from ladder.database.db import connect
from ladder.entries import entries
from ladder.people import audit_log
from ladder.ratings.fitting import OfficialFitter
from services.api_client import tls_context
from tests.suspect_favourites import write_favourite
from tests.web.conftest import Site, Tab, press, sign_in
from tests.web.test_accessibility import CONTRAST, NAMES

PATH = "/leagues/hungry-geese/moderation"


def fine(page: Page) -> list[str]:
    found: list[str] = page.evaluate(NAMES) + page.evaluate(CONTRAST)
    wide = page.evaluate("document.documentElement.scrollWidth") > 360
    return [*found, *(["too wide"] if wide else [])]


@pytest.mark.browser
def test_a_host_disqualifies_an_entry_after_a_preview(site: Site, tab: Callable[..., Tab]) -> None:
    contest = site.contest
    brittle = contest.own[2]
    mine = tab(width=360)
    mine.sign_in(contest.host_token)
    page = mine.open(f"/agents/{brittle.agent_id}")
    page.get_by_role("link", name="disqualify or reinstate it").click()
    assert page.get_by_label("Entry, agent or team").input_value() == brittle.agent_id
    assert fine(page) == []
    page.get_by_label("Reason").fill("It colludes.")
    page.get_by_label("Entry, agent or team").fill("no such agent")
    press(page, "Disqualify")
    assert page.get_by_label("Entry, agent or team").get_attribute("aria-invalid") == "true"
    assert "Give an exact name or an id" in page.get_by_role("main").inner_text()
    mine.complaints.clear()  # the browser's own line on the status 422
    page.get_by_label("Entry, agent or team").fill("Brittle")
    press(page, "Disqualify")
    log = page.get_by_role("region", name="Audit log")
    assert "It colludes." in log.get_by_role("listitem").first.inner_text()
    with connect(site.database_url) as conn:
        assert entries.get_entry(conn, brittle.id).disqualified_at is not None
    page.get_by_label("Entry, agent or team").fill(brittle.agent_id)
    page.get_by_label("Reason").fill("It did not.")
    press(page, "Reinstate")
    assert "reinstate" in log.get_by_role("listitem").first.inner_text()
    with connect(site.database_url) as conn:
        assert entries.get_entry(conn, brittle.id).state == "active"

    press(page, "Preview the effect")
    assert "Give at least one condition on matches" in page.get_by_role("alert").inner_text()
    mine.complaints.clear()
    page.get_by_label("Agent", exact=True).fill("brittle")
    page.get_by_label("A seat's verdict").select_option("ERROR")
    press(page, "Preview the effect")
    assert page.get_by_role("link", name="No. ").count() >= 1
    told = page.get_by_role("heading", level=1).inner_text()
    assert "would be judged again" in told
    assert fine(page) == []
    with connect(site.database_url) as conn:
        assert next(iter(audit_log.list_audits(conn, contest.league.id))).act == "reinstate"
    page.get_by_label("Reason").fill("The node was broken.")
    press(page, "again")
    newest = log.get_by_role("listitem").first.inner_text()
    assert f"0 of {told.split(' would')[0]} judged again" in newest
    assert fine(page) == []


def test_the_moderation_page_is_only_for_hosts(site: Site) -> None:
    contest = site.contest
    for token, public, private in (
        (None, 403, 404),
        (contest.stranger_token, 403, 404),
        (contest.owner_token, 403, 404),
        (contest.host_token, 200, 200),
    ):
        assert site.get(PATH, token).status_code == public
        assert site.get("/leagues/club/moderation", token).status_code == private
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        sign_in(client, contest.host_token)
        proof = client.get(PATH).text.split('name="form_token" value="', 1)[1].split('"', 1)[0]
        data = {"subject": contest.own[2].id, "reason": "x"}
        for act in ("disqualify", "reinstate", "preview-rejudgement", "rejudge"):
            address = f"/seasons/{contest.season.id}/{act}"
            assert client.post(address, data={**data, "form_token": "x"}).status_code == 403
            for season in ("sea_00000000000000000000000000", "sea_%00"):
                answer = client.post(f"/seasons/{season}/{act}", data={**data, "form_token": proof})
                assert answer.status_code in (404, 422)


def test_a_single_seat_league_promises_no_official_standing(site: Site) -> None:
    contest = site.contest
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        sign_in(client, contest.host_token)
        path = "/leagues/snake/moderation"
        page = client.get(path).text
        proof = page.split('name="form_token" value="', 1)[1].split('"', 1)[0]
        address = page.split('action="/seasons/', 1)[1].split("/", 1)[0]
        shown = client.post(
            f"/seasons/{address}/preview-rejudgement", data={"form_token": proof, "verdict": "DONE"}
        )
        assert shown.status_code == 200
        assert "compared with the leaderboard" in shown.text
        assert "No official standing yet" not in shown.text
        anchors = client.get("/new-league", params={"game": "snake"}).text
        assert "pin the scale" not in anchors
        assert "have no rank." in anchors


@pytest.mark.browser
def test_a_host_sees_who_loses_to_a_favourite(site: Site, tab: Callable[..., Tab]) -> None:
    contest = site.contest
    with connect(site.database_url) as conn:
        OfficialFitter().refit(conn, contest.season.id)
        write_favourite(conn, contest.season.id)
    mine = tab(width=360)
    mine.sign_in(contest.host_token)
    page = mine.open("/leagues/hungry-geese/suspects")
    table = page.get_by_role("region", name="Losses to")
    cells = [text.split() for text in table.get_by_role("cell").all_inner_texts()[-3:]]
    assert cells == [["3"], ["3", "usual", "0.6"], ["2", "usual", "0.1"]]
    assert fine(page) == []


def test_a_host_lets_teams_share_a_place_on_the_page_of_suspects(site: Site) -> None:
    contest = site.contest
    path = "/leagues/hungry-geese/suspects"
    assert site.get(path, contest.stranger_token).status_code == 403
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        sign_in(client, contest.host_token)
        page = client.get(path).text
        assert "No group of entries is suspiciously equal" in page
        proof = page.split('name="form_token" value="', 1)[-1].split('"', 1)[0]
        proof = client.get(PATH).text.split('name="form_token" value="', 1)[1].split('"', 1)[0]
        with connect(site.database_url) as conn:
            found = conn.execute(
                "select distinct team_id from entries where season_id = %s and not is_anchor"
                " and state = 'active' order by team_id limit 2",
                (contest.season.id,),
            ).fetchall()
        given = {"form_token": proof, "reason": "<b>copies</b>"}
        share, separate = (
            f"/seasons/{contest.season.id}/{act}" for act in ("share-place", "separate")
        )
        alone = client.post(share, data={**given, "teams": found[0][0]})
        assert alone.status_code == 422
        both = {**given, "teams": [team for (team,) in found]}
        assert client.post(share, data=both).status_code == 303
        shown = client.get(path).text
        assert "share one place" in shown
        assert "&lt;b&gt;copies&lt;/b&gt;" in shown
        place = shown.split('name="place" value="', 1)[1].split('"', 1)[0]
        undone = client.post(separate, data={**given, "place": place})
        assert undone.status_code == 303
        assert "No teams share a place" in client.get(path).text
        again = client.post(separate, data={**given, "place": place, "reason": "again"})
        assert "their own places already" in again.text


def test_the_page_of_certainty_says_when_nothing_is_known(site: Site) -> None:
    assert "appears after the first rated" in site.get("/leagues/golad/certainty").text
    assert "Certainty of the order" in site.get("/leagues/hungry-geese/certainty").text
    assert site.get("/leagues/club/certainty").status_code == 404
    snake = site.get("/leagues/snake/certainty").text
    assert "one seat, so there is no official fit" in snake
