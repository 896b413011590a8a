"""Who takes part in a tournament: entry, check-in, lock, the best of a standing, merged teams."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ladder.entries import agents, entries
from ladder.entries.agents import get_agent
from ladder.enums import Embargo
from ladder.errors import Conflict
from ladder.matches import history
from ladder.people.records import Viewer
from ladder.standings import leaderboard
from ladder.tournaments import advance, course_acts, entrants
from ladder.tournaments.records import EntrantState
from ladder.tournaments.views import summarize, summary_of
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.cup import ADMIN, make_cup
from tests.integration.ladder.test_team_merges import merge


@pytest.fixture
def duels(conn: Any) -> Contest:
    """An open season of a two-seat game."""
    return make_contest(conn, seats=2)


def test_agent_without_check_in_is_left_out(duels: Contest) -> None:
    cup = make_cup(duels, check_in_minutes=60)
    cup.enter(3)
    duels.conn.execute("update tournaments set locks_at = now() + interval '10 minutes'")
    advance.advance_tournaments(duels.conn, cup.turn)
    for agent in cup.agents[:2]:
        entrants.check_in(duels.conn, cup.id, agent, None)
    cup.start()
    states = [one.state for one in cup.view().entrants]
    assert sorted(states) == ["entered", "entered", "left_out"]


def test_the_lock_freezes_submissions(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    cup.start()
    newer = duels.active(cup.agents[0])
    cup.play_on()
    played = {
        seat.entry_id
        for one in cup.games()
        for seat in history.get_match(duels.conn, one.match_id).seats
    }
    assert newer not in played


def test_entered_agents_take_no_place_among_those_offered(
    duels: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entrants, "MOST_CHOICES", 1)
    cup, (_, team) = make_cup(duels), duels.team()
    first, second, unvalidated = (duels.agent(team) for _ in range(3))
    duels.active(first)
    duels.active(second)
    duels.pending(unvalidated)
    assert [one.id for one in entrants.agents_to_enter(duels.conn, cup.row, {team})] == [first]
    cup.enter_agent(first)
    assert [one.id for one in entrants.agents_to_enter(duels.conn, cup.row, {team})] == [second]


def test_reference_agents_are_offered_until_they_are_entrants(duels: Contest) -> None:
    cup, anchor = make_cup(duels), duels.agent()
    duels.active(anchor, is_anchor=True)
    duels.active()
    (offered,) = entrants.anchors_to_enter(duels.conn, cup.row)
    assert offered.id == anchor
    entrants.add_by_host(duels.conn, cup.id, offered, None)
    assert entrants.anchors_to_enter(duels.conn, cup.row) == []


def test_only_agents_that_a_host_could_invite_are_offered(conn: Any) -> None:
    contest = make_contest(conn, seats=2, remote_agents=True)
    _, team = contest.team()
    cup = make_cup(contest, entry_rule="invitation", remote_agents=False)
    own, remote, anchor, newest = (contest.agent(team) for _ in range(4))
    contest.active(own)
    contest.active(remote, profile="remote")
    contest.active(anchor, is_anchor=True)
    contest.active(newest)
    contest.pending(contest.agent(team))

    def offered(viewer: Viewer, limit: int = 9) -> list[str]:
        return [one.id for one in entrants.agents_to_invite(conn, viewer, cup.row, limit)]

    assert offered(Viewer()) == offered(ADMIN) == [newest, own]
    assert offered(ADMIN, limit=1) == [newest]
    entrants.add_by_host(conn, cup.id, get_agent(conn, newest), None)
    assert offered(ADMIN) == [own]
    free = make_cup(contest, entry_rule="invitation", remote_agents=True)
    found = entrants.agents_to_invite(conn, ADMIN, free.row, 9)
    assert [one.id for one in found] == [newest, remote, own]
    conn.execute("update leagues set visibility = 'invitation'")
    assert offered(Viewer()) == []


def test_an_offered_name_means_one_agent(duels: Contest) -> None:
    _, team = duels.team()
    one, two, three = (duels.agent(team) for _ in range(3))
    for agent, name, slug in ((one, "Snake", "snake"), (two, "snake", "snake-2")):
        change = "update agents set name = %s, slug = %s where id = %s"
        duels.conn.execute(change, (name, slug, agent))
    known = agents.select_names(
        duels.conn, "where a.id = any (%s) order by a.id", ([one, two, three],)
    )
    offered = agents.offer_names(duels.conn, known)
    chosen = [agents.choose_agent(known, each.text, "agent", "") for each in offered]
    assert chosen == [one, two, three]
    team_name = known[0].team_name
    assert (offered[0].text, offered[0].label) == (one, f"{team_name} / Snake")
    assert offered[2].text == f"{team_name}/{known[2].slug}"


def test_entries_are_refused_with_a_reason(duels: Contest) -> None:
    cup = make_cup(duels, most_entrants=2)
    with pytest.raises(Conflict, match="no validated submission"):
        cup.enter_agent(duels.agent())
    cup.enter(1)
    with pytest.raises(Conflict, match="already entered"):
        cup.enter_agent(cup.agents[0])
    cup.enter(1)
    with pytest.raises(Conflict, match="all 2 places"):
        cup.enter(1)
    invited = make_cup(duels, entry_rule="invitation")
    with pytest.raises(Conflict, match="by invitation"):
        invited.enter_agent(cup.agents[0])


def test_the_best_of_a_standing_fill_the_places_that_reference_agents_leave(
    duels: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    duels.conn.execute("update tournaments set entry_rule = 'top', most_entrants = 3")
    rows = []
    for place in (1, 2):
        entry = entries.get_entry(duels.conn, duels.active())
        row = SimpleNamespace(rank=place, is_anchor=False, remote=False)
        row.agent_id, row.team_id = entry.agent_id, entry.team_id
        rows.append(row)
    monkeypatch.setattr(leaderboard, "read_board", lambda *_: SimpleNamespace(rows=rows))
    cup.start()
    assert len(cup.view().inputs.entrants) == 3  # type: ignore[union-attr]


def test_agents_of_a_merged_team_stay_entrants_of_the_team_that_remains(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(4)
    first, second = (cup.view().entrants[n].team_id for n in (0, 1))
    merge(duels, first, second)
    cup.start()
    assert [one.state for one in cup.view().entrants].count(EntrantState.LEFT_OUT) == 1
    left_out = next(one for one in cup.view().entrants if one.state is EntrantState.LEFT_OUT)
    assert (left_out.agent_id, left_out.team_id) == (cup.agents[0], second)
    third, fourth = {one.team_id for one in cup.view().entrants} - {first, second}
    before = cup.course()
    merge(duels, third, fourth)
    assert {one.team_id for one in cup.view().entrants} == {second, fourth}
    assert cup.course() == before
    cup.play_on()
    assert cup.row.champion == 1


@pytest.mark.parametrize("locked_by_older_version", [False, True])
def test_reference_agents_are_no_team_mates_unless_an_older_version_locked(
    duels: Contest, locked_by_older_version: bool
) -> None:
    cup = make_cup(duels, {"stages": [{"format": "swiss", "rounds": 3}]}, agents_per_team=3)
    _, team = duels.team()
    for is_reference in (True, True, False):
        agent = duels.agent(team)
        entry = duels.active(agent)
        cup.enter_agent(agent)
        duels.conn.execute("update entries set is_anchor = %s where id = %s", (is_reference, entry))
    cup.enter(3)
    cup.start()
    duels.conn.execute("update entries set is_anchor = false")
    if locked_by_older_version:
        duels.conn.execute("update tournament_entrants set is_reference = default")
    field = cup.view().inputs
    assert field is not None
    assert len(field.event.prohibited) == (3 if locked_by_older_version else 0)


def test_the_number_of_entrants_stays_after_the_lock(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(6)
    cup.start()
    course_acts.withdraw(duels.conn, cup.id, cup.agent_of(1), None)
    course_acts.disqualify(duels.conn, cup.id, cup.agent_of(2), None, "a test")
    assert [one.entered for one in summarize(duels.conn, ADMIN, [cup.row])] == [6]
    assert summary_of(cup.view()).entered == 6


def test_refusals_call_a_tournament_with_a_hidden_end_running(duels: Contest) -> None:
    cup = make_cup(duels, embargo="hidden")
    cup.enter(2)
    cup.start()
    cup.play_on()
    assert cup.row.state == "finished"
    agent = get_agent(duels.conn, cup.agents[0])
    with pytest.raises(Conflict, match="the tournament is running"):
        entrants.enter_agent(duels.conn, cup.id, agent, None)
    with pytest.raises(Conflict, match="the tournament is running"):
        entrants.check_in(duels.conn, cup.id, agent.id, None)


def test_team_withdraws_only_before_the_public_end(duels: Contest) -> None:
    cup = make_cup(duels, embargo="hidden")
    cup.enter(2)
    cup.start()
    cup.play_on()
    first, second = cup.agents
    course_acts.withdraw(duels.conn, cup.id, first, None)
    course_acts.reveal(duels.conn, cup.id, Embargo.PUBLIC, None)
    with pytest.raises(Conflict, match="the tournament is finished"):
        course_acts.withdraw(duels.conn, cup.id, second, None)
