"""The roster of a league in a real database."""

from __future__ import annotations

from dataclasses import replace

from ladder.database.db import Connection
from ladder.enums import LeagueRole, ReplayVisibility
from ladder.ids import TeamId, UserId
from ladder.leagues import invitations, leagues, members, rosters, terms
from ladder.leagues.rosters import RosterPerson
from ladder.people import audit_log, users
from tests.integration.ladder.contest import Contest, make_contest

COMPETITOR, VIEWER = LeagueRole.COMPETITOR, LeagueRole.VIEWER
ADA = RosterPerson("s1", "Ada", "Engines", COMPETITOR)
BOB = RosterPerson("s2", "Bob", "engines", COMPETITOR)
CYD = RosterPerson("s3", "Cyd", "", VIEWER)


def take(
    contest: Contest, *lines: RosterPerson, is_dry: bool = False
) -> list[rosters.ImportedLine]:
    return rosters.import_roster(
        contest.conn, contest.league.id, lines, by=contest.host, is_dry=is_dry
    )


def join(contest: Contest, user: UserId, code: str | None) -> None:
    assert code is not None
    league = leagues.get_league(contest.conn, contest.league.id)
    digest = terms.terms_digest(terms.TermsSettings(league.visibility, ReplayVisibility.PUBLIC))
    invitations.join_league(contest.conn, user, code, digest)


def changes(done: list[rosters.ImportedLine]) -> list[tuple[str, bool]]:
    return [(each.change.value, each.code is not None) for each in done]


def test_a_repeated_import_changes_nothing(
    contest: Contest,
) -> None:
    assert changes(take(contest, ADA, BOB, CYD, is_dry=True)) == [("new", False)] * 3
    assert rosters.list_lines(contest.conn, contest.league.id) == []
    assert changes(take(contest, ADA, BOB, CYD)) == [("new", True)] * 3
    assert changes(take(contest, ADA, BOB, CYD)) == [("same", False)] * 3
    grown = RosterPerson("s3", "Cyd", "", COMPETITOR)
    assert changes(take(contest, grown)) == [("changed", False)]
    lines = rosters.list_lines(contest.conn, contest.league.id)
    assert [(line.external_id, line.role) for line in lines] == [
        (each, "competitor") for each in ("s1", "s2", "s3")
    ]


def test_a_repeated_import_replaces_a_revoked_code(contest: Contest) -> None:
    take(contest, ADA)
    (line,) = rosters.list_lines(contest.conn, contest.league.id)
    invitations.revoke_invitation(contest.conn, contest.league.id, line.invitation_id)
    assert changes(take(contest, ADA, is_dry=True)) == [("code", False)]
    assert changes(take(contest, ADA)) == [("code", True)]
    assert changes(take(contest, ADA)) == [("same", False)]


def test_a_person_joins_the_team_of_the_roster_line(conn: Connection) -> None:
    contest = make_contest(conn, visibility="private")
    ada, bob, cyd = (users.create_user(conn, name).id for name in ("countess", "bob", "cyd"))
    for user, done in zip((ada, bob, cyd), take(contest, ADA, BOB, CYD), strict=True):
        join(contest, user, done.code)
    (engines,) = users.teams_of(conn, ada)
    assert engines.name == "Engines"
    assert users.teams_of(conn, bob) == [engines]
    assert users.teams_of(conn, cyd) == []
    lines = rosters.list_lines(conn, contest.league.id)
    assert [(line.user_name, line.team_id) for line in lines] == [
        ("countess", engines.id),
        ("bob", engines.id),
        ("cyd", None),
    ]
    assert rosters.external_ids(conn, contest.league.id) == {TeamId(engines.id): ["s1", "s2"]}
    grown = RosterPerson("s3", "Cyd", "", COMPETITOR)
    assert changes(take(contest, ADA, grown)) == [("same", False), ("changed", False)]
    found = members.list_members(conn, contest.league.id)
    roles = {member.user_id: member.role for member in found}
    assert roles[cyd] is COMPETITOR


def test_the_audit_log_records_each_role_that_an_import_changes(contest: Contest) -> None:
    made = take(contest, ADA, CYD)
    ada, cyd = (users.create_user(contest.conn, name).id for name in ("ada", "cyd"))
    for user, done in zip((ada, cyd), made, strict=True):
        join(contest, user, done.code)
    renamed, grown = replace(ADA, name="Ada L."), replace(CYD, role=COMPETITOR)
    for is_dry in (True, False, False):
        take(contest, renamed, grown, is_dry=is_dry)
    log = audit_log.list_audits(contest.conn, contest.league.id)
    assert [(one.by_user, one.subject, one.reason) for one in log if one.act == "role"] == [
        (contest.host, cyd, "viewer becomes competitor")
    ]


def test_a_code_puts_no_host_into_a_team(contest: Contest) -> None:
    one, two = take(contest, ADA, BOB)
    user = users.create_user(contest.conn, "ada").id
    join(contest, user, one.code)
    join(contest, contest.host, two.code)
    (engines,) = users.teams_of(contest.conn, user)
    assert engines not in users.teams_of(contest.conn, contest.host)
    take(contest, RosterPerson("s2", "Bob", "engines", VIEWER))
    found = members.list_members(contest.conn, contest.league.id)
    roles = {member.user_id: member.role for member in found}
    assert roles[contest.host] is LeagueRole.HOST


def test_a_person_has_an_own_external_id_in_each_league(contest: Contest) -> None:
    other = make_contest(contest.conn)
    user = users.create_user(contest.conn, "ada").id
    for each, line in ((contest, ADA), (other, RosterPerson("t9", "A.", "", COMPETITOR))):
        (done,) = take(each, line)
        join(each, user, done.code)
    (team,) = users.teams_of(contest.conn, user)
    assert rosters.external_ids(contest.conn, contest.league.id) == {team.id: ["s1"]}
    assert rosters.external_ids(contest.conn, other.league.id) == {team.id: ["t9"]}


def test_an_import_takes_no_removed_person_back(contest: Contest) -> None:
    (done,) = take(contest, CYD)
    user = users.create_user(contest.conn, "cyd").id
    join(contest, user, done.code)
    leagues.set_member_role(contest.conn, contest.league.id, user, None)
    take(contest, RosterPerson("s3", "Cyd", "", COMPETITOR))
    found = members.list_members(contest.conn, contest.league.id)
    assert user not in {member.user_id for member in found}
