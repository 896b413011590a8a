"""Lists of tournaments: which of them a person sees, and what the lists tell of each."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from ladder.entries import agents
from ladder.enums import Embargo
from ladder.ids import AgentId, SeasonId, TournamentId
from ladder.leagues import seasons
from ladder.leagues.leagues import LEAGUE
from ladder.tournaments import course_acts, entrants, tournaments
from ladder.tournaments.records import NewTournament
from tests.integration.api.browsing import browse
from tests.integration.api.test_tournament_spoilers import play
from tests.integration.api.world import World
from tests.integration.ladder.cup import better_seed_wins

SWISS: dict[str, Any] = {"stages": [{"format": "swiss", "rounds": 3}]}


def make(
    world: World,
    title: str,
    league: str = "public",
    shown: Embargo = Embargo.PUBLIC,
    plan: dict[str, Any] = SWISS,
) -> TournamentId:
    """A tournament of the host's, the member's and a third agent, in its first round."""
    third = "rival" if league == "public" else "insider"
    with world.connect() as conn:
        season, its_league = seasons.get_season_and_league(conn, SeasonId(world.seasons[league]))
        wanted = NewTournament(title=title, plan=plan, embargo=shown)
        made = tournaments.create_tournament(conn, its_league, season, wanted, None).id
        for person in ("member", "host", third):
            agent = agents.get_agent(conn, AgentId(world.agents[f"{league}.{person}"]))
            entrants.enter_agent(conn, made, agent, None)
        entrants.lock_entrants(conn, made, None)
        course_acts.start_tournament(conn, made, None)
    return made


def finish(world: World, cup: TournamentId) -> None:
    with world.connect() as conn:
        play(conn, world, cup, better_seed_wins)


def text_of(page: str) -> str:
    """The page without markup."""
    return " ".join(re.sub(r"<[^>]*>", "", page.partition("<main")[2]).split())


def groups_of(page: str) -> dict[str, list[str]]:
    """The titles by heading."""
    cards = re.findall(r'<h2 id="\w+-title">(\w+)</h2>(.*?)</section>', page, re.DOTALL)
    return {name: re.findall(r'href="/tournaments/\w+">(.*?)</a>', card) for name, card in cards}


def test_pages_name_the_tournaments_that_run_and_their_rounds(world: World) -> None:
    make(world, "Swiss Night")
    with browse(world, "stranger") as browser:
        for path in ("/", "/leagues/public"):
            assert "Running now: Swiss Night, round 1 of 3" in text_of(browser.get(path).text), path
        for path in ("/leagues/public/tournaments", "/tournaments"):
            assert "Round 1 of 3. 3 entrants." in text_of(browser.get(path).text), path


def test_finished_tournaments_stand_after_those_that_run(world: World) -> None:
    running = make(world, "First")
    finish(world, make(world, "Second"))
    assert running
    with browse(world, "stranger") as browser:
        page = browser.get("/tournaments").text
        league = text_of(browser.get("/leagues/public").text)
    assert groups_of(page) == {"Running": ["First"], "Over": ["Second"]}
    assert "Second" not in league


def test_a_stranger_sees_no_tournament_of_a_private_league(world: World) -> None:
    make(world, "Secret", "private")
    shown = {}
    for person in ("stranger", "rival", "insider"):
        with browse(world, person) as browser:
            shown[person] = [
                person for path in ("/", "/tournaments") if "Secret" in browser.get(path).text
            ]
    assert shown == {"stranger": [], "rival": [], "insider": ["insider"] * 2}


def test_a_tournament_with_hidden_results_seems_to_run_after_its_end(world: World) -> None:
    cup = make(world, "Quiet", shown=Embargo.HIDDEN)
    paths = ("/", "/leagues/public", "/leagues/public/tournaments", "/tournaments")

    def seen() -> list[str]:
        with browse(world, "member") as browser:
            texts = [text_of(browser.get(path).text) for path in paths]
        return [text[text.index("Quiet") :][:40] for text in texts]

    before = seen()
    finish(world, cup)
    assert seen() == before
    assert all("results hidden" in text and "ound" not in text for text in before)
    with browse(world, "host") as browser:
        assert groups_of(browser.get("/tournaments").text) == {"Over": ["Quiet"]}
    with world.connect() as conn:
        course_acts.reveal(conn, cup, Embargo.PUBLIC, None)
    with browse(world, "member") as browser:
        assert groups_of(browser.get("/tournaments").text) == {"Over": ["Quiet"]}


def test_tournaments_of_more_leagues_need_no_more_queries_of_leagues(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    execute = psycopg.Cursor.execute

    def noted(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(str(query))
        return execute(self, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", noted)
    counts = []
    with browse(world, "host") as browser:
        for league in ("public", "private"):
            make(world, f"Cup of {league}", league)
            asked.clear()
            page = browser.get("/tournaments").text
            counts.append(sum(query.startswith(LEAGUE) for query in asked))
    assert groups_of(page) == {"Running": ["Cup of private", "Cup of public"]}
    assert counts == [1, 1]
    assert re.findall(r'small muted"><a href="/leagues/(\w+)">', page) == ["private", "public"]


def test_the_list_of_all_tournaments_has_pages(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.tournaments.pages.SHOWN", 1)
    with browse(world, "stranger") as browser:
        assert "There is no tournament yet" in browser.get("/tournaments").text
        make(world, "First")
        make(world, "Second")
        pages = [browser.get(f"/tournaments?page={number}").text for number in (1, 2, 3)]
    titles = [{"Running": ["Second"]}, {"Running": ["First"]}, {}]
    assert [groups_of(page) for page in pages] == titles
    assert [('rel="prev"' in page, 'rel="next"' in page) for page in pages] == [
        (False, True),
        (True, False),
        (True, False),
    ]
    assert "There are no more tournaments" in pages[2]
