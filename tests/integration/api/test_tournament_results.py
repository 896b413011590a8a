"""Results of a tournament as its answers and pages show them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ladder.enums import Embargo
from ladder.ids import AgentId, MatchId, TournamentId
from ladder.reports import shown_publicly
from ladder.tournaments import advance, course_acts, courses
from services.tournaments import pages
from tests.integration.api.browsing import FIELD, browse
from tests.integration.api.test_tournament_lists import finish, make, text_of
from tests.integration.api.test_tournament_spoilers import make_cup, play
from tests.integration.api.world import World
from tests.integration.ladder.cup import worse_seed_wins
from workers import pictures


@pytest.fixture
def cup(world: World) -> TournamentId:
    """A finished single elimination with hidden results, won by the worst seed: the rival."""
    with world.connect() as conn:
        made = make_cup(conn, world)
        play(conn, world, made, worse_seed_wins)
    return made


def answer(world: World, cup: TournamentId, what: str) -> list[dict[str, Any]]:
    """The list that a stranger gets from the API."""
    found: list[dict[str, Any]] = world.client("stranger").get(f"/v1/tournaments/{cup}/{what}")[
        "items"
    ]
    return found


def own_matches(page: str) -> list[str]:
    """The lines of the card "Your matches" without markup."""
    card = page.partition("Your matches</h2>")[2].partition("</section>")[0]
    lines = re.findall(r'<p class="small">(.*?)</p>', card, re.DOTALL)
    return [re.sub(r"<[^>]*>", "", one) for one in lines]


def test_names_of_a_pairing_stand_in_the_order_of_its_outcome(
    world: World, cup: TournamentId
) -> None:
    with world.connect() as conn:
        course_acts.reveal(conn, cup, Embargo.PUBLIC, None)
        conn.commit()
    names = {one["agent_id"]: one["agent_name"] for one in answer(world, cup, "entrants")}
    pairings = answer(world, cup, "pairings")
    assert all(one["agents"] == one["order"] for one in pairings)
    assert all(one["names"] == [names[agent] for agent in one["order"]] for one in pairings)
    rival, member = (world.agents[f"public.{who}"] for who in ("rival", "member"))
    assert pairings[-1]["agents"] == [rival, member]
    with browse(world, "member") as browser:
        page = browser.get(f"/tournaments/{cup}").text
    assert own_matches(page)[-1] == f"{names[rival]}, {names[member]}"


def test_a_host_can_show_hidden_results_after_the_end(world: World, cup: TournamentId) -> None:
    path = f"/tournaments/{cup}"
    with browse(world, "host") as browser:
        before = browser.get(path).text.partition("Show all results so far to everybody")
        fields = dict(FIELD.findall(before[0].rpartition("<form")[2]))
        browser.send(path, f"{path}/reveal", **fields)
        after = browser.get(path).text
    assert before[1]
    assert "Show all results so far" not in after
    assert all(one["outcome"] for one in answer(world, cup, "pairings"))


def test_a_disqualified_agent_is_told_no_game_to_expect(world: World) -> None:
    with world.connect() as conn:
        made = make_cup(conn, world)
        advance.advance_one(conn, made, lambda _: 0)
        rival = AgentId(world.agents["public.rival"])
        course_acts.disqualify(conn, made, rival, None, "a test")
        conn.commit()
    with browse(world, "rival") as browser:
        page = browser.get(f"/tournaments/{made}").text
        lists = browser.get("/leagues/public/tournaments").text
    assert "disqualified" in page
    assert "Your matches" in page
    assert not own_matches(page)
    assert "Created" in lists


def test_places_over_all_stages_follow_the_end(world: World) -> None:
    plan = {
        "stages": [
            {"format": "swiss", "rounds": 1, "advance": 2},
            {"format": "single_elimination"},
        ]
    }
    with world.connect() as conn:
        made = make_cup(conn, world, plan)
        play(conn, world, made, worse_seed_wins)
    assert {one["place"] for one in answer(world, made, "entrants")} == {None}
    with world.connect() as conn:
        course_acts.reveal(conn, made, Embargo.PUBLIC, None)
        conn.commit()
    places = {one["place"]: one["agent_name"] for one in answer(world, made, "entrants")}
    assert sorted(places) == [1, 2, 3]
    with browse(world, "stranger") as browser:
        page = browser.get(f"/tournaments/{made}").text
    card = page.partition("Final places</h2>")[2].partition("</section>")[0]
    assert [card.index(places[place]) for place in (1, 2, 3)] == sorted(
        card.index(name) for name in places.values()
    )


def test_final_places_have_pages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ROWS", 2)
    swiss = {"format": "swiss", "rounds": 1, "advance": 2}
    plan = {"stages": [swiss, {"format": "single_elimination"}]}
    with world.connect() as conn:
        made = make_cup(conn, world, plan)
        play(conn, world, made, worse_seed_wins)
        course_acts.reveal(conn, made, Embargo.PUBLIC, None)
    names = {one["place"]: one["agent_name"] for one in answer(world, made, "entrants")}
    for query, pager, places in (
        ("", ("1 to 2 of 3", 'final=2#final-title">Next'), (1, 2)),
        ("?final=2", ("3 to 3 of 3", '#final-title">Previous'), (3,)),
    ):
        with browse(world, "stranger") as browser:
            page = browser.get(f"/tournaments/{made}{query}").text
        card = page.partition("Final places</h2>")[2].partition("</section>")[0]
        assert re.findall(r'"num">(\d)\.</span> <a [^>]*>([^<]*)', card) == [
            (str(place), names[place]) for place in places
        ]
        assert all(text in card for text in pager)
        assert "1 to 2 of 3" in page  # the table of the Swiss stage stays on its first page


def shown_games(world: World, cup: TournamentId, shown: Embargo, pairing: str | None) -> list[str]:
    """Shows results of a pairing, or of all. The match ids of all games in their order."""
    with world.connect() as conn:
        conn.execute("update leagues set replay_visibility = 'public'")
        course_acts.reveal(conn, cup, shown, None, pairing)
        games = courses.read_games(conn, cup)
    return [one.match_id for one in sorted(games, key=lambda one: (one.pairing, one.game))]


def next_of(page: str) -> str | None:
    """The match that the page leads to."""
    found = re.search(r'data-next href="/matches/(\w+)"', page)
    return found[1] if found else None


def test_a_game_leads_to_its_tournament_and_round(world: World, cup: TournamentId) -> None:
    games = shown_games(world, cup, Embargo.PUBLIC, None)
    with browse(world, "stranger") as browser:
        page = browser.get(f"/matches/{games[-1]}").text
    crumbs = page.partition('class="crumbs"')[2].partition("</p>")[0]
    assert f'<a href="/tournaments/{cup}">Cup</a>' in crumbs
    assert f'<a href="/tournaments/{cup}?round=1.2#p1-2-1">Final</a>' in crumbs
    assert " · Cup, Final · Pecking Order</title>" in page
    assert 'property="og:description" content="The public league, Cup, Final. Watch' in page


def test_after_a_game_comes_the_next_one_of_its_tournament(world: World, cup: TournamentId) -> None:
    games = shown_games(world, cup, Embargo.PUBLIC, None)
    with browse(world, "stranger") as browser:
        following = [next_of(browser.get(f"/matches/{one}").text) for one in games]
    assert following == [*games[1:], None]


def test_a_game_leads_to_no_game_whose_replay_is_not_for_the_reader(world: World) -> None:
    made = make(world, "Cup", plan={"stages": [{"format": "round_robin"}]})
    finish(world, made)  # the league shows replays to the teams of a match alone
    with world.connect() as conn:
        games = sorted(courses.read_games(conn, made), key=lambda one: (one.pairing, one.game))
    for person in ("member", "rival"):
        own = [one.match_id for one in games if world.teams[person] in one.team_ids]
        with browse(world, person) as browser:
            following = [next_of(browser.get(f"/matches/{one}").text) for one in own]
        assert following == [*own[1:], None]


def test_a_game_leads_to_no_hidden_game_and_names_no_round_that_hangs_on_one(
    world: World, cup: TournamentId
) -> None:
    games = shown_games(world, cup, Embargo.PUBLIC, "1.2.1")
    first = len(games) - 4
    with browse(world, "stranger") as browser:
        assert browser.get(f"/matches/{games[0]}").status_code == 404
        page = browser.get(f"/matches/{games[first]}").text
        assert f'<a href="/tournaments/{cup}">Cup</a>' in page
        assert "#p1-" not in page
        last = next_of(browser.get(f"/matches/{games[-1]}").text)
    assert last is None


@pytest.mark.parametrize(("revealed", "named"), [(None, "Cup, Final"), ("1.2.1", "Cup")])
def test_card_and_embedded_player_name_only_what_a_stranger_may_know(
    world: World, cup: TournamentId, revealed: str | None, named: str
) -> None:
    last = MatchId(shown_games(world, cup, Embargo.PUBLIC, revealed)[-1])
    with world.connect() as conn:
        card = pictures.match_card(conn, shown_publicly.public_match(conn, last))
    assert ", ".join(filter(None, (*card.within, card.above))) == f"The public league, {named}"
    answer = world.http.get("/oembed", params={"url": f"{world.http.base_url}/matches/{last}"})
    assert answer.json()["title"] == f"{card.title} (Hungry Geese) · {named}"
    player = world.http.get(f"/embed/matches/{last}").text
    assert f"<title>{card.title} · {named} · Pecking Order</title>" in player
    assert f'<span class="small muted">· {named}</span></a></h1>' in player


@pytest.mark.parametrize(
    ("plan", "final"),
    [
        ({"format": "single_elimination", "third_place": True}, "1.2.1"),
        ({"format": "double_elimination"}, "1.4.1"),
        ({"format": "swiss", "rounds": 2}, None),
        ({"format": "round_robin"}, None),
    ],
)
def test_the_page_leads_to_the_last_game_of_the_final(
    world: World, plan: dict[str, Any], final: str | None
) -> None:
    made = make(world, "Cup", plan={"stages": [plan]})
    finish(world, made)
    with world.connect() as conn:
        games = [one for one in courses.read_games(conn, made) if one.pairing == final]
    with browse(world, "stranger") as browser:
        page = browser.get(f"/tournaments/{made}").text
    shown = re.findall(r'<a href="/matches/(\w+)">Watch the final', page)
    assert shown == [max(games, key=lambda one: one.game).match_id for _ in games[:1]]


def test_a_finished_double_elimination_opens_on_its_last_played_round(world: World) -> None:
    made = make(world, "Cup", plan={"stages": [{"format": "double_elimination"}]})
    finish(world, made)
    with browse(world, "stranger") as browser:
        page = browser.get(f"/tournaments/{made}").text
    assert re.findall(r'aria-current="true">(.*?)</a>', page) == ["Final"]
    assert ">Game 1</a>" in page.partition('id="round-title"')[2]


def test_no_state_contradicts_hidden_results(world: World, cup: TournamentId) -> None:
    with browse(world, "member") as browser:
        page = text_of(browser.get(f"/tournaments/{cup}").text)
    own = page.partition("Your matches")[2].partition("Results")[0]
    assert "hidden until a host shows it" in own
    assert "ready" not in own
    assert "waiting" not in own
    assert "No result is shown yet." in page
    assert "results hidden" in page
    assert not re.search(r"running|Why this place|Round 1 ", page.partition("Entrants")[0])


def test_the_end_of_a_round_is_told_in_whole_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(world, "Cup")
    monkeypatch.setattr("ladder.tournaments.views._eta_seconds", lambda *_: 7.2)
    with browse(world, "stranger") as browser:
        page = text_of(browser.get(f"/tournaments/{made}").text)
    assert "Round ends in about8 s" in page


def test_a_host_disqualifies_the_champion_on_the_page(world: World, cup: TournamentId) -> None:
    path = f"/tournaments/{cup}"
    with world.connect() as conn:
        course_acts.reveal(conn, cup, Embargo.PUBLIC, None)
        conn.commit()
    rival, member = (world.agents[f"public.{who}"] for who in ("rival", "member"))
    assert answer_of(world, cup)["champion"] == rival
    with browse(world, "host") as browser:
        page = browser.get(path).text
        form = page[page.index(f'action="{path}/disqualify"') :]
        fields = dict(FIELD.findall(form[: form.index("</form>")]))
        browser.send(path, f"{path}/disqualify", **{**fields, "agent": rival, "reason": "a test"})
    assert answer_of(world, cup)["champion"] == member
    places = {one["agent_id"]: one["place"] for one in answer(world, cup, "entrants")}
    assert (places[member], places[rival]) == (1, 3)
    assert answer(world, cup, "standings")[-1]["agent_id"] == rival
    with browse(world, "stranger") as browser:
        text = text_of(browser.get(path).text)
    assert "ChampionFlood public.member" in text


def test_the_answers_say_that_there_is_no_champion(world: World, cup: TournamentId) -> None:
    with world.connect() as conn:
        course_acts.reveal(conn, cup, Embargo.PUBLIC, None)
        for person in ("rival", "member", "host"):
            agent = AgentId(world.agents[f"public.{person}"])
            course_acts.disqualify(conn, cup, agent, None, "a test")
        conn.commit()
    told = "all agents withdrew or were disqualified"
    found = answer_of(world, cup)
    assert (found["state"], found["champion"], found["no_champion"]) == ("finished", None, told)
    with browse(world, "stranger") as browser:
        page = text_of(browser.get(f"/tournaments/{cup}").text)
        lines = text_of(browser.get("/tournaments").text)
    assert "All agents withdrew or were disqualified." in page
    assert f"No champion: {told}." in lines


def answer_of(world: World, cup: TournamentId) -> dict[str, Any]:
    """The tournament as a stranger gets it from the API."""
    return dict(world.client("stranger").get(f"/v1/tournaments/{cup}"))
