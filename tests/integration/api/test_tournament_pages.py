"""The page of a tournament: what it tells visitors, and the forms of its hosts."""

from __future__ import annotations

import re

import pytest

from ladder.entries import agents
from ladder.ids import AgentId, SeasonId, TournamentId
from ladder.leagues import seasons
from ladder.ratings.fitting import OfficialFitter
from ladder.tournaments import course_acts, entrants, tournaments
from ladder.tournaments.records import EntryRule, NewTournament
from tests.integration.api.browsing import browse
from tests.integration.api.test_tournament_lists import SWISS, make
from tests.integration.api.world import World


def test_a_tournament_is_cancelled_only_after_a_host_ticks_the_box(world: World) -> None:
    path = f"/tournaments/{make(world, 'Cup')}"
    with browse(world, "host") as browser:
        refused = browser.submit(path, f"{path}/cancel", reason="rain")
        assert refused.status_code == 422
        assert "Tick the box first: a cancelled tournament cannot go on" in refused.text
        assert "Cancelled: rain." not in browser.get(path).text
        done = browser.submit(path, f"{path}/cancel", reason="rain", sure="true")
    assert "Cancelled: rain." in done.text


def test_a_missing_reason_is_named_in_the_form_that_was_sent(world: World) -> None:
    path = f"/tournaments/{make(world, 'Cup')}"
    with browse(world, "host") as browser:
        refused = browser.submit(path, f"{path}/rejudge", pairing="1.1.1")
    assert 'id="rejudge-reason-wrong"' in refused.text
    assert 'id="disqualify-reason-wrong"' not in refused.text


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        ((None, None, None), "in drawn order: none had a place in the official standing"),
        ((3.0, None, None), "the best by official standing first, then the others in drawn order"),
        ((3.0, 2.0, 1.0), "the best by official standing first</span>"),
    ],
)
def test_the_page_says_what_ordered_the_entrants(
    world: World, scores: tuple[float | None, ...], order: str
) -> None:
    cup = make(world, "Cup")
    with world.connect() as conn:
        for number, score in enumerate(scores, 1):
            conn.execute(
                "update tournament_entrants set score = %s where tournament_id = %s"
                " and number = %s",
                (score, cup, number),
            )
    with browse(world, "stranger") as browser:
        assert order in browser.get(f"/tournaments/{cup}").text


def test_the_form_warns_that_chance_orders_entrants_without_a_standing(world: World) -> None:
    with browse(world, "host") as browser:
        form = browser.get("/leagues/public/new-tournament").text
        with world.connect() as conn:
            OfficialFitter().refit(conn, SeasonId(world.seasons["public"]))
        later = browser.get("/leagues/public/new-tournament").text
    assert "This season has no official standing yet" in form
    assert "This season has no official standing yet" not in later


def make_open(world: World, rule: EntryRule = EntryRule.OPEN) -> TournamentId:
    """A tournament without entrants whose registration is open."""
    with world.connect() as conn:
        season, league = seasons.get_season_and_league(conn, SeasonId(world.seasons["public"]))
        wanted = NewTournament(title="Cup", plan=SWISS, entry_rule=rule)
        return tournaments.create_tournament(conn, league, season, wanted, None).id


def test_a_cancelled_tournament_without_entrants_invites_nobody(world: World) -> None:
    cup = make_open(world)
    with browse(world, "member") as browser:
        before = browser.get(f"/tournaments/{cup}").text
        with world.connect() as conn:
            course_acts.cancel_tournament(conn, cup, None, "rain")
        after = browser.get(f"/tournaments/{cup}").text
    for words in ("Nobody has entered yet", "the order is fixed when registration ends"):
        assert words in before
        assert words not in after
    assert "Nobody entered" in after


def test_a_host_disqualifies_an_agent(world: World) -> None:
    cup = make(world, "Cup")
    path = f"/tournaments/{cup}"
    with world.connect() as conn:
        out, *others = [entrant.agent_id for entrant in entrants.entrants_of(conn, cup)]
    with browse(world, "host") as browser:
        assert "Invite an agent" not in browser.get(path).text
        refused = browser.submit(path, f"{path}/disqualify", agent=out)
        assert refused.status_code == 422
        assert 'id="disqualify-reason-wrong"' in refused.text
        page = browser.submit(path, f"{path}/disqualify", agent=out, reason="a test").text
    assert [f'<option value="{agent}"' in page for agent in (out, *others)] == [False, True, True]
    with world.connect() as conn:
        disqualified = [row.agent_id for row in entrants.entrants_of(conn, cup) if row.reason]
    assert disqualified == [out]


def offered_names(page: str) -> list[str]:
    """Names that the form of an invitation offers."""
    listed = page.partition('<datalist id="offered-agents">')[2].partition("</datalist>")[0]
    return re.findall(r'<option value="([^"]+)">', listed)


def test_a_host_invites_an_agent_by_its_name(world: World) -> None:
    cup = make_open(world, EntryRule.INVITATION)
    path = f"/tournaments/{cup}"
    with world.connect() as conn:
        agent = agents.get_agent(conn, AgentId(world.agents["public.rival"]))
        for one in ("private.host", "public.rival"):
            conn.execute("update agents set name = 'Twin' where id = %s", (world.agents[one],))
    with browse(world, "host") as browser:
        page = browser.get(path).text
        assert "Disqualify an agent" not in page
        offered = f"{agent.team_name}/{agent.slug}"
        assert offered in offered_names(page)
        assert len(offered_names(page)) == 3, "those of the public league"
        refused = browser.submit(path, f"{path}/invite", agent="nobody")
        assert refused.status_code == 422
        assert 'id="agent-wrong"' in refused.text
        done = browser.submit(path, f"{path}/invite", agent="Twin")
        assert "Disqualify an agent" in done.text
        assert offered not in offered_names(done.text)
        assert len(offered_names(done.text)) == 2
        again = browser.submit(path, f"{path}/invite", agent=f"{agent.team_name}/twin")
    assert 'id="agent-wrong">This agent is already invited' in again.text
    with world.connect() as conn:
        assert [one.agent_id for one in entrants.entrants_of(conn, cup)] == [agent.id]


@pytest.mark.parametrize(
    ("person", "act", "told"),
    [
        ("member", "enter", "This tournament is by invitation; ask a host for one"),
        ("host", "entrant-acts", "This agent is not entered"),
        ("host", "enter", "Submit this agent to the season first"),
    ],
)
def test_an_error_of_a_button_stands_above_the_page(
    world: World, person: str, act: str, told: str
) -> None:
    path = f"/tournaments/{make_open(world, EntryRule.INVITATION)}"
    league = "private" if told.startswith("Submit") else "public"
    with browse(world, person) as browser:
        agent = world.agents[f"{league}.{person}"]
        refused = browser.send(path, f"{path}/{act}", agent=agent, act="withdraw")
    assert refused.status_code == 422
    assert f"<p>{told}" in refused.text
    for faulty in ('href="#', f'value="{agent}" maxlength', '<details class="small" open>'):
        assert faulty not in refused.text.partition("<main")[2]


def test_an_invitation_after_the_lock_is_refused_above_the_page(world: World) -> None:
    cup = make_open(world, EntryRule.INVITATION)
    path = f"/tournaments/{cup}"
    with world.connect() as conn:
        course_acts.cancel_tournament(conn, cup, None, "rain")
    with browse(world, "host") as browser:
        refused = browser.send(path, f"{path}/invite", agent=world.agents["public.rival"])
    assert "The entrants are fixed" in refused.text
