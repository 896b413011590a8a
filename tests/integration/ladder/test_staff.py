"""Co-hosts, graders and commentators in a real database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.enums import LeagueRole
from ladder.errors import Conflict, Forbidden
from ladder.ids import LeagueId, SubmissionId, TeamId, UserId
from ladder.leagues import hosting, members, terms
from ladder.leagues.settings import LeagueChange
from ladder.people import audit_log, permissions, teams, users
from ladder.people.records import Viewer
from ladder.people.resources import LeagueResource, LogResource
from tests.integration.ladder.contest import Contest


def viewer(conn: Connection, user_id: UserId) -> Viewer:
    found = users.viewer_of_user(conn, user_id)
    assert found is not None
    return found


def appoint(contest: Contest, user_id: UserId, role: str | None) -> None:
    chosen = None if role is None else LeagueRole(role)
    host = viewer(contest.conn, contest.host)
    members.change_role(contest.conn, host, contest.league, user_id, chosen)


def agree(contest: Contest, user_id: UserId) -> None:
    digest = terms.terms_digest(terms.settings_of_league(contest.league))
    terms.record_consent(contest.conn, contest.league, user_id, digest)


def reads_logs(contest: Contest, grader: UserId, team: TeamId) -> bool:
    resource = LogResource(team, contest.league.id)
    return permissions.may_see(viewer(contest.conn, grader), resource)


def test_a_grader_reads_logs_of_a_team_once_all_its_people_agreed(contest: Contest) -> None:
    conn = contest.conn
    ada, team = contest.team()
    bob, _ = contest.team()
    teams.add_member(conn, team, bob, None)
    grader = users.create_user(conn, "Grace").id
    appoint(contest, grader, "grader")
    assert not reads_logs(contest, grader, team)
    agree(contest, ada)
    assert not reads_logs(contest, grader, team)
    agree(contest, bob)
    assert reads_logs(contest, grader, team)
    appoint(contest, grader, "commentator")
    assert not reads_logs(contest, grader, team)
    other = users.create_user(conn, "Other").id
    appoint(contest, other, "grader")
    assert reads_logs(contest, other, team), "the terms name the role"


def test_staff_sees_nothing_of_people_whom_a_host_added(contest: Contest) -> None:
    ada, team = contest.team()
    appoint(contest, ada, "competitor")
    grader = users.create_user(contest.conn, "Grace").id
    appoint(contest, grader, "grader")
    assert not reads_logs(contest, grader, team)


def test_graders_and_commentators_never_compete(contest: Contest) -> None:
    conn = contest.conn
    playing, _ = contest.team()
    submission = contest.submission()
    owner, *_ = teams.list_members(conn, submission.team_id)
    appoint(contest, owner.id, "commentator")
    with pytest.raises(Conflict, match="commentator of this league"):
        entries.enter_season(conn, contest.season.id, submission.id)
    appoint(contest, owner.id, None)
    with pytest.raises(Conflict, match="was commentator of this league"):
        entries.enter_season(conn, contest.season.id, submission.id)
    conn.execute("update former_staff set ended_at = ended_at - interval '1 day'")
    entries.enter_season(conn, contest.season.id, submission.id)
    with pytest.raises(Conflict, match="competes in a season of this league"):
        appoint(contest, owner.id, "grader")
    appoint(contest, playing, "grader")


def test_naming_a_grader_and_entering_at_once_refuses_one(
    database_url: str, contest: Contest
) -> None:
    host = viewer(contest.conn, contest.host)
    for _ in range(8):
        submission = contest.submission()
        owner, *_ = teams.list_members(contest.conn, submission.team_id)
        assert len(race(database_url, contest, host, owner.id, submission.id)) == 1


def race(
    url: str, contest: Contest, host: Viewer, person: UserId, submission: SubmissionId
) -> list[str]:
    """What happened of: the person's team enters, and a host names the person grader."""
    start, done = threading.Barrier(2), []

    def act(name: str, run: Callable[[Connection], object]) -> None:
        with suppress(Conflict), db.connect(url) as own:
            start.wait(120)
            run(own)
            done.append(name)

    acts: dict[str, Callable[[Connection], object]] = {
        "entered": lambda own: entries.enter_season(own, contest.season.id, submission),
        "named": lambda own: members.change_role(
            own, host, contest.league, person, LeagueRole.GRADER
        ),
    }
    threads = [threading.Thread(target=act, args=each) for each in acts.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return done


def test_a_co_host_changes_neither_roles_nor_who_sees_the_league(contest: Contest) -> None:
    conn, league = contest.conn, contest.league
    user_id, _ = contest.team()
    other, _ = contest.team()
    appoint(contest, user_id, "co-host")
    cohost = viewer(conn, user_id)
    assert permissions.may_manage(cohost, LeagueResource(league.id, league.visibility))
    members.change_role(conn, cohost, league, other, LeagueRole.COMPETITOR)
    for role in (LeagueRole.HOST, LeagueRole.CO_HOST, LeagueRole.GRADER):
        with pytest.raises(Forbidden, match="Ask a host"):
            members.change_role(conn, cohost, league, other, role)
    with pytest.raises(Forbidden, match="Ask a host"):
        members.change_role(conn, cohost, league, contest.host, None)
    asked = LeagueChange.model_validate({"replay_visibility": "own"})
    with pytest.raises(Forbidden, match="who sees it"):
        hosting.change_league(conn, cohost, league, asked)
    assert {act.act for act in audit_log.list_audits(conn, league.id)} == {"role"}


def test_the_last_host_keeps_the_role(contest: Contest) -> None:
    with pytest.raises(Conflict, match="name another host first"):
        appoint(contest, contest.host, "viewer")
    other, _ = contest.team()
    appoint(contest, other, "host")
    appoint(contest, contest.host, None)
    found = members.list_members(contest.conn, LeagueId(contest.league.id))
    assert [(member.user_id, member.role) for member in found] == [(other, LeagueRole.HOST)]
