"""A person competes for one team in a season."""

from __future__ import annotations

import pytest

from ladder.entries import entries, team_merges
from ladder.enums import LeagueRole, Visibility
from ladder.errors import Conflict
from ladder.leagues import invitations, leagues, rosters, terms
from ladder.people import team_invitations, teams, users
from ladder.people.team_invitations import NewTeamInvitation
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.team_people import at_once, join, person, viewer


def test_a_person_of_two_teams_competes_for_the_first(contest: Contest) -> None:
    conn = contest.conn
    ada, first = contest.team()
    bob, second = contest.team()
    join(conn, second, ada)
    contest.pending(contest.agent(first))
    name = users.get_team(conn, first).name
    with pytest.raises(Conflict, match="must leave this team first") as refused:
        contest.pending(contest.agent(second), by=bob)
    assert name not in str(refused.value)  # no board has shown the team yet
    contest.active(contest.agent(first))
    with pytest.raises(Conflict, match=name):
        contest.pending(contest.agent(second), by=bob)
    teams.remove_member(conn, second, ada, viewer(conn, ada))
    contest.pending(contest.agent(second), by=bob)
    with pytest.raises(Conflict, match="you already compete"):
        join(conn, second, ada)
    assert ada not in {user.id for user in teams.list_members(conn, second)}


def test_leaving_a_team_does_not_free_a_person_for_the_season(contest: Contest) -> None:
    conn = contest.conn
    _, team = contest.team()
    bob = contest.team()[0]
    join(conn, team, bob)
    contest.pending(contest.agent(team))
    teams.remove_member(conn, team, bob, viewer(conn, bob))
    other = teams.make_team(conn, "Other", bob)
    with pytest.raises(Conflict, match="with another team"):
        contest.pending(contest.agent(other.id), by=bob)
    join(conn, team, bob)  # the same team takes them back
    conn.execute("update seasons set state = 'finished'")
    join(conn, contest.team()[1], bob)


def test_an_anchor_does_not_compete(contest: Contest) -> None:
    conn = contest.conn
    ada, first = contest.team()
    contest.pending(contest.agent(first), is_anchor=True)
    competing = contest.pending(contest.agent(teams.make_team(conn, "Other", ada).id))
    assert entries.get_entry(conn, competing).team_id != first


def test_a_member_of_two_teams_that_enter_at_once_competes_for_one(
    database_url: str, contest: Contest
) -> None:
    conn = contest.conn
    _, first = contest.team()
    _, second = contest.team()
    shared = contest.team()[0]
    join(conn, first, shared)
    join(conn, second, shared)
    uploads = [contest.submission(contest.agent(team)).id for team in (first, second)]
    errors = at_once(
        database_url,
        *(
            lambda own, upload=upload: entries.enter_season(own, contest.season.id, upload)
            for upload in uploads
        ),
    )
    assert errors[0] == ""
    assert "already competes" in errors[1]
    row = conn.execute("select count(distinct team_id) from entries").fetchone()
    assert row == (1,)


def test_a_person_who_joins_two_competing_teams_at_once_joins_one(
    database_url: str, contest: Contest
) -> None:
    conn = contest.conn
    shared = contest.team()[0]
    codes = []
    for _ in range(2):
        owner, team = contest.team()
        contest.pending(contest.agent(team))
        codes.append(
            team_invitations.invite(conn, team, viewer(conn, owner), NewTeamInvitation()).code
        )
    errors = at_once(
        database_url,
        *(
            lambda own, code=code: team_invitations.join_by_link(own, shared, code)
            for code in codes
        ),
    )
    assert errors[0] == ""
    assert "you already compete" in errors[1]
    assert len(users.teams_of(conn, shared)) == 2  # their own, and one of the two


def test_a_join_and_the_first_entry_of_the_team_at_once_are_both_counted(
    database_url: str, contest: Contest
) -> None:
    conn = contest.conn
    owner, team = contest.team()
    shared = contest.team()[0]
    contest.pending(contest.agent(users.teams_of(conn, shared)[0].id))
    code = team_invitations.invite(conn, team, viewer(conn, owner), NewTeamInvitation()).code
    upload = contest.submission(contest.agent(team)).id
    errors = at_once(
        database_url,
        lambda own: team_invitations.join_by_link(own, shared, code),
        lambda own: entries.enter_season(own, contest.season.id, upload),
    )
    assert errors[0] == ""
    assert "already compete" in errors[1]


def test_a_roster_team_keeps_its_members_after_a_new_name(contest: Contest) -> None:
    conn = contest.conn
    leagues.update_league(conn, contest.league.id, visibility=Visibility.INVITATION)
    teams.make_team(conn, "Team 1", contest.host)  # the name is taken elsewhere
    people = rosters.parse_roster(
        "name,team,role,external_id\nAda,Team 1,,a\nBob,Team 1,,b\nEve,Team 1,,e\n"
    )
    codes = [line.code for line in rosters.import_roster(conn, contest.league.id, people, by=None)]
    digest = terms.terms_digest(terms.settings_of_league(contest.league))
    joined = []
    for name, code in zip(("ada", "bob", "eve"), codes, strict=True):
        user_id = person(conn, name)
        assert code is not None
        _, league = invitations.read_code(conn, user_id, code)
        digest = terms.terms_digest(terms.settings_of_league(league))
        assert invitations.join_league(conn, user_id, code, digest)[2] is LeagueRole.COMPETITOR
        (team,) = users.teams_of(conn, user_id)
        joined.append(team.id)
        if name == "ada":
            assert team.name == f"Team 1 ({contest.league.slug})"
            teams.rename_team(conn, team.id, "Night Geese", viewer(conn, user_id))
    assert len(set(joined)) == 1


def test_a_grader_of_a_league_joins_no_team_that_competes_there(contest: Contest) -> None:
    conn = contest.conn
    grader, team = person(conn, "grace"), contest.team()[1]
    conn.execute(
        "insert into league_members (league_id, user_id, role, duty, agreed_visibility,"
        " agreed_replays) values (%s, %s, 'viewer', 'grader', 'public', 'public')",
        (contest.league.id, grader),
    )
    other = teams.make_team(conn, "Beside the league", contest.team()[0])
    join(conn, other.id, grader)
    contest.pending(contest.agent(team))
    with pytest.raises(Conflict, match="grace is grader"):
        join(conn, team, grader)


def test_a_person_whom_a_host_blocked_joins_no_team_that_competes_there(contest: Contest) -> None:
    conn = contest.conn
    blocked, (owner, team) = person(conn, "mallory"), contest.team()
    conn.execute(
        "insert into league_blocks (league_id, user_id, reason, by_user)"
        " values (%s, %s, 'spam', %s)",
        (contest.league.id, blocked, contest.host),
    )
    contest.pending(contest.agent(team))
    with pytest.raises(Conflict, match="blocked mallory") as refused:
        join(conn, team, blocked)
    assert "spam" not in str(refused.value)
    own = teams.make_team(conn, "Outside", blocked)
    asked = team_merges.ask_for_merge(conn, own.id, team, viewer(conn, blocked))
    with pytest.raises(Conflict, match="blocked mallory"):
        team_merges.accept_merge(conn, asked.id, viewer(conn, owner))
