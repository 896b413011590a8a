"""Teams that people make: names, owners, and the end of a team."""

from __future__ import annotations

import pytest

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.team_merges import dissolve_team
from ladder.errors import Conflict, Forbidden, Invalid, NotFound
from ladder.people import team_invitations, teams, users
from ladder.people.team_invitations import NewTeamInvitation
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.team_people import join, names, person, viewer


def test_a_person_makes_and_renames_a_team(conn: Connection) -> None:
    ada = person(conn, "ada")
    team = teams.make_team(conn, "Night Geese", ada)
    assert (team.slug, names(conn, team.id)) == ("night-geese", {"ada": True})
    renamed = teams.rename_team(conn, team.id, "Day Geese", viewer(conn, ada))
    assert (renamed.name, renamed.slug) == ("Day Geese", "day-geese")
    assert teams.make_team(conn, "Night Geese", person(conn, "bob")).slug == "night-geese"
    assert [act.act for act in teams.list_team_acts(conn, team.id)] == ["rename", "create"]


def test_a_team_name_that_looks_like_another_name_is_refused(conn: Connection) -> None:
    ada, bob = person(conn, "ada"), person(conn, "bob")
    teams.make_team(conn, "Night Geese", ada)
    mine = teams.make_team(conn, "Owls", bob)
    for name, error in (
        ("Nіght-Geese", "similar name"),  # with a Cyrillic letter
        ("Аda", "name of a person"),
        ("Reference Agents", "reserved"),
    ):
        with pytest.raises((Conflict, Invalid), match=error) as refused:
            teams.make_team(conn, name, bob)
        assert refused.value.field == "name"
        with pytest.raises((Conflict, Invalid), match=error):
            teams.rename_team(conn, mine.id, name, viewer(conn, bob))
    assert teams.rename_team(conn, mine.id, "Bob", viewer(conn, bob)).name == "Bob"  # their own


def test_a_person_makes_a_limited_number_of_teams(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teams, "MOST_TEAMS", 1)
    ada = person(conn, "ada")
    first = teams.make_team(conn, "First", ada)
    with pytest.raises(Conflict, match="limit"):
        teams.make_team(conn, "Second", ada)
    dissolve_team(conn, first.id, viewer(conn, ada))
    assert teams.make_team(conn, "First", ada).slug == "first"  # an unused name is free again


def test_a_new_account_gets_a_team_although_its_name_is_taken(conn: Connection) -> None:
    users.create_own_team(conn, "Ada", person(conn, "ada"))
    second = users.create_own_team(conn, "A.d.a", person(conn, "bob"))
    assert (second.name, second.slug) == ("A.d.a 2", "a-d-a-2")


def test_only_owners_manage_a_team(conn: Connection) -> None:
    ada, bob, eve = (person(conn, name) for name in ("ada", "bob", "eve"))
    team = teams.make_team(conn, "Geese", ada)
    join(conn, team.id, bob)
    member = viewer(conn, bob)
    for act in (
        lambda: teams.rename_team(conn, team.id, "Owls", member),
        lambda: teams.hand_over(conn, team.id, bob, member),
        lambda: teams.remove_member(conn, team.id, ada, member),
        lambda: team_invitations.invite(conn, team.id, member, NewTeamInvitation()),
        lambda: dissolve_team(conn, team.id, member),
    ):
        with pytest.raises(Forbidden, match="owner"):
            act()
    with pytest.raises(NotFound):
        teams.hand_over(conn, team.id, eve, viewer(conn, ada))
    with pytest.raises(Conflict, match="hand the team over"):
        teams.remove_member(conn, team.id, ada, viewer(conn, ada))
    teams.hand_over(conn, team.id, bob, viewer(conn, ada))
    assert names(conn, team.id) == {"ada": False, "bob": True}
    code = team_invitations.invite(conn, team.id, member, NewTeamInvitation()).code
    teams.remove_member(conn, team.id, ada, member)
    with pytest.raises(Conflict, match="revoked"):  # ada may know the link
        team_invitations.join_by_link(conn, ada, code)
    with pytest.raises(Conflict, match="last member"):
        teams.remove_member(conn, team.id, bob, member)


def test_a_dissolved_team_keeps_its_results(contest: Contest) -> None:
    conn = contest.conn
    user, team = contest.team()
    entry = contest.active(contest.agent(team))
    waiting = contest.pending(contest.agent(team))
    dissolve_team(conn, team, viewer(conn, user))
    found = users.get_team(conn, team)
    assert found.ended_at is not None
    assert {entries.get_entry(conn, each).state for each in (entry, waiting)} == {"retired"}
    assert users.teams_of(conn, user) == []
    other = teams.make_team(conn, "Second thoughts", user)
    with pytest.raises(Conflict, match="already compete"):  # the person has competed here
        contest.pending(contest.agent(other.id))
    with pytest.raises(Conflict, match="similar name"):
        teams.make_team(conn, found.name, contest.team()[0])
    with pytest.raises(Conflict, match="dissolved"):
        teams.add_member(conn, team, user, None)


def test_adding_a_member_again_takes_no_owner_away(conn: Connection) -> None:
    team = teams.make_team(conn, "Geese", ada := person(conn, "ada"))
    teams.add_member(conn, team.id, ada, None)
    assert names(conn, team.id) == {"ada": True}
