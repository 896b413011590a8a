"""Results of a tournament as its answers and pages show them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ladder.enums import Embargo
from ladder.ids import AgentId, TournamentId
from ladder.tournaments import advance, embargo, entrants
from ladder.tournaments.formats import Certainty
from tests.integration.api.browsing import FIELD, browse
from tests.integration.api.test_tournament_spoilers import make_cup, play
from tests.integration.api.world import World
from tests.integration.ladder.cup import worse_seed_wins


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
        embargo.reveal(conn, cup, Embargo.PUBLIC, None)
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
    assert "For you as host" not in after
    assert all(one["outcome"] for one in answer(world, cup, "pairings"))


@pytest.mark.parametrize(("needed", "words"), [(1, "1 pair in"), (2, "2 pairs in")])
def test_the_page_counts_the_pairs_of_a_sure_series(
    world: World, cup: TournamentId, needed: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "services.web.tournaments.certainty_of", lambda *_: Certainty(0.9, 0.01, needed, ())
    )
    with browse(world, "host") as browser:
        assert f"90 % needs {words} each series" in browser.get(f"/tournaments/{cup}").text


def test_a_disqualified_agent_is_told_no_game_to_expect(world: World) -> None:
    with world.connect() as conn:
        made = make_cup(conn, world)
        advance.advance_one(conn, made, lambda _: 0)
        rival = AgentId(world.agents["public.rival"])
        entrants.disqualify(conn, made, rival, None, "a test")
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
        embargo.reveal(conn, made, Embargo.PUBLIC, None)
        conn.commit()
    places = {one["place"]: one["agent_name"] for one in answer(world, made, "entrants")}
    assert sorted(places) == [1, 2, 3]
    with browse(world, "stranger") as browser:
        page = browser.get(f"/tournaments/{made}").text
    card = page.partition("Final places</h2>")[2].partition("</section>")[0]
    assert [card.index(places[place]) for place in (1, 2, 3)] == sorted(
        card.index(name) for name in places.values()
    )
