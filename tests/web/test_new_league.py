"""The form that makes a league, in a browser and over plain HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from games import GAMES
from ladder.database.db import connect
from ladder.leagues.hosting import supports_remote
from ladder.matches import workers
from ladder.people import tokens, users
from services.api_client import tls_context
from tests.integration.ladder.contest import hello
from tests.web.conftest import Site, Tab, press, sign_in
from tests.web.test_accessibility import CONTRAST, NAMES

FORM = "/new-league"


def fields(site: Site, client: httpx.Client, **changed: str) -> dict[str, Any]:
    """The data of the loaded form, with some fields changed."""
    page = client.get(FORM).text
    sent = {
        name: page.split(f'name="{name}" value="', 1)[1].split('"', 1)[0]
        for name in ("form_token", "key", "game")
    }
    return {**sent, "visibility": "private", "replay_visibility": "own", "zone": "UTC",
            "season.seats": "4", "season.medals.kind": "table", **changed}  # fmt: skip


@pytest.mark.browser
def test_a_host_makes_a_league_by_keyboard_on_a_phone_without_script(
    site: Site, tab: Callable[..., Tab]
) -> None:
    mine = tab(width=360, script=False)
    mine.sign_in(site.contest.host_token)
    page = mine.open(FORM)
    page.get_by_label("Title").fill("Night geese")
    page.get_by_label("People whom you add").check()
    page.locator("details.fold > summary").press("Enter")
    page.get_by_label("Short name for addresses").fill("club")
    page.get_by_label("Time zone").select_option("Europe/Berlin")
    page.get_by_label("Opens").fill("2999-06-02T18:00")
    page.get_by_label("Uploads lock").fill("2999-06-01T18:00")
    page.get_by_label("Active submissions of an agent").fill("2")
    page.get_by_label("By official score").check()
    page.get_by_label("Gold").fill("1000")
    page.get_by_label("Silver").fill("1100")
    page.get_by_label("Bronze").fill("1000")
    page.get_by_label("greedy", exact=True).check()
    press(page, "Create the league")

    def wrong(label: str) -> str:
        field = page.get_by_label(label)
        assert field.get_attribute("aria-invalid") == "true"
        places = (field.get_attribute("aria-describedby") or "").split()
        return page.locator(f"#{places[-1]}").inner_text()

    assert "already exists; choose another" in wrong("Short name for addresses")
    assert page.get_by_role("alert").get_by_role("link").all_inner_texts() == ["short name"]
    mine.complaints.clear()  # the browser's own line on the status 422
    page.get_by_label("Short name for addresses").fill("night-geese")
    press(page, "Create the league")
    assert "Give a moment after the opening" in wrong("Uploads lock")
    mine.complaints.clear()
    page.get_by_label("Opens").fill("")
    press(page, "Create the league")
    assert "is above that of gold" in wrong("Silver")
    mine.complaints.clear()
    page.get_by_label("Silver").fill("1000")
    press(page, "Create the league")
    assert page.url.endswith("/leagues/night-geese")
    assert page.get_by_role("heading", name="Hosting this league").count() == 1
    told = page.get_by_role("main").inner_text()
    assert "Add people by name, or import a roster" in told
    assert "This league cannot play yet: only reference agents are in it" in told
    assert "Uploads lock\n1 Jun 2999, 16:00 UTC" in told
    with connect(site.database_url) as conn:
        row = conn.execute(
            "select s.closes_at at time zone 'UTC', s.active_limit, s.medals ->> 'kind',"
            " (select count(*) from entries e where e.season_id = s.id and e.is_anchor)"
            " from seasons s join leagues l on l.id = s.league_id where l.slug = 'night-geese'"
        ).fetchone()
    assert row is not None
    assert (f"{row[0]:%Y-%m-%d %H:%M}", *row[1:]) == ("2999-06-01 16:00", 2, "lines", 4)


def test_a_new_league_page_names_the_empty_seats_and_the_machines(site: Site) -> None:
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        sign_in(client, site.contest.host_token)
        with connect(site.database_url) as conn:
            workers.register_worker(conn, hello("timed", speed_class="1.6x"))
        assert "Speed class 1.6x only" in client.get(FORM).text
        speed = {"season.speed_class": "1.6x"}
        data = fields(site, client, title="Few", slug="few", anchors="greedy", **speed)
        assert client.post(FORM, data=data).status_code == 303
        shown = client.get("/leagues/few").text
        assert "1 of 4 seats can be filled: add an agent or an anchor" in shown
        assert "All matches are played on machines of speed class 1.6x." in shown


@pytest.mark.browser
def test_a_league_needs_three_fields_and_invites_by_a_link(
    site: Site, tab: Callable[..., Tab]
) -> None:
    mine = tab(width=390)
    mine.sign_in(site.contest.host_token)
    page = mine.open(f"{FORM}?game=snake")
    assert page.evaluate("document.documentElement.scrollHeight") < 1600
    for _ in range(2):  # the second league of a title gets another address
        page = mine.open(f"{FORM}?game=snake")
        page.get_by_label("Title").fill("Schlängelnde Äpfel & Co")
        page.get_by_label("People with a link").check()
        press(page, "Create the league")
    assert page.url.endswith("/leagues/schlangelnde-apfel-co-2")
    page.get_by_role("link", name="Invite people").click()
    page.get_by_text("change this").click()
    page.get_by_label("Number of people").fill("0")
    page.locator("form").last.evaluate("(form) => { form.noValidate = true }")
    page.evaluate("document.querySelectorAll('form').forEach((one) => { one.noValidate = true })")
    press(page, "Make a link")
    assert page.get_by_label("Number of people").get_attribute("aria-invalid") == "true"
    mine.complaints.clear()  # the browser's own line on the status 422
    page.get_by_label("Number of people").fill("30")
    press(page, "Make a link")
    link = page.locator(".copy pre").first.inner_text()
    assert link.startswith(f"{site.address}/join?code=join_")
    assert page.locator(".qr svg path").count() >= 1
    assert page.evaluate(NAMES) + page.evaluate(CONTRAST) == []
    other = tab()
    with connect(site.database_url) as conn:
        joiner = users.create_user(conn, "Jo Inviting")
        token = tokens.mint_token(conn, joiner.id, "tests", ["read", "agents:write"])[1]
    other.sign_in(token)
    assert other.page.goto(link)
    press(other.page, "Agree and join")
    assert other.page.url.endswith("/leagues/schlangelnde-apfel-co-2?joined=true")
    assert "You joined." in other.page.get_by_role("main").inner_text()
    page = mine.open("/leagues/schlangelnde-apfel-co-2/invitations")
    assert "used by 1 person of 30" in page.get_by_role("main").inner_text()
    press(page, "Revoke")
    assert "revoked" in page.locator("#codes").inner_text()


def test_only_hosts_see_invitations(site: Site) -> None:
    path = "/leagues/hungry-geese/invitations"
    assert site.get(path).status_code == 403
    assert site.get(path, site.contest.stranger_token).status_code == 403
    assert site.get("/leagues/club/invitations").status_code == 404
    assert site.get(path, site.contest.host_token).headers["cache-control"] == "no-store"


@pytest.mark.browser
def test_the_form_is_accessible_on_a_small_phone(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab(width=360, scheme="dark")
    mine.sign_in(site.contest.host_token)
    page = mine.open(FORM)
    page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true })")
    assert page.evaluate(NAMES) + page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_form_sent_twice_makes_one_league(site: Site) -> None:
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        sign_in(client, site.contest.host_token)
        data = fields(site, client, title="Twice", slug="twice")
        for _ in range(2):
            answer = client.post(FORM, data=data)
            assert (answer.status_code, answer.headers["location"]) == (303, "/leagues/twice")
        answer = client.post(FORM, data={**data, "title": "Another"})
        assert answer.status_code == 422
        assert "already exists; choose another" in answer.text


def test_an_api_refusal_is_shown_beside_the_field(site: Site) -> None:
    rows, zone = "season.configuration.rows", "zone"
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        sign_in(client, site.contest.host_token)
        for name, value, word in (
            ("title", "", "Fill in this field."),
            ("slug", "Two Words", "Use only the characters"),
            ("season.seats", "many", "whole number"),
            ("season.seats", "9", "Give 1 to 8 seats"),
            (rows, "2", "Must be at least"),
            (rows, "[", "Must be a number"),
            (zone, "Mars/Olympus", "Choose a time zone from the list"),
            ("season.ends_at", "soon", "date, time and time zone"),
            ("season.speed_class", "Quick!", "Use only the characters"),
            ("season.medals.kind", "luck", "does not match any of the expected tags"),
            ("season.clock.act_seconds", "nan", "Use a number from 0 to 60"),
            ("anchors", "grim", "no reference agent"),
        ):
            data = fields(site, client, **{"title": "B", "slug": "broken", name: value})
            answer = client.post(FORM, data=data)
            assert answer.status_code == 422, name
            place = name.replace(".", "-")
            assert f'id="{place}-wrong"' in answer.text, name
            assert word in answer.text.split(f'id="{place}-wrong">', 1)[1].split("</p>", 1)[0]
        assert client.get("/leagues/broken").status_code == 404


def test_the_form_names_reference_agents_with_hyphens(site: Site) -> None:
    shown = site.get(f"{FORM}?game=hungry_geese", site.contest.host_token).text
    assert 'value="random-legal"> <span>random-legal</span>' in shown
    assert "random_legal" not in shown


def test_the_form_needs_a_sign_in_and_our_own_form_token(
    site: Site,
) -> None:
    assert site.get(FORM).headers["location"] == "/sign-in?next=/new-league"
    assert "leagues:write" in site.get(FORM, site.contest.owner_token).text
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        sign_in(client, site.contest.host_token)
        data = fields(site, client, title="T", slug="t")
        for broken in ({**data, "form_token": "0" * 64}, {"title": "T"}):
            assert client.post(FORM, data=broken).status_code == 403
        elsewhere = {"Sec-Fetch-Site": "cross-site"}
        assert client.post(FORM, data=data, headers=elsewhere).status_code == 403
        client.cookies.clear()
        sign_in(client, site.contest.owner_token)
        own = client.get("/me").text.split('name="form_token" value="', 1)[1].split('"', 1)[0]
        assert client.post(FORM, data={**data, "form_token": own}).status_code == 403


def test_deeply_nested_input_is_refused(site: Site) -> None:
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        sign_in(client, site.contest.host_token)
        deep = {"season.configuration.rows": "[" * 60_000}
        answer = client.post(FORM, data=fields(site, client, title="Deep", slug="deep", **deep))
        assert answer.status_code == 422


def test_remote_support_is_known_for_games_of_five_or_more_seats() -> None:
    class Crowd(type(GAMES["battlesnake"])):  # type: ignore[misc]
        seats = range(5, 9)

    class Alone(type(GAMES["battlesnake"])):  # type: ignore[misc]
        seats = range(1, 2)

    assert supports_remote(Crowd())
    assert not supports_remote(Alone())
    assert not supports_remote(GAMES["hungry_geese"])
