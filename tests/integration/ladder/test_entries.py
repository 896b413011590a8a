"""Entries: which are refused, which stay active, and which are counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ladder.database.db import Connection
from ladder.entries import candidates, declared_entry, entries
from ladder.entries.records import EntryState, Newcomers
from ladder.enums import LeagueRole
from ladder.errors import Conflict, Invalid
from ladder.ids import EntryId
from ladder.leagues import seasons
from ladder.people.records import STRANGER, Viewer
from tests.integration.ladder.contest import Contest, make_contest


def test_an_entry_is_refused_for_bundle_size_or_a_locked_season(conn: Connection) -> None:
    small = make_contest(conn, max_bundle_bytes=1024)
    with pytest.raises(Invalid, match=r"^submission: send at most 1 kB: ") as refused:
        small.pending()
    assert refused.value.field == "submission"
    seasons.set_season_state(conn, small.season.id, "locked")
    with pytest.raises(Conflict, match="locked"):
        small.pending()
    past = make_contest(conn, closes_at=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(Conflict, match="locked"):
        past.pending()


def test_only_the_newest_entries_of_an_agent_stay_active(
    conn: Connection,
) -> None:
    contest = make_contest(conn, active_limit=2)
    agent = contest.agent()
    made = [contest.active(agent) for _ in range(3)]
    states = [entries.get_entry(conn, entry_id).state for entry_id in made]
    assert states == [EntryState.RETIRED, EntryState.ACTIVE, EntryState.ACTIVE]
    reason = entries.get_entry(conn, made[0]).reason
    assert reason == "newer submissions of its agent play instead"
    assert _told_retired(conn) == []


def test_only_the_newest_entries_of_a_team_stay_active(conn: Connection) -> None:
    contest = make_contest(conn, team_active_limit=2)
    team = contest.team()[1]
    agents = [contest.agent(team) for _ in range(4)]
    made = [contest.active(agent) for agent in agents[:2]]
    declared_entry.declare_entry(conn, contest.season.id, team, made[1], None)
    anchor = contest.active(contest.agent(team), is_anchor=True)
    made += [contest.active(agent) for agent in agents[2:]]
    states = [entries.get_entry(conn, entry_id).state for entry_id in (*made, anchor)]
    retired, active = EntryState.RETIRED, EntryState.ACTIVE
    assert states == [retired, retired, active, active, active]
    reasons = {entries.get_entry(conn, entry_id).reason for entry_id in made[:2]}
    assert reasons == {"newer submissions of its team play instead"}
    assert _told_retired(conn) == made[:2]


def _told_retired(conn: Connection) -> list[EntryId]:
    """The entries of the events that tell a team of a retired agent."""
    rows = conn.execute(
        "select entry_id from notice_events where kind = 'agent_retired' order by id"
    )
    return [EntryId(row[0]) for row in rows]


def test_a_warning_is_not_the_reason_of_a_retirement(contest: Contest) -> None:
    warned = contest.active()
    contest.conn.execute("update entries set reason = 'It answered None.' where id = %s", (warned,))
    entries.retire_entry(contest.conn, warned)
    assert entries.get_entry(contest.conn, warned).reason is None


def test_a_retired_entry_is_not_paired_again(contest: Contest) -> None:
    four = [contest.active() for _ in range(4)]
    running = contest.rated(*four)
    entries.retire_entry(contest.conn, four[0])
    assert four[0] not in {
        c.entry_id for c in candidates.pairing_candidates(contest.conn, contest.season.id)
    }
    with pytest.raises(Conflict, match="active"):
        contest.rated(*four)
    assert [entries.get_entry(contest.conn, e).in_flight for e in four] == [1, 1, 1, 1]
    contest.play(running, [1, 2, 3, 4])
    assert entries.get_entry(contest.conn, four[0]).in_flight == 0
    waiting = contest.pending()
    entries.retire_entry(contest.conn, waiting)
    assert entries.expire_pending(contest.conn) == []
    assert entries.get_entry(contest.conn, waiting).state is EntryState.RETIRED


def test_a_new_entry_records_the_previous_entry_of_its_agent(contest: Contest) -> None:
    agent = contest.agent()
    parent = contest.active(agent)
    child = contest.pending(agent)
    row = contest.conn.execute(
        "select parent_entry_id from entries where id = %s", (child,)
    ).fetchone()
    assert row == (parent,)


def test_pending_entries_are_counted_for_their_team_hosts_and_admins(contest: Contest) -> None:
    pending = entries.get_entry(contest.conn, contest.pending())
    host = Viewer(roles={contest.league.id: LeagueRole.HOST})
    for viewer in (host, Viewer(is_admin=True), Viewer(team_ids=frozenset({pending.team_id}))):
        assert _newcomers(contest, viewer) == Newcomers(validating=1, waiting=0, playing=0)
    rival = Viewer(team_ids=frozenset({contest.team()[1]}))
    assert _newcomers(contest, STRANGER) is _newcomers(contest, rival) is None
    contest.active()
    assert _newcomers(contest, STRANGER) == Newcomers(validating=0, waiting=1, playing=0)
    assert _newcomers(contest, host) == Newcomers(validating=1, waiting=1, playing=0)


def _newcomers(contest: Contest, viewer: Viewer) -> Newcomers | None:
    found = entries.count_newcomers(contest.conn, viewer, [contest.season.id])
    return found.get(contest.season.id)


@pytest.mark.parametrize("is_anchor", [False, True])
def test_a_submission_keeps_its_libraries_in_another_league(
    contest: Contest, is_anchor: bool
) -> None:
    entry = entries.get_entry(contest.conn, contest.pending(profile="science"))
    other = make_contest(contest.conn)
    again, _, _ = entries.enter_season(
        contest.conn, other.season.id, entry.submission_id, is_anchor=is_anchor
    )
    assert again.profile == "science"
