"""Names that keyboards and systems write as other characters: ``É`` is one character or two."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.entries.agents import AgentChange
from ladder.leagues.rosters import parse_roster
from ladder.moderation import disqualifications
from ladder.people import administration, passwords, team_invitations, users
from ladder.people.records import Viewer
from ladder.people.team_invitations import NewTeamInvitation
from ladder.reports import site_search
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.test_rosters import join, take

COMPOSED, DECOMPOSED = "\u00c9ric \u304c", "E\u0301ric \u304b\u3099"
ROOT = Viewer(user_id=None, is_admin=True)


def test_two_spellings_of_a_team_name_make_one_team(contest: Contest) -> None:
    text = "name,team,role,external_id\nAda,E\u0301quipe,,1\nBob,\u00c9quipe,,2\n"
    people = [users.create_user(contest.conn, name).id for name in ("ada", "bob")]
    for user, line in zip(people, take(contest, *parse_roster(text)), strict=True):
        join(contest, user, line.code)
    ada, bob = (users.teams_of(contest.conn, user) for user in people)
    assert ada == bob
    assert [team.name for team in ada] == ["\u00c9quipe"]


def test_another_spelling_of_an_external_id_is_the_same_line(contest: Contest) -> None:
    for written in ("e\u0301 1", "\u00e9\u00a01"):
        take(contest, *parse_roster(f"name,team,role,external_id\nAda,,,{written}\n"))
    assert len(take(contest, *parse_roster("name,team,role,external_id\nAda,,,\u00e9 1\n"))) == 1
    count = contest.conn.execute("select count(*) from roster").fetchone()
    assert count == (1,)


def test_a_person_is_found_by_either_spelling_of_the_name(conn: Connection) -> None:
    user = users.create_user(conn, DECOMPOSED)
    assert user.name == COMPOSED
    passwords.store_hash(conn, user.id, "hash")
    for name in (COMPOSED, DECOMPOSED):
        assert users.find_user(conn, name) == user.id
        assert passwords.stored_hash(conn, name) == (user.id, "hash")
        assert [row.id for row in administration.search_accounts(conn, name)] == [user.id]


def test_a_person_is_invited_by_either_spelling_of_the_name(contest: Contest) -> None:
    owner, team = contest.team()
    invited = users.create_user(contest.conn, COMPOSED)
    who = users.viewer_of_user(contest.conn, owner)
    assert who is not None
    made = team_invitations.invite(contest.conn, team, who, NewTeamInvitation(person=DECOMPOSED))
    assert made.user_id == invited.id


def test_an_agent_is_found_by_either_spelling_of_its_name(contest: Contest) -> None:
    agent = contest.agent()
    agents.update_agent(contest.conn, agent, AgentChange(name=COMPOSED))
    contest.active(agent)
    season = contest.season.id
    for name in (COMPOSED, DECOMPOSED):
        assert agents.find_visible_agent(contest.conn, ROOT, name).id == agent
        found = agents.find_season_agent(contest.conn, ROOT, season, name, "agent")
        assert found.id == agent
        assert disqualifications.find_subject(contest.conn, season, name) == agent
        assert [one.id for one in agents.find_similar_agents(contest.conn, ROOT, name, 5)]
        assert [one.id for one in site_search.search_names(contest.conn, ROOT, name)] == [agent]
