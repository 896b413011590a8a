"""Merges of two teams: what moves, what stays, and when a merge is refused."""

from __future__ import annotations

import pytest

from ladder.entries import agents, deadlines, declared_entry, entries, team_merges
from ladder.errors import Conflict, Forbidden, NotFound
from ladder.ids import SeasonId, TeamId
from ladder.matches import history
from ladder.moderation import disqualifications
from ladder.people import permissions, resources, teams, users
from ladder.people.records import Team, Viewer
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.team_people import join, viewer


def merge(contest: Contest, team: TeamId, into: TeamId) -> Team:
    """Asks and agrees, each by the first owner of the team."""
    conn = contest.conn
    owners = [teams.list_members(conn, each)[0].id for each in (team, into)]
    asked = team_merges.ask_for_merge(conn, team, into, viewer(conn, owners[0]))
    return team_merges.accept_merge(conn, asked.id, viewer(conn, owners[1]))


def used_uploads(contest: Contest, team: TeamId) -> int:
    return deadlines.upload_limits(contest.conn, contest.season.id, team).used


def test_a_merge_moves_people_agents_entries_and_uploads(contest: Contest) -> None:
    conn = contest.conn
    ada, first = contest.team()
    bob, second = contest.team()
    moved = agents.create_agent(conn, first, "Goose", "goose").id
    kept = agents.create_agent(conn, second, "Goose", "goose").id
    entry, other = contest.active(moved), contest.active(kept)
    declared_entry.declare_entry(conn, contest.season.id, first, entry, ada)
    played = contest.rated(entry, other, contest.active(), contest.active())
    contest.play(played, [1, 2, 3, 4])

    assert merge(contest, first, second).id == second
    assert {user.id: user.is_owner for user in teams.list_members(conn, second)} == {
        ada: False,
        bob: True,
    }
    assert [team.id for team in users.teams_of(conn, ada)] == [second]
    assert entries.get_entry(conn, entry).team_id == second
    assert agents.get_agent(conn, moved).slug.startswith("goose-")
    assert used_uploads(contest, second) == 2
    assert declared_entry.declared_entry_of_team(conn, contest.season.id, first) is None
    # Finished matches keep the old team, and its people still see them.
    seat = history.get_match(conn, played).seats[0]
    assert seat.team_id == first
    assert permissions.may_see(viewer(conn, ada), resources.TeamPrivateResource(first))
    assert not permissions.may_see(viewer(conn, bob), resources.TeamPrivateResource(first))
    ended = users.get_team(conn, first)
    assert ended.merged_into == second
    assert agents.leagues_of_team(conn, first) == [contest.league.id]
    with pytest.raises(Conflict, match="was merged"):
        agents.create_named_agent(conn, first, "Another", None)
    contest.pending(moved)  # the merged team goes on
    rows = conn.execute("select user_id, team_id from season_competitors where user_id = any (%s)",
                        ([ada, bob],)).fetchall()  # fmt: skip
    assert sorted(rows) == sorted([(ada, second), (bob, second)])


def test_a_merged_team_plays_with_as_many_entries_as_the_season_allows(contest: Contest) -> None:
    conn = contest.conn
    conn.execute("update seasons set team_active_limit = 2")
    first, second = contest.team()[1], contest.team()[1]
    oldest, middle, newest = (
        contest.active(contest.agent(team)) for team in (first, second, second)
    )
    waiting = contest.pending(contest.agent(first))
    merge(contest, first, second)

    def states() -> list[str]:
        return [entries.get_entry(conn, each).state for each in (oldest, middle, newest, waiting)]

    assert states() == ["retired", "active", "active", "pending"]
    match_id = contest.validation(waiting)
    contest.play(match_id, [1] * contest.season.seats)
    assert states() == ["retired", "retired", "active", "active"]


def test_only_the_owner_of_the_remaining_team_agrees(contest: Contest) -> None:
    conn = contest.conn
    ada, first = contest.team()
    bob, second = contest.team()
    with pytest.raises(Forbidden):
        team_merges.ask_for_merge(conn, first, second, viewer(conn, bob))
    asked = team_merges.ask_for_merge(conn, first, second, viewer(conn, ada))
    with pytest.raises(Conflict, match="already asked"):
        team_merges.ask_for_merge(conn, first, second, viewer(conn, ada))
    with pytest.raises(Forbidden):
        team_merges.accept_merge(conn, asked.id, viewer(conn, ada))
    assert team_merges.list_merges(conn, second) == [asked]
    team_merges.end_merge(conn, asked.id, viewer(conn, bob))
    with pytest.raises(NotFound):
        team_merges.accept_merge(conn, asked.id, viewer(conn, bob))
    late = team_merges.ask_for_merge(conn, first, second, viewer(conn, ada))
    conn.execute("update team_merges set expires_at = now()")
    with pytest.raises(NotFound):
        team_merges.accept_merge(conn, late.id, viewer(conn, bob))
    team_merges.ask_for_merge(conn, first, second, viewer(conn, ada))


