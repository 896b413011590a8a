"""Teams that people make: names, invitations, owners, and one team for a person in a season."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from ladder.database import db, migrate
from ladder.database.db import Connection
from ladder.entries import entries, team_merges
from ladder.entries.team_dissolution import dissolve_team
from ladder.enums import LeagueRole, Visibility
from ladder.errors import Conflict, Forbidden, Invalid, LadderError, NotFound
from ladder.ids import TeamId, UserId
from ladder.leagues import invitations, leagues, roster_file, rosters, terms
from ladder.notices import inbox
from ladder.notices.kinds import NoticeKind
from ladder.people import competitors, team_audits, team_invitations, teams, users
from ladder.people.records import Viewer
from tests.integration.ladder.contest import Contest


def person(conn: Connection, name: str) -> UserId:
    return users.create_user(conn, name).id


def viewer(conn: Connection, user_id: UserId) -> Viewer:
    found = users.viewer_of_user(conn, user_id)
    assert found is not None
    return found


def join(conn: Connection, team_id: TeamId, user_id: UserId) -> None:
    """Invites by the first owner, and accepts."""
    owner = next(user.id for user, owns in users.team_members(conn, team_id) if owns)
    name = users.get_user(conn, user_id).name
    made, _ = team_invitations.invite(conn, team_id, viewer(conn, owner), person=name)
    team_invitations.accept_invitation(conn, user_id, made.id)


def names(conn: Connection, team_id: TeamId) -> dict[str, bool]:
    return {user.name: owns for user, owns in users.team_members(conn, team_id)}


def at_once(database_url: str, *acts: Callable[[Connection], object]) -> list[str]:
    """Runs each act on a connection of its own, all at one time; returns their errors, sorted."""

    def run(act: Callable[[Connection], object]) -> str:
        try:
            with db.connect(database_url) as own:
                act(own)
        except LadderError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(len(acts)) as pool:
        return sorted(pool.map(run, acts))


def test_a_person_makes_and_renames_a_team(conn: Connection) -> None:
    ada = person(conn, "ada")
    team = teams.make_team(conn, "Night Geese", ada)
    assert (team.slug, names(conn, team.id)) == ("night-geese", {"ada": True})
    renamed = teams.rename_team(conn, team.id, "Day Geese", viewer(conn, ada))
    assert (renamed.name, renamed.slug) == ("Day Geese", "day-geese")
    assert teams.make_team(conn, "Night Geese", person(conn, "bob")).slug == "night-geese"
    assert [act.act for act in team_audits.list_team_acts(conn, team.id)] == ["rename", "create"]


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


def test_a_link_admits_as_many_people_as_it_may(conn: Connection) -> None:
    ada, bob, eve = (person(conn, name) for name in ("ada", "bob", "eve"))
    team = teams.make_team(conn, "Geese", ada)
    made, code = team_invitations.invite(conn, team.id, viewer(conn, ada))
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
    revoked, first = team_invitations.invite(conn, team.id, who)
    team_invitations.revoke_invitation(conn, team.id, revoked.id, who)
    _, second = team_invitations.invite(conn, team.id, who, max_uses=5)
    conn.execute("update team_invitations set expires_at = now() where revoked_at is null")
    for_bob, third = team_invitations.invite(conn, team.id, who, person="Bob")
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
            team_invitations.invite(conn, team.id, who, **values)
    team_invitations.invite(conn, team.id, who, person="bob")
    with pytest.raises(Conflict, match="open invitation"):
        team_invitations.invite(conn, team.id, who, person=bob)
    monkeypatch.setattr(team_invitations, "MOST_OPEN", 1)
    with pytest.raises(Conflict, match="revoke an invitation first"):
        team_invitations.invite(conn, team.id, who)


def test_people_are_told_of_invitations_and_new_members(conn: Connection) -> None:
    ada, bob = person(conn, "ada"), person(conn, "bob")
    team, who = teams.make_team(conn, "Geese", ada), viewer(conn, ada)
    team_invitations.invite(conn, team.id, who)  # a link is for nobody in particular
    team_invitations.invite(conn, team.id, who, person="bob")
    assert [notice.kind for notice in inbox.list_notices(conn, bob)] == [NoticeKind.TEAM_INVITED]
    teams.add_member(conn, team.id, bob, ada)
    assert [notice.kind for notice in inbox.list_notices(conn, ada)] == [NoticeKind.TEAM_JOINED]
    assert [notice.kind for notice in inbox.list_notices(conn, bob)] == [NoticeKind.TEAM_INVITED]


def test_a_link_with_one_use_admits_one_of_two_simultaneous_people(
    database_url: str, conn: Connection
) -> None:
    people = [person(conn, f"p{n}") for n in range(4)]
    team = teams.make_team(conn, "Geese", person(conn, "ada"))
    _, code = team_invitations.invite(conn, team.id, Viewer(is_admin=True))
    errors = at_once(
        database_url,
        *(lambda own, who=who: team_invitations.join_by_link(own, who, code) for who in people),
    )
    assert errors[0] == ""
    assert all("used up" in error for error in errors[1:])
    assert len(names(conn, team.id)) == 2


def test_only_owners_manage_a_team(conn: Connection) -> None:
    ada, bob, eve = (person(conn, name) for name in ("ada", "bob", "eve"))
    team = teams.make_team(conn, "Geese", ada)
    join(conn, team.id, bob)
    member = viewer(conn, bob)
    for act in (
        lambda: teams.rename_team(conn, team.id, "Owls", member),
        lambda: teams.hand_over(conn, team.id, bob, member),
        lambda: teams.remove_member(conn, team.id, ada, member),
        lambda: team_invitations.invite(conn, team.id, member),
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
    _, code = team_invitations.invite(conn, team.id, member)
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
    assert ada not in {user.id for user, _ in users.team_members(conn, second)}


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
        codes.append(team_invitations.invite(conn, team, viewer(conn, owner))[1])
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
    _, code = team_invitations.invite(conn, team, viewer(conn, owner))
    upload = contest.submission(contest.agent(team)).id
    errors = at_once(
        database_url,
        lambda own: team_invitations.join_by_link(own, shared, code),
        lambda own: entries.enter_season(own, contest.season.id, upload),
    )
    assert errors[0] == ""
    assert "already compete" in errors[1]


def test_a_person_of_earlier_entries_competes_for_the_team_that_entered_first(
    contest: Contest,
) -> None:
    conn = contest.conn
    ada, first = contest.team()
    second = teams.make_team(conn, "Second", ada)
    bob = contest.team()[0]
    join(conn, second.id, bob)
    for team in (first, second.id):  # both enter, as before this rule
        contest.pending(contest.agent(team))
        conn.execute("delete from season_competitors")
    migration = dict(migrate.migration_files())["0003_before_teams.sql"]
    (backfill,) = re.findall(r"(insert into season_competitors.*?);", migration, re.DOTALL)
    conn.execute(backfill)
    for _ in range(2):
        rows = conn.execute("select user_id, team_id from season_competitors").fetchall()
        assert set(rows) == {(ada, first), (bob, second.id)}
        conn.execute("delete from season_competitors")
        competitors.fill_season_competitors(conn)
        competitors.fill_season_competitors(conn)
    with pytest.raises(Conflict, match="must leave this team first"):
        contest.pending(contest.agent(second.id), by=bob)


def test_a_roster_team_keeps_its_members_after_a_new_name(contest: Contest) -> None:
    conn = contest.conn
    leagues.update_league(conn, contest.league.id, visibility=Visibility.INVITATION)
    teams.make_team(conn, "Team 1", contest.host)  # the name is taken elsewhere
    people = roster_file.parse_roster(
        "name,team,role,external_id\nAda,Team 1,,a\nBob,Team 1,,b\nEve,Team 1,,e\n"
    )
    codes = [line.code for line in rosters.import_roster(conn, contest.league.id, people, by=None)]
    digest = terms.terms_digest(*terms.settings_of_league(contest.league))
    joined = []
    for name, code in zip(("ada", "bob", "eve"), codes, strict=True):
        user_id = person(conn, name)
        assert code is not None
        _, league = invitations.read_code(conn, user_id, code)
        digest = terms.terms_digest(*terms.settings_of_league(league))
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


def test_invitations_end_with_the_place_in_the_team(conn: Connection) -> None:
    ada, bob, eve = (person(conn, name) for name in ("ada", "bob", "eve"))
    team, who = teams.make_team(conn, "Geese", ada), viewer(conn, ada)
    to_bob, _ = team_invitations.invite(conn, team.id, who, person="bob")
    _, link = team_invitations.invite(conn, team.id, who)
    team_invitations.join_by_link(conn, bob, link)
    assert team_invitations.invitations_to(conn, bob) == []
    teams.add_member(conn, team.id, bob, None, is_owner=True)
    to_eve, _ = team_invitations.invite(conn, team.id, viewer(conn, bob), person="eve")
    teams.remove_member(conn, team.id, bob, who)
    for invited, made in ((bob, to_bob), (eve, to_eve)):
        with pytest.raises(Conflict, match="revoked"):
            team_invitations.accept_invitation(conn, invited, made.id)
    team_invitations.invite(conn, team.id, who, person="bob")
    assert names(conn, team.id) == {"ada": True}


def test_adding_a_member_again_takes_no_owner_away(conn: Connection) -> None:
    team = teams.make_team(conn, "Geese", ada := person(conn, "ada"))
    teams.add_member(conn, team.id, ada, None)
    assert names(conn, team.id) == {"ada": True}
