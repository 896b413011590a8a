"""How a host edits a league and opens a season on its pages."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import pytest

from ladder.enums import LeagueRole
from tests.integration.api.browsing import FIELD, Browser, browse
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import World

SEASON = {
    "seats": 3,
    "configuration": {"rows": 9},
    "clock": {"act_seconds": 0.5},
    "daily_limit": 7,
    "team_active_limit": None,
    "max_bundle_bytes": 30 << 20,
    "medals": {"kind": "counts", "gold": 1, "silver": 1, "bronze": 2},
    "closes_at": "2999-12-01T18:00Z",
}


@pytest.fixture
def league(world: World, request: pytest.FixtureRequest) -> str:
    """A league of the member with its first season, named after the test."""
    name = str(request.node.name).removeprefix("test_").translate(str.maketrans("_[]", "---"))
    slug = name[-40:].strip("-")
    world.client("member").post(
        "/v1/leagues",
        {"slug": slug, "title": "Geese", "game": "hungry_geese", "season": SEASON, "fill": False},
    )
    return slug


def wrong(page: str, field: str) -> str:
    """The error beside a field."""
    assert f'id="{field}-wrong">' in page, page.split("<main", 1)[-1]
    return unescape(page.split(f'id="{field}-wrong">', 1)[1].split("</p>", 1)[0])


def values(browser: Browser, path: str) -> dict[str, str]:
    """The values of a form's fields, as a browser without script would send them."""
    script = browser.get(path).text
    found = {}
    for part in script.split("<input ")[1:]:
        tag = part.split(">", 1)[0]
        name = tag.split('name="', 1)[1].split('"', 1)[0] if 'name="' in tag else ""
        value = tag.split('value="', 1)[1].split('"', 1)[0] if 'value="' in tag else ""
        if name.startswith("season.") and ('type="radio"' not in tag or " checked" in tag):
            found[name] = value if 'type="checkbox"' not in tag or " checked" in tag else ""
    for part in script.split("<select ")[1:]:
        name = part.split('name="', 1)[1].split('"', 1)[0]
        for option in part.split("</select>", 1)[0].split("<option ")[1:]:
            if " selected" in option.split(">", 1)[0]:
                found[name] = option.split('value="', 1)[1].split('"', 1)[0]
    return found


def test_host_edits_a_league_on_its_page(world: World, league: str) -> None:
    path, member = f"/leagues/{league}/edit", world.client("member")
    with browse(world, "member") as browser:
        form = browser.get(path).text
        assert 'value="Geese"' in form
        sent = {"title": "Swans", "description": "Every\r\nday", "visibility": "invitation"}
        done = browser.submit(path, replay_visibility="members", same_team_lineups="true", **sent)
        assert (done.url.path, done.url.query) == (f"/leagues/{league}", b"done=edited")
        assert "Your changes are saved." in done.text
        changed = member.get(f"/v1/leagues/{league}")
        names = ("title", "description", "visibility", "replay_visibility", "same_team_lineups")
        assert [changed[name] for name in names] == [
            *("Swans", "Every\nday", "invitation", "members", True)
        ]
        refused = browser.submit(path, **{**sent, "title": ""}, replay_visibility="members")
        assert refused.status_code == 422
        assert "Fill in" in wrong(refused.text, "title") or "give a" in wrong(refused.text, "title")
        assert member.get(f"/v1/leagues/{league}")["title"] == "Swans"
        log = browser.get(f"/leagues/{league}/moderation").text
    assert "visibility: public becomes invitation" in log


def test_a_wider_setting_is_refused_beside_its_field(world: World, league: str) -> None:
    member = world.client("member")
    member.patch(f"/v1/leagues/{league}", {"visibility": "private", "replay_visibility": "own"})
    member.put(f"/v1/leagues/{league}/members/{world.users['rival']}", {"role": "competitor"})
    path = f"/leagues/{league}/edit"
    narrow = {"title": "Geese", "visibility": "private", "replay_visibility": "own"}
    with browse(world, "member") as browser:
        for field, value in (("visibility", "public"), ("replay_visibility", "members")):
            answer = browser.submit(path, **{**narrow, field: value})
            assert answer.status_code == 422
            assert "1 member has not agreed to this setting." in wrong(answer.text, field)