def test_teams_with_more_uploads_than_one_team_may_have_are_not_merged(contest: Contest) -> None:
    conn = contest.conn
    first, second = contest.team()[1], contest.team()[1]
    for team in (first, second):
        contest.pending(contest.agent(team))
    conn.execute("update seasons set daily_limit = 1")
    with pytest.raises(Conflict, match="2 uploads together"):
        merge(contest, first, second)
    conn.execute("update seasons set opens_at = now() - interval '1 day'")
    assert merge(contest, first, second).id == second


def test_teams_are_not_merged_after_uploads_lock(contest: Contest) -> None:
    conn = contest.conn
    first, second = contest.team()[1], contest.team()[1]
    contest.pending(contest.agent(first))
    conn.execute("update seasons set closes_at = now()")
    with pytest.raises(Conflict, match="uploads are locked"):
        merge(contest, first, second)
    assert merge(contest, second, first).id == first  # the other way: second has no entry


def test_a_merge_takes_no_disqualified_team_back_in(contest: Contest) -> None:
    conn = contest.conn
    first, second = contest.team()[1], contest.team()[1]
    contest.active(contest.agent(first))
    disqualifications.disqualify(conn, contest.season.id, first, by=contest.host, reason="cheats")
    with pytest.raises(Conflict, match="disqualification"):
        merge(contest, first, second)


def test_a_merge_gives_nobody_a_second_team_in_a_season(contest: Contest) -> None:
    conn = contest.conn
    first, second, third = (contest.team()[1] for _ in range(3))
    shared = contest.team()[0]
    join(conn, second, shared)
    join(conn, third, shared)
    other = make_contest(conn)
    contest.pending(contest.agent(first))
    other.pending(contest.agent(second))
    contest.pending(contest.agent(third))
    with pytest.raises(Conflict, match="already competes"):
        merge(contest, first, second)
    rows = conn.execute(
        "select season_id, team_id from season_competitors where user_id = %s order by 1", (shared,)
    ).fetchall()
    assert rows == [(contest.season.id, third), (SeasonId(other.season.id), second)]
    assert users.get_team(conn, first).ended_at is None
    assert teams.is_owner(conn, first, teams.list_members(conn, first)[0].id)


def test_a_request_for_a_merge_ends_with_the_rights_of_its_author(contest: Contest) -> None:
    conn = contest.conn
    ada, first = contest.team()
    bob, second = contest.team()
    eve, root = contest.team()[0], contest.team()[0]
    join(conn, first, eve)
    asked = team_merges.ask_for_merge(conn, first, second, viewer(conn, ada))
    teams.hand_over(conn, first, eve, viewer(conn, ada))
    assert team_merges.list_merges(conn, second) == []
    with pytest.raises(NotFound):
        team_merges.accept_merge(conn, asked.id, viewer(conn, bob))
    teams.hand_over(conn, first, ada, viewer(conn, eve))
    assert team_merges.list_merges(conn, second) == [], "a withdrawn request stays withdrawn"

    asked = team_merges.ask_for_merge(conn, first, second, viewer(conn, ada))
    conn.execute("update memberships set is_owner = false where user_id = %s", (ada,))
    with pytest.raises(NotFound):
        team_merges.accept_merge(conn, asked.id, viewer(conn, bob))
    conn.execute("update memberships set is_owner = true where user_id = %s", (eve,))
    admin = Viewer(root, is_admin=True)
    with pytest.raises(Forbidden):
        team_merges.ask_for_merge(conn, first, second, admin)
    asked = team_merges.ask_for_merge(conn, first, second, viewer(conn, eve))
    with pytest.raises(Forbidden):
        team_merges.accept_merge(conn, asked.id, admin)
    assert team_merges.accept_merge(conn, asked.id, viewer(conn, bob)).id == second


def test_a_merge_brings_no_blocked_person_into_a_league(contest: Contest) -> None:
    conn = contest.conn
    first, second = contest.team()[1], contest.team()[1]
    contest.pending(contest.agent(first))
    blocked = contest.team()[0]
    join(conn, second, blocked)
    conn.execute(
        "insert into league_blocks (league_id, user_id, reason, by_user)"
        " values (%s, %s, 'spam', %s)",
        (contest.league.id, blocked, contest.host),
    )
    with pytest.raises(Conflict, match="a host blocked"):
        merge(contest, first, second)
    assert users.get_team(conn, first).ended_at is None
