"""Invitations to a team: links, people, limits and notices."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ladder.database.db import Connection
from ladder.errors import Conflict, Forbidden, LadderError, NotFound
from ladder.notices import inbox
from ladder.notices.kinds import NoticeKind
from ladder.people import team_invitations, teams
from ladder.people.records import Viewer
from ladder.people.team_invitations import NewTeamInvitation
from tests.integration.ladder.team_people import at_once, names, person, viewer


def test_a_link_admits_as_many_people_as_it_may(conn: Connection) -> None:
    ada, bob, eve = (person(conn, name) for name in ("ada", "bob", "eve"))
    team = teams.make_team(conn, "Geese", ada)
    made = team_invitations.invite(conn, team.id, viewer(conn, ada), NewTeamInvitation())
    code = made.code
    assert code not in str(conn.execute("select team_invitations::text from team_invitations"))
    assert team_invitations.read_link(conn, bob, f" {code} ").team_name == "Geese"
    for _ in range(2):  # a repeat changes nothing
        assert team_invitations.join_by_link(conn, bob, code).id == team.id
    assert names(conn, team.id) == {"ada": True, "bob": False}
    with pytest.raises(Conflict, match="used up"):
        team_invitations.join_by_link(conn, eve, code)
    teams.remove_member(conn, team.id, bob, viewer(conn, bob))
    with pytest.raises(Conflict, match="used this invitation before"):
        team_invitations.join_by_link(conn, bob, code)
    assert team_invitations.list_invitations(conn, team.id)[0].uses == made.uses + 1


def test_a_link_that_no_longer_works_says_why(conn: Connection) -> None:
    ada, bob, eve = (person(conn, name) for name in ("ada", "bob", "eve"))
    team, who = teams.make_team(conn, "Geese", ada), viewer(conn, ada)
    revoked = team_invitations.invite(conn, team.id, who, NewTeamInvitation())
    first = revoked.code
    team_invitations.revoke_invitation(conn, team.id, revoked.id, who)
    second = team_invitations.invite(conn, team.id, who, NewTeamInvitation(max_uses=5)).code
    conn.execute("update team_invitations set expires_at = now() where revoked_at is null")
    for_bob = team_invitations.invite(conn, team.id, who, NewTeamInvitation(person="Bob"))
    third = for_bob.code
    for code, error in (
        (first, "revoked"),
        (second, "expired"),
        ("team_guessed", "no such invitation"),
    ):
        with pytest.raises((Conflict, NotFound), match=error):
            team_invitations.join_by_link(conn, eve, code)
    with pytest.raises(Forbidden, match="another person") as refused:
        team_invitations.join_by_link(conn, eve, third)
    assert "bob" not in str(refused.value).lower()
    with pytest.raises(NotFound):
        team_invitations.accept_invitation(conn, eve, for_bob.id)
    team_invitations.decline_invitation(conn, bob, for_bob.id)
    assert team_invitations.invitations_to(conn, bob) == []
    with pytest.raises(Conflict, match="declined"):
        team_invitations.join_by_link(conn, bob, third)
    assert names(conn, team.id) == {"ada": True}


def test_an_invitation_with_wrong_values_is_refused(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = person(conn, "ada"), person(conn, "bob")
    team, who = teams.make_team(conn, "Geese", ada), viewer(conn, ada)
    late = datetime.now(UTC) + timedelta(days=91)
    for values, error in (
        ({"person": "nobody at all"}, "has an account"),
        ({"person": "ada"}, "already a member"),
        ({"expires_at": late}, "90 days"),
        ({"expires_at": datetime.now(UTC)}, "90 days"),
    ):
        with pytest.raises(LadderError, match=error):
            team_invitations.invite(conn, team.id, who, NewTeamInvitation(**values))
    team_invitations.invite(conn, team.id, who, NewTeamInvitation(person="bob"))
    with pytest.raises(Conflict, match="open invitation"):
        team_invitations.invite(conn, team.id, who, NewTeamInvitation(person=bob))
    monkeypatch.setattr(team_invitations, "MOST_OPEN", 1)
    with pytest.raises(Conflict, match="revoke an invitation first"):
        team_invitations.invite(conn, team.id, who, NewTeamInvitation())


def test_people_are_told_of_invitations_and_new_members(conn: Connection) -> None:
    ada, bob = person(conn, "ada"), person(conn, "bob")
    team, who = teams.make_team(conn, "Geese", ada), viewer(conn, ada)
    team_invitations.invite(
        conn, team.id, who, NewTeamInvitation()
    )  # a link is for nobody in particular
    team_invitations.invite(conn, team.id, who, NewTeamInvitation(person="bob"))
    assert [notice.kind for notice in inbox.list_notices(conn, bob)] == [NoticeKind.TEAM_INVITED]
    teams.add_member(conn, team.id, bob, ada)
    assert [notice.kind for notice in inbox.list_notices(conn, ada)] == [NoticeKind.TEAM_JOINED]
    assert [notice.kind for notice in inbox.list_notices(conn, bob)] == [NoticeKind.TEAM_INVITED]


def test_a_link_with_one_use_admits_one_of_two_simultaneous_people(
    database_url: str, conn: Connection
) -> None:
    people = [person(conn, f"p{n}") for n in range(4)]
    team = teams.make_team(conn, "Geese", person(conn, "ada"))
    code = team_invitations.invite(conn, team.id, Viewer(is_admin=True), NewTeamInvitation()).code
    errors = at_once(
        database_url,
        *(lambda own, who=who: team_invitations.join_by_link(own, who, code) for who in people),
    )
    assert errors[0] == ""
    assert all("used up" in error for error in errors[1:])
    assert len(names(conn, team.id)) == 2


def test_invitations_end_with_the_place_in_the_team(conn: Connection) -> None:
    ada, bob, eve = (person(conn, name) for name in ("ada", "bob", "eve"))
    team, who = teams.make_team(conn, "Geese", ada), viewer(conn, ada)
    to_bob = team_invitations.invite(conn, team.id, who, NewTeamInvitation(person="bob"))
    link = team_invitations.invite(conn, team.id, who, NewTeamInvitation()).code
    team_invitations.join_by_link(conn, bob, link)
    assert team_invitations.invitations_to(conn, bob) == []
    teams.add_member(conn, team.id, bob, None, is_owner=True)
    to_eve = team_invitations.invite(
        conn, team.id, viewer(conn, bob), NewTeamInvitation(person="eve")
    )
    teams.remove_member(conn, team.id, bob, who)
    for invited, made in ((bob, to_bob), (eve, to_eve)):
        with pytest.raises(Conflict, match="revoked"):
            team_invitations.accept_invitation(conn, invited, made.id)
    team_invitations.invite(conn, team.id, who, NewTeamInvitation(person="bob"))
    assert names(conn, team.id) == {"ada": True}