def test_a_co_host_edits_all_but_who_sees_the_league(world: World, league: str) -> None:
    member, path = world.client("member"), f"/leagues/{league}/edit"
    member.put(
        f"/v1/leagues/{league}/members/{world.users['rival']}", {"role": LeagueRole.CO_HOST.value}
    )
    with browse(world, "rival") as browser:
        form = browser.get(path).text
        assert 'name="title"' in form
        assert 'name="visibility"' not in form
        assert 'name="replay_visibility"' not in form
        assert "A host changes who joins" in browser.get(f"/leagues/{league}").text
        browser.submit(path, title="Ducks", visibility="private")
    changed = member.get(f"/v1/leagues/{league}")
    assert (changed["title"], changed["visibility"]) == ("Ducks", "public")


def open_form(browser: Browser, path: str) -> dict[str, str]:
    """The fields of the form that edits a league, as the page shows them now."""
    page = browser.get(path).text
    hidden = {name: unescape(value) for name, value in FIELD.findall(page)}
    shown = json.loads(hidden["shown"])
    return {**hidden, **{name: value.replace("\n", "\r\n") for name, value in shown.items()}}


def test_form_of_a_league_that_changed_meanwhile_changes_nothing(world: World, league: str) -> None:
    member, path = world.client("member"), f"/leagues/{league}/edit"
    member.patch(f"/v1/leagues/{league}", {"title": "Gese", "description": "One\ntwo\n"})
    with browse(world, "member") as browser:
        form = open_form(browser, path)
        member.patch(f"/v1/leagues/{league}", {"visibility": "private", "replay_visibility": "own"})
        refused = browser.http.post(path, data={**form, "title": "Geese"})
        assert refused.status_code == 422
        message = wrong(refused.text, "visibility")
        assert "this is 'private' now, and your form said 'public'" in message
        assert member.get(f"/v1/leagues/{league}")["title"] == "Gese"
        again = {name: unescape(value) for name, value in FIELD.findall(refused.text)}
        chosen = {"visibility": "private", "replay_visibility": "own", "title": "Geese"}
        done = browser.http.post(path, data={**form, **again, **chosen})
        assert "Your changes are saved." in done.text
    changed = member.get(f"/v1/leagues/{league}")
    names = ("title", "description", "visibility", "replay_visibility")
    assert [changed[name] for name in names] == ["Geese", "One\ntwo\n", "private", "own"]


def test_refused_form_shows_what_two_hosts_entered(world: World, league: str) -> None:
    member, path = world.client("member"), f"/leagues/{league}/edit"
    with browse(world, "member") as browser:
        form = {**open_form(browser, path), "title": "Swans", "replay_visibility": "members"}
        member.patch(f"/v1/leagues/{league}", {"title": "Ducks", "visibility": "private"})
        refused = browser.http.post(path, data=form)
        assert refused.status_code == 422
        assert "this is 'Ducks' now, and your form said 'Swans'" in wrong(refused.text, "title")
        assert 'value="Swans"' in refused.text
        assert 'value="private" checked' in refused.text
        assert member.get(f"/v1/leagues/{league}")["replay_visibility"] == "public"
        hidden = {name: unescape(value) for name, value in FIELD.findall(refused.text)}
        browser.http.post(path, data={**form, **hidden, "visibility": "private"})
    changed = member.get(f"/v1/leagues/{league}")
    names = ("title", "visibility", "replay_visibility")
    assert [changed[name] for name in names] == ["Swans", "private", "members"]


def test_two_hosts_who_save_at_once_overwrite_nothing(world: World, league: str) -> None:
    path = f"/leagues/{league}/edit"
    with browse(world, "member") as browser, ThreadPoolExecutor(4) as pool:
        form = open_form(browser, path)
        statuses = pool.map(
            lambda title: (
                browser.http.post(
                    path, data={**form, "title": title}, follow_redirects=False
                ).status_code
            ),
            ("Swans", "Ducks", "Terns", "Rails"),
        )
        assert sorted(statuses) == [303, 422, 422, 422]


def test_a_form_without_the_shown_values_changes_nothing(world: World, league: str) -> None:
    path = f"/leagues/{league}/edit"
    with browse(world, "member") as browser:
        answer = browser.send(path, path, title="Swans", visibility="public")
        assert answer.status_code == 422
        assert "Load the page again" in answer.text
    assert world.client("member").get(f"/v1/leagues/{league}")["title"] == "Geese"


def test_a_form_that_a_host_opened_changes_nothing_once_it_is_a_co_host(
    world: World, league: str
) -> None:
    member, path = world.client("member"), f"/leagues/{league}/edit"
    member.put(
        f"/v1/leagues/{league}/members/{world.users['rival']}", {"role": LeagueRole.HOST.value}
    )
    with browse(world, "rival") as browser:
        form = {**open_form(browser, path), "title": "Swans", "visibility": "private"}
        member.put(
            f"/v1/leagues/{league}/members/{world.users['rival']}",
            {"role": LeagueRole.CO_HOST.value},
        )
        answer = browser.http.post(path, data=form)
        assert answer.status_code == 422
        assert "Load the page again" in answer.text
    assert member.get(f"/v1/leagues/{league}")["title"] == "Geese"


