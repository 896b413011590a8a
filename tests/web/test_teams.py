"""Teams on the pages: making one, inviting by link and by name, joining, handing over, ending."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from ladder.database import db
from ladder.people import team_invitations, teams, tokens, users
from ladder.people.records import Viewer
from ladder.people.team_invitations import NewTeamInvitation
from services.api_client import Client, tls_context
from tests.web.conftest import Site, Tab, press, sign_in


def new_person(site: Site, name: str) -> str:
    """A token of a new person without a team."""
    with db.connect(site.database_url) as conn:
        user = users.create_user(conn, name)
        return tokens.mint_token(conn, user.id, "tests", ["read", "agents:write"])[1]


@pytest.mark.browser
def test_two_people_form_a_team_by_a_link(site: Site, tab: Callable[..., Tab]) -> None:
    tokens_of = {name: new_person(site, name) for name in ("Ann Owner", "Ben Joiner")}
    ann, ben = tab(), tab(width=390)
    ann.sign_in(tokens_of["Ann Owner"])
    ben.sign_in(tokens_of["Ben Joiner"])
    page = ann.open("/teams/new")
    page.get_by_label("Name").fill("Quick Quails <b>")
    press(page, "Make the team")
    assert page.get_by_role("heading", level=1).inner_text() == "Quick Quails <b>"
    address = page.url
    page.get_by_text("Invite people", exact=True).click()
    press(page, "Invite")
    link = page.locator(".copy pre").inner_text()
    assert page.get_by_role("img", name="QR code of the link").locator("svg").count() == 1

    joining = ben.open(link.removeprefix(site.address))
    assert "Join Quick Quails <b>" in joining.get_by_role("main").inner_text()
    press(joining, "Join the team")
    assert "Ben Joiner (you)" in joining.get_by_role("main").inner_text()
    assert joining.evaluate("document.documentElement.scrollWidth") <= 390
    page = ann.open(address.removeprefix(site.address))
    page.get_by_text("Hand over, or remove a member").click()
    press(page, "Make the owner")
    page.get_by_text("Leave", exact=True).click()
    press(page, "Leave the team")
    assert page.url == f"{site.address}/me#teams"
    joining = ben.open(address.removeprefix(site.address))
    joining.get_by_text("Dissolve", exact=True).click()
    joining.get_by_label("Type the name of the team").fill("Quick Quails <b>")
    press(joining, "Dissolve the team")
    assert "You are in no team yet" in joining.get_by_role("main").inner_text()


def test_my_page_says_that_older_invitations_wait(site: Site) -> None:
    token = new_person(site, "Ina Wanted")
    more = "You have more invitations than these 20."
    with db.connect(site.database_url, autocommit=True) as conn:
        for number in range(21):
            maker = users.create_user(conn, f"Maker {number}")
            team = teams.make_team(conn, f"Wanting {number}", maker.id)
            who = Viewer(maker.id, team_ids=frozenset({team.id}))
            if number == 20:
                assert more not in site.get("/me", token).text
            team_invitations.invite(conn, team.id, who, NewTeamInvitation(person="Ina Wanted"))
    page = site.get("/me", token).text
    assert more in page
    assert page.count(">Join</button>") == 20
    with Client(site.address, token) as api:
        pages = list(api.list_items("/v1/users/me/team-invitations", limit=8))
        assert pages == api.get("/v1/users/me/team-invitations")["items"]
    assert [row["team_name"] for row in pages] == [f"Wanting {n}" for n in range(20, -1, -1)]


def test_an_invited_person_answers_on_their_own_page(site: Site) -> None:
    token = new_person(site, "Cleo Asked")
    with browser_of(site, site.contest.owner_token) as odo, browser_of(site, token) as cleo:
        sent = {"person": "cleo asked", "max_uses": "1", "days": "7"}
        told = "Cleo Asked got a notice and can join on their own page. Only Cleo Asked can use"
        made = post(odo, "/teams/odo", "/teams/odo/invite", sent)
        assert (made.status_code, told in made.text) == (200, True)
        assert "let people scan it" not in made.text
        again = post(odo, "/teams/odo", "/teams/odo/invite", sent)
        assert (again.status_code, "has an open invitation" in again.text) == (422, True)
        path = re.search(r"/team-invitations/tin_\w+/accept", cleo.get("/me").text)
        assert path is not None
        assert post(odo, "/teams/odo", path.group(), {}).status_code == 422  # it is not Odo's
        joined = post(cleo, "/me", path.group(), {})
        assert "Cleo Asked" in joined.text
        assert "Odo and Friends</a>" in cleo.get("/me").text
        left = post(cleo, "/teams/odo", "/teams/odo/leave", {})
        assert "Odo and Friends</a>" not in left.text


def test_the_history_of_a_team_says_who_made_a_link(site: Site) -> None:
    with browser_of(site, new_person(site, "Lin Linker")) as lin:
        team = post(lin, "/teams/new", "/teams/new", {"name": "Linkers"}).url.path
        page = post(lin, team, f"{team}/invite", {"max_uses": "1", "days": "7"}).text
    assert "<strong>Lin Linker</strong> made a link" in page


def test_a_refused_form_says_what_to_correct(site: Site) -> None:
    with browser_of(site, site.contest.owner_token) as odo:
        for path, values, message in (
            ("/teams/new", {"name": "Odo and fríends"}, "similar name"),
            ("/teams/new", {"name": "a\u202eb"}, "Use only visible characters"),
            ("/teams/odo/rename", {"name": "Admin"}, "is reserved"),
            ("/teams/odo/invite", {"max_uses": "0", "days": "7"}, "from 1 to 100"),
            ("/teams/odo/invite", {"max_uses": "1", "days": "91"}, "from 1 to 90"),
            ("/teams/odo/invite", {"person": "x y z", "max_uses": "1", "days": "1"}, "account"),
            ("/teams/odo/hand-over", {"user": "nobody"}, "a member of the team"),
            ("/teams/odo/leave", {}, "ast member"),
            ("/teams/odo/dissolve", {"name_again": "Odo"}, "Type the present name"),
            ("/teams/odo/merge", {"into": "passers-by"}, "no such team"),
            ("/join-team", {"code": "team_guessed"}, "no such invitation"),
        ):
            answer = post(odo, "/teams/odo", path, values)
            assert (answer.status_code, message in answer.text) == (422, True), (path, values)
        assert post(odo, "/teams/odo", "/teams/odo/explode", {}).status_code == 404
        assert odo.post("/teams/odo/leave").status_code == 403  # without the form's proof


def test_a_team_page_shows_results_and_no_forms_to_strangers(site: Site) -> None:
    page = site.get("/teams/odo").text
    for shown in ("Hungry Geese", "Gosling", "1 member", "Head-to-heads", "Tidewater"):
        assert shown in page
    assert "Odo Owner" not in page
    assert "Odo Owner" in site.get("/teams/odo", site.contest.host_token).text
    assert "Invite people" not in page
    assert "What people did" not in page
    assert site.get("/teams/passers-by").status_code == 404
    assert 'class="avatar' in page
    board = site.get("/leagues/hungry-geese").text
    team_link = re.search(r'href="(/teams/tea_\w+)">Tidewater<', board)
    assert team_link is not None
    assert site.get(team_link.group(1)).status_code == 200


@contextmanager
def browser_of(site: Site, token: str) -> Iterator[httpx.Client]:
    """A signed-in browser without script."""
    with httpx.Client(
        base_url=site.address,
        headers={"Accept": "text/html"},
        follow_redirects=True,
        verify=tls_context(site.address),
    ) as client:
        sign_in(client, token)
        yield client


def post(client: httpx.Client, page: str, path: str, values: dict[str, str]) -> httpx.Response:
    """Sends a form of a page."""
    proof = client.get(page).text.split('name="form_token" value="', 1)[1].split('"', 1)[0]
    return client.post(path, data={**values, "form_token": proof})
