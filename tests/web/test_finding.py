"""The pages that find matches, teams and names, and compare two agents."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.web.conftest import Site


def titles(page: httpx.Response) -> list[str]:
    return re.findall(r'<a class="name" href="/matches/[^"]+">([^<]+)</a>', page.text)


def test_filters_of_the_address_choose_the_matches(site: Site) -> None:
    played = titles(site.get("/matches?season=hungry-geese&kind=rated"))
    winner = next(one.split(" beats ")[0] for one in played if re.match(r"[\w ]+ beats ", one))
    every = titles(site.get(f"/matches?agent={winner}&kind=rated"))
    won = titles(site.get(f"/matches?agent={winner}&outcome=won&kind=rated"))
    lost = titles(site.get(f"/matches?agent={winner}&outcome=lost&kind=rated"))
    assert won
    assert all(title.startswith(f"{winner} beats ") for title in won)
    assert set(won) | set(lost) <= set(every)
    assert not set(won) & set(lost)
    against = titles(site.get("/matches?agent=gosling&opponent=lattice&kind=rated"))
    assert against
    assert all("Gosling" in title and "Lattice" in title for title in against)


def test_a_stranger_finds_no_scrim_and_no_validation(site: Site) -> None:
    mine = site.get("/matches?agent=gosling&kind=scrim", site.contest.owner_token)
    assert titles(mine)
    for kind in ("scrim", "validation"):
        page = site.get(f"/matches?agent=gosling&kind={kind}")
        assert page.status_code == 200
        assert titles(page) == []


def test_older_matches_keep_the_filters(site: Site) -> None:
    page = site.get("/matches?season=hungry-geese&kind=validation", site.contest.host_token)
    assert len(titles(page)) < 30
    first = site.get("/matches?season=hungry-geese", site.contest.host_token)
    (older,) = re.findall(r'rel="next" href="([^"]+)"', first.text)
    assert "season=hungry-geese" in older
    second = site.get(older.replace("&amp;", "&"), site.contest.host_token)
    pages = (first.text, second.text)
    links = [re.findall(r'class="name" href="(/matches/[^"]+)"', page) for page in pages]
    assert links[1]
    assert not set(links[0]) & set(links[1])


@pytest.mark.parametrize(
    ("query", "field", "word"),
    [
        ("agent=nobody", "agent", "Check the name"),
        ("agent=gosling&opponent=nobody", "opponent", "Check the name"),
        ("season=club", "season", "Check the name"),
        ("outcome=won", "outcome", "Name an agent too"),
        ("since=soon", "since", "Give a date"),
        ("agent=gosling&seat=x", "seat", "whole number"),
        ("agent=gosling&outcome=great", "outcome", "won"),
    ],
)
def test_a_wrong_filter_is_named_beside_its_field(
    site: Site, query: str, field: str, word: str
) -> None:
    page = site.get(f"/matches?{query}")
    assert page.status_code == 422
    assert word in page.text.split(f'id="{field}-wrong">', 1)[1].split("</p>", 1)[0]


def test_search_finds_agents_teams_and_leagues_that_the_visitor_may_see(site: Site) -> None:
    page = site.get("/search?q=gos").text
    assert "Gosling" in page
    assert "Odo and Friends" in site.get("/search?q=odo").text
    assert "/leagues/hungry-geese" in site.get("/search?q=HUNGRY").text
    assert "Ornithologists" not in site.get("/search?q=ornith").text
    assert "Ornithologists" in site.get("/search?q=ornith", site.contest.host_token).text
    assert "Nothing found" in site.get("/search?q=%25%25").text
    assert site.get("/search?q=x").status_code == 422


def test_two_agents_are_compared(site: Site) -> None:
    page = site.get("/compare?agent=gosling&opponent=lattice").text
    assert "<h1>Gosling against Lattice</h1>" in page
    assert "By starting seat of Gosling" in page
    assert "Seat 0" not in page  # people count from 1
    assert site.get("/compare?agent=gosling&opponent=nobody").status_code == 422
    similar = site.get("/compare?agent=gosling&opponent=latt")
    assert similar.status_code == 422
    assert ">Lattice of " in similar.text
    assert "Did you mean one of these?" in similar.text
    empty = site.get("/compare").text
    assert "Name two agents" in empty
    assert ">Gosling</option>" in empty
    found = re.search(r"/agents/(age_\w+)", site.get("/search?q=gosling").text)
    assert found is not None
    page = site.get(f"/compare?agent={found[1]}").text
    assert "Name the opponent of Gosling" in page
    assert re.search(r'name="agent"[^>]* value="[^"]+/gosling"', page)
    lost = site.get(f"/matches?agent={found[1]}&outcome=lost").text
    assert "Matches that Gosling lost" in lost
    assert "?results=shown" in lost


def test_commands_of_scrims_name_the_league(site: Site) -> None:
    token, agent = site.contest.owner_token, site.contest.own[0].agent_id
    page = site.get(f"/agents/{agent}", token).text
    assert "./peck scrim gosling OPPONENT --league hungry-geese</pre>" in page
    mine = site.get("/me", site.contest.stranger_token).text
    assert "./peck scrim MY_AGENT OPPONENT --league LEAGUE" in mine
    opponents = [entry.agent_id for entry in site.contest.active]
    pages = [site.get(f"/compare?agent=brittle&opponent={one}", token).text for one in opponents]
    page = next(one for one in pages if "They have not met yet" in one)
    assert re.search(r"\./peck scrim brittle age_\w+ --league hungry-geese<", page)


def test_an_agent_is_not_compared_with_itself(site: Site) -> None:
    page = site.get("/compare?agent=gosling&opponent=gosling", site.contest.owner_token)
    assert page.status_code == 422
    assert "Choose two different agents" in page.text
    assert "They have not met yet" not in page.text
    answer = httpx.get(f"{site.address}/v1/head-to-head?agent=gosling&opponent=gosling")
    assert answer.status_code == 422


def test_the_version_filter_takes_an_agents_own_versions(site: Site) -> None:
    second = site.contest.own[1]
    assert second.submission_number > second.version == 2
    of_second = f"agent={second.agent_id}&kind=validation&version=2"
    found = titles(site.get(f"/matches?{of_second}", site.contest.owner_token))
    assert found == ["Validation of Gosling, passed"]
    assert titles(site.get(f"/matches?agent={second.agent_id}&version=99")) == []
    owner = {"Authorization": f"Bearer {site.contest.owner_token}"}
    answer = httpx.get(f"{site.address}/v1/matches?{of_second}", headers=owner)
    assert [one["id"] for one in answer.json()["items"]] == [second.validation_match_id]
    of_entry = f"/v1/matches?entry={second.id}&version=2"
    answer = httpx.get(site.address + of_entry, headers=owner)
    assert second.validation_match_id in [one["id"] for one in answer.json()["items"]]
    answer = httpx.get(f"{site.address}/v1/matches?version=2")
    assert answer.status_code == 422
    assert "name an agent" in answer.text


def test_two_agents_are_compared_by_their_own_versions(site: Site) -> None:
    names = "agent=gosling&opponent=lattice"
    assert "By submission" not in site.get(f"/compare?{names}").text
    rows = httpx.get(f"{site.address}/v1/head-to-head?{names}").json()["by_version"]
    own = {one.version: one.submission_number for one in site.contest.own[:2]}
    assert {row["version"]: row["submission_number"] for row in rows}.items() <= own.items()
    assert {row["opponent_version"] for row in rows} == {1}


def test_the_outcome_filter_finds_no_validation(site: Site) -> None:
    path = "/matches?agent=gosling&outcome=lost"
    assert titles(site.get(path, site.contest.owner_token))
    assert "Validation of" not in site.get(path, site.contest.owner_token).text


def test_a_list_of_an_agents_matches_says_how_each_ended_for_it(site: Site) -> None:
    crasher = site.contest.own[-1]  # it raised in a rated match
    path = f"/matches?agent={crasher.agent_id}&outcome=lost&kind=rated"
    mine, others = site.get(path, site.contest.owner_token).text, site.get(path).text
    row = mine.split(f'href="/matches/{site.contest.failed_match}', 1)[1].split("</li>", 1)[0]
    assert re.search(r"<strong>4th of 4: error (while loading|at step \d+)</strong>", row)
    assert "<strong>4th of 4: error</strong>" in others  # the step is for its team
    page = site.get(f"/agents/{crasher.agent_id}", site.contest.owner_token).text
    assert re.search(r"<strong>4th of 4: error (while loading|at step \d+)</strong>", page)


def test_teams_are_listed_with_their_agents(site: Site) -> None:
    page = site.get("/teams").text
    assert "Odo and Friends" in page
    assert "Passers-by" not in page  # it has no agent


def test_browsers_and_search_engines_find_their_files(site: Site) -> None:
    assert site.get("/favicon.ico").content[:4] == b"\0\0\1\0"
    assert "Disallow: /logs/" in site.get("/robots.txt").text


def test_an_error_page_knows_who_is_signed_in(site: Site) -> None:
    mine = site.get("/nothing", site.contest.owner_token)
    assert mine.status_code == 404
    assert "Odo Owner" in mine.text
    stranger = site.get("/nothing").text
    assert "Sign in" in stranger
    assert "My page" not in stranger