@pytest.mark.parametrize("page", ["edit", "new-season", "roster"])
def test_only_hosts_open_the_pages(world: World, league: str, page: str) -> None:
    path = f"/leagues/{league}/{page}"
    with browse(world, "rival") as browser:
        assert browser.get(path).status_code == 403
        assert browser.send("/me/account", path, title="Mine").status_code == 403
    with browse(world, "stranger") as browser:
        assert browser.get(path).status_code == 403
    with browse(world, "rival") as browser:
        assert browser.get(path.replace(league, "private")).status_code == 404


def test_the_form_says_that_a_new_season_opens_a_closed_league(world: World, league: str) -> None:
    world.client("member").patch(f"/v1/leagues/{league}", {"state": "closed"})
    with browse(world, "member") as browser:
        form = browser.get(f"/leagues/{league}/new-season").text
    assert "This league is closed. A new season opens it again." in form


def test_a_new_season_on_the_page_keeps_the_settings(world: World, league: str) -> None:
    member, path = world.client("member"), f"/leagues/{league}/new-season"
    first = member.get(f"/v1/seasons/{league}")
    with browse(world, "member") as browser:
        page = browser.get(f"/leagues/{league}").text
        assert path in page
        form = browser.get(path).text
        assert "Season 1 is not finished" in form
        sent = values(browser, path)
        assert (sent["season.closes_at"], sent["season.max_bundle_bytes"]) == ("", str(30 << 20))
        sent |= {"season.daily_limit": "3", "season.closes_at": "2999-12-24T18:00"}
        done = browser.submit(path, **{**sent, "zone": "Europe/Berlin"})
        assert done.url.query == b"done=season"
        assert "Season 2 is open: teams can upload agents." in done.text
    second = member.get(f"/v1/seasons/{league}")
    kept = ("configuration", "clock", "seats", "medals", "team_active_limit", "max_bundle_bytes")
    assert {name: second[name] for name in kept} == {name: first[name] for name in kept}
    assert (second["number"], second["daily_limit"]) == (2, 3)
    assert (second["closes_at"], second["ends_at"]) == ("2999-12-24T17:00:00Z", None)
    assert next(iter(member.list_items(f"/v1/leagues/{league}/audits")))["act"] == "new-season"


def test_a_new_season_is_filled_and_may_open_later(world: World, league: str) -> None:
    member, path = world.client("member"), f"/leagues/{league}/new-season"
    with browse(world, "member") as browser:
        sent = values(browser, path)
        later = {"season.opens_at": "2999-06-01T12:00", "fill": "true"}
        done = browser.submit(path, **{**sent, **later})
        assert "Season 2 opens at 1 Jun 2999, 12:00 UTC." in done.text
    newest = next(iter(member.get(f"/v1/leagues/{league}/seasons")["items"]))
    with world.connect() as conn:
        count = conn.execute(
            "select count(*) from entries where season_id = %s and is_anchor", (newest["id"],)
        ).fetchone()
    assert count is not None
    assert count[0] >= 2


def test_errors_of_a_new_season_stand_by_their_fields(world: World, league: str) -> None:
    path = f"/leagues/{league}/new-season"
    with browse(world, "member") as browser:
        sent = values(browser, path)
        for field, value, word in (
            ("season.ends_at", "2001-01-01T00:00", "Give a moment after the opening"),
            ("season.seats", "12", "Give 1 to 8 seats"),
            ("season.configuration.rows", "0", ""),
            ("season.clock.act_seconds", "900", "60"),
            ("season.remote_agents", "true", "Leave it out"),
            ("zone", "Mars", "Choose a time zone"),
        ):
            answer = browser.submit(path, **{**sent, field: value})
            assert answer.status_code == 422, field
            if field != "season.remote_agents":  # the form of this game has no such field
                assert word in wrong(answer.text, field.replace(".", "-"))
    assert world.client("member").get(f"/v1/seasons/{league}")["number"] == 1


def test_a_form_of_a_new_season_sent_twice_opens_one_season(world: World, league: str) -> None:
    path = f"/leagues/{league}/new-season"
    with browse(world, "member") as browser:
        sent = {**values(browser, path), "key": "the same"}
        for _ in range(2):
            browser.submit(path, **sent)
    assert world.client("member").get(f"/v1/seasons/{league}")["number"] == 2
